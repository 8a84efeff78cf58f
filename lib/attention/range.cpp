#include "attention/range.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

constexpr const char* allowed =
    "a range such as 8:512:8 (first:last:step), 1:65536:x2 (each twice the one before) or 1:64";

int64_t number(const JsonView& text, const std::string& word) {
  const auto value = parse_size(word);
  if (!value) text.fail_unless_it_is(allowed);
  return *value;
}

}  // namespace

bool looks_like_range(const std::string& text) {
  const auto parts = split(text, ':');
  return parts.size() >= 2 && parse_size(parts[0]) && parse_size(parts[1]);
}

Range read_range(const JsonView& text) {
  const auto parts = split(text.text(), ':');
  if (parts.size() < 2 || parts.size() > 3) text.fail_unless_it_is(allowed);
  Range range{number(text, parts[0]), number(text, parts[1])};
  if (parts.size() == 3) {
    range.geometric = parts[2].starts_with("x");
    range.step = number(text, parts[2].substr(range.geometric ? 1 : 0));
  }
  if (range.last < range.first) text.fail(fmt::format("{} is descending; put the smaller end first", text.shown()));
  if (range.step < (range.geometric ? 2 : 1) || (range.geometric && range.first == 0))
    text.fail(fmt::format("{} never reaches its end; allowed: {}", text.shown(), allowed));
  return range;
}

uint64_t count_of(const Range& range) {
  if (!range.geometric) return static_cast<uint64_t>((range.last - range.first) / range.step) + 1;
  uint64_t count = 1;
  for (int64_t value = range.first; value <= range.last / range.step; value *= range.step) ++count;
  return count;
}

std::vector<int64_t> values_of(const Range& range) {
  std::vector<int64_t> values{range.first};
  const uint64_t count = count_of(range);
  values.reserve(count);
  while (values.size() < count)
    values.push_back(range.geometric ? values.back() * range.step : values.back() + range.step);
  return values;
}

std::string text_of(const Range& range) {
  if (range.geometric) return fmt::format("{}:{}:x{}", range.first, range.last, range.step);
  if (range.step == 1) return fmt::format("{}:{}", range.first, range.last);
  return fmt::format("{}:{}:{}", range.first, range.last, range.step);
}

std::optional<Json> with_ranges(const JsonView& value) {
  const auto is_range = [](const Json& one) { return one.is_string() && looks_like_range(one.get<std::string>()); };
  const Json& json = value.json();
  const bool many = json.is_array();
  if (many ? std::none_of(json.begin(), json.end(), is_range) : !is_range(json)) return std::nullopt;
  Json list = Json::array();
  for (const auto& one : many ? value.elements() : std::vector<JsonView>{value}) {
    if (!is_range(one.json())) {
      list.push_back(one.json());
      continue;
    }
    const Range range = read_range(one);
    check_limit(limits::configs, list.size() + count_of(range), one.where(), "values");
    for (const int64_t number : values_of(range)) list.push_back(number);
  }
  return list;
}

}  // namespace attnprobe::attention
