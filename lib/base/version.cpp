#include "base/version.hpp"

#include "base/text.hpp"

namespace attnprobe {

std::vector<int> version_numbers(std::string_view version) {
  std::vector<int> numbers;
  for (const auto& part : split(version, '.')) numbers.push_back(part.empty() ? 0 : std::stoi(part.substr(0, 6)));
  return numbers;
}

bool is_version(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_of_version(std::string_view version, std::string_view word) {
  return (std::string(version) + ".").rfind(std::string(word) + ".", 0) == 0;
}

}  // namespace attnprobe
