#include "trace/running.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

namespace attnprobe::trace {

bool is_running(int64_t pid) {
  if (pid <= 0) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return false;
  // "25514 (sh) S 1 …": the name may contain anything, even parentheses.
  const size_t end = text.rfind(") ");
  return end == std::string::npos || (text[end + 2] != 'Z' && text[end + 2] != 'X');
}

bool any_process_names(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string variables{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (variables.find("=" + folder.string() + "/") != std::string::npos && is_running(std::stoll(name))) return true;
  }
  return false;
}

}  // namespace attnprobe::trace
