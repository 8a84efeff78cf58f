#include "option_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "base/limits.hpp"
#include "base/number.hpp"
#include "base/plain_word.hpp"
#include "base/text.hpp"

namespace attnprobe::app {
std::string check_seconds(const std::string& text) {
  constexpr double most = 1e6;
  const auto seconds = parse_number<double>(text);
  if (seconds && *seconds > 0 && *seconds <= most) return "";
  return fmt::format("\"{}\" is not a time in seconds; allowed: above 0, up to {:.0f}", cut(text), most);
}

std::string check_share(const std::string& text) {
  constexpr double most = 1000;
  const auto share = parse_number<double>(text);
  if (share && *share >= 0 && *share <= most) return "";
  return fmt::format("\"{}\" is not a fraction; allowed: 0 (none) to {:.0f}", cut(text), most);
}

std::string check_jobs(const std::string& text) {
  const uint64_t most = most_jobs();
  const auto jobs = parse_number<uint64_t>(text);
  if (jobs && *jobs > 0 && *jobs <= most) return "";
  return fmt::format(
      "\"{}\" is not a valid number of worker processes; allowed: 1 to {}; ATTNPROBE_MAX_JOBS raises the limit",
      cut(text), most);
}

std::string check_seed(const std::string& text) {
  if (parse_number<uint64_t>(text)) return "";
  return fmt::format("\"{}\" is not a seed; allowed: 0 to {}", cut(text), std::numeric_limits<uint64_t>::max());
}

std::vector<std::string> option_words(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return split(type.substr(open + 1, close - open - 1), ',');
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto read = [words](std::string& word) {
    if (const auto* meant = word_among(word, words)) {
      word = *meant;
      return std::string();
    }
    return fmt::format("\"{}\" is not a known value; allowed: {}{}", cut(word), quoted_list(words),
                       did_you_mean(word, words));
  };
  return CLI::Validator(read, fmt::format("{{{}}}", fmt::join(words, ",")));
}

}  // namespace attnprobe::app
