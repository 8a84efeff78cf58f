#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace attnprobe {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string in_small_letters(std::string_view word) {
  std::string small(word);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  const std::string small = in_small_letters(word);
  std::string best;
  size_t best_distance = limit + 1;
  for (const auto& candidate : candidates) {
    const std::string other = in_small_letters(candidate);
    // "head" suggests "heads_q": a prefix is as good a hint as a typo.
    const bool beginning = small.size() >= 3 && other.compare(0, small.size(), small) == 0;
    // Skips the costly comparison if the lengths differ too much, because a file's word may have any length.
    const size_t longer = std::max(small.size(), other.size());
    if (!beginning && longer - std::min(small.size(), other.size()) >= best_distance) continue;
    const size_t distance = beginning ? 0 : edit_distance(small, other);
    // At least one character must match: "o" is not a typo of "q".
    if (distance >= small.size()) continue;
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", best);
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const auto& word : words) quoted.push_back('"' + word + '"');
  return fmt::format("{}", fmt::join(quoted, ", "));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string pointer_part(std::string key) {
  for (size_t i = 0; (i = key.find_first_of("~/", i)) != std::string::npos; i += 2)
    key.replace(i, 1, key[i] == '~' ? "~0" : "~1");
  return key;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view harmless = "_-./:=,";
  const bool plain = std::all_of(word.begin(), word.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || harmless.find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string bytes_text(int64_t bytes) {
  if (bytes >= int64_t{10} << 20) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= int64_t{10} << 10) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string cut(std::string_view text) {
  constexpr size_t most = 200;
  if (text.size() <= most) return std::string(text);
  return std::string(whole_letters(text, 0, most)) + "…";
}

std::string_view whole_letters(std::string_view text, size_t begin, size_t most) {
  const auto is_inside = [&](size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  size_t end = std::min(begin + most, text.size());
  while (is_inside(begin)) ++begin;
  while (end > begin && is_inside(end)) --end;
  return text.substr(begin, end - begin);
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

}  // namespace attnprobe
