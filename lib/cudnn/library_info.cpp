#include "cudnn/library_info.hpp"

#include <fmt/format.h>

namespace attnprobe::cudnn {

std::string version_text(int64_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

bool is_version(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string::npos;
}

bool is_of_version(const std::string& version, const std::string& word) {
  return (version + ".").rfind(word + ".", 0) == 0;
}

}  // namespace attnprobe::cudnn
