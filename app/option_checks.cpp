#include "option_checks.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/limits.hpp"
#include "base/text.hpp"

namespace attnprobe::app {
namespace {

template <class T>
std::optional<T> whole_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string check_seconds(const std::string& text) {
  constexpr double most = 1e6;
  const auto seconds = whole_number<double>(text);
  if (seconds && *seconds > 0 && *seconds <= most) return "";
  return fmt::format("\"{}\" is not a time in seconds; allowed: above 0, up to {:.0f}", cut(text), most);
}

std::string check_share(const std::string& text) {
  constexpr double most = 1000;
  const auto share = whole_number<double>(text);
  if (share && *share >= 0 && *share <= most) return "";
  return fmt::format("\"{}\" is not a share; allowed: 0 (none) to {:.0f}", cut(text), most);
}

std::string check_jobs(const std::string& text) {
  const uint64_t most = most_jobs();
  const auto jobs = whole_number<uint64_t>(text);
  if (jobs && *jobs > 0 && *jobs <= most) return "";
  return fmt::format(
      "\"{}\" is not a number of worker processes for this machine; allowed: 1 to {}, which ATTNPROBE_MAX_JOBS moves",
      cut(text), most);
}

}  // namespace attnprobe::app
