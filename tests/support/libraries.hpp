// The cuDNN versions of this machine, for facts that apply to each.
#pragma once

#include <string>
#include <vector>

#include "base/version.hpp"

namespace attnprobe::test {

struct FoundLibrary {
  CudnnVersion version;
  std::string path;
};

/// All versions found, oldest first.
const std::vector<FoundLibrary>& libraries();

/// The oldest, cudnn_path() and the newest; fewer if no others are installed (attnprobe cudnn fetch 9.8 9.28). The gate
/// asks these.
std::vector<FoundLibrary> three_libraries();

}  // namespace attnprobe::test
