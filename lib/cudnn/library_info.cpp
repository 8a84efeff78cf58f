#include "attnprobe/cudnn/library_info.hpp"

#include <fmt/format.h>

namespace attnprobe::cudnn {

std::string version_text(int64_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace attnprobe::cudnn
