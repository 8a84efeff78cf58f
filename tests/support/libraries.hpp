// The cuDNN versions of this machine, for what holds of each.
#pragma once

#include <string>
#include <vector>

#include "base/version.hpp"

namespace attnprobe::test {

struct FoundLibrary {
  CudnnVersion version;
  std::string path;
};

/// All that are found, the oldest first.
const std::vector<FoundLibrary>& libraries();

/// The oldest, cudnn_path() and the newest; fewer where there are no others (attnprobe cudnn fetch 9.8 9.28). What the
/// gate asks.
std::vector<FoundLibrary> three_libraries();

}  // namespace attnprobe::test
