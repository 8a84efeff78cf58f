// The addresses of the site's pages: converts foreign names to parts of an address and of a file path.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe::site {

/// The folder for a config, GPU or version. It depends only on the name, so addresses do not change with the rest of
/// the matrix. Small letters, digits and "._=,-" are kept, and "bert[pass=fprop]" becomes "bert~pass=fprop". Any other
/// name becomes its allowed characters and a digest of the whole name. Never empty, never longer than 100 bytes, never
/// beginning with "." or "-"; different names have different addresses.
std::string address_of(std::string_view name);

/// The same for a folder at the site's root, next to the site's own folders.
std::string config_address(std::string_view name);

}  // namespace attnprobe::site
