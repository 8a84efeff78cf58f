// Where a page of the site lies: names that others gave, as parts of an address and of a file's path.
#pragma once

#include <string>
#include <string_view>

namespace attnprobe::site {

/// The folder of a config, GPU or version, from its name alone, so that an address stays whatever else the matrix has. Small letters,
/// digits and "._=,-" stay as they are, "bert[pass=fprop]" is "bert~pass=fprop"; for any other name what is left of it and a digest of
/// the whole. Never empty, never longer than 100 bytes, never beginning with "." or "-"; two names have two addresses.
std::string address_of(std::string_view name);

/// The same at the site's root, where the site's own folders lie.
std::string config_address(std::string_view name);

}  // namespace attnprobe::site
