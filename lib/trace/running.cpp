#include "trace/running.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string>

namespace attnprobe::trace {

bool is_running(int64_t pid) {
  if (pid <= 0) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return false;
  // "25514 (sh) S 1 …": the name may hold anything, parentheses too.
  const size_t end = text.rfind(") ");
  return end == std::string::npos || (text[end + 2] != 'Z' && text[end + 2] != 'X');
}

}  // namespace attnprobe::trace
