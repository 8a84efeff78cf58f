// Finds releases of frameworks in a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnprobe::frameworks {

struct NamedRelease {
  std::string framework, version;  ///< "torch", "2.11.0"
  std::string build;               ///< what follows: "+cu128", "a0+872d972e41.nv25.08", "+rocm6.4"; or ""
  size_t at = 0;                   ///< offset in the text
};

/// Finds "torch 2.9.1", "PyTorch version: 2.11", "jaxlib==0.6", "Transformer Engine 2.10", "TE 1.13", …; in text order
/// for each framework.
std::vector<NamedRelease> named_releases(std::string_view text);

}  // namespace attnprobe::frameworks
