#include "attention/json_values.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace attnprobe::attention {

int64_t integer(const Json& value, int64_t low, int64_t high) {
  const std::string range = fmt::format("an integer from {} to {}", low, high);
  if (!value.is_number_integer()) throw FieldError(fmt::format("{} is not {}", json_text(value), range));
  // Beyond int64 only an unsigned value can be, and that is out of every range.
  const bool fits = !value.is_number_unsigned() ||
                    value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const int64_t number = fits ? value.get<int64_t>() : -1;
  if (!fits || number < low || number > high)
    throw FieldError(fmt::format("{} is out of range; allowed: {}", json_text(value), range));
  return number;
}

double number(const Json& value) {
  if (!value.is_number()) throw FieldError(json_text(value) + " is not a number");
  return value.get<double>();
}

bool boolean(const Json& value) {
  if (!value.is_boolean()) throw FieldError(json_text(value) + " is not a boolean; allowed: true, false");
  return value.get<bool>();
}

std::string text(const Json& value) {
  if (!value.is_string()) throw FieldError(json_text(value) + " is not text");
  return value.get<std::string>();
}

void not_one_of(const Json& value, const std::vector<std::string>& allowed) {
  const std::string word = value.is_string() ? value.get<std::string>() : json_text(value);
  throw FieldError(fmt::format("{} is not a known value; allowed: {}{}", json_text(value), quoted_list(allowed),
                               did_you_mean(word, allowed)));
}

void only_keys(const Json& object, const std::vector<std::string>& allowed) {
  for (const auto& [key, value] : object.items())
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end())
      throw FieldError("/" + pointer_part(key), fmt::format("unknown key \"{}\"; allowed: {}{}", key,
                                                            quoted_list(allowed), did_you_mean(key, allowed)));
}

Strides strides(const Json& value, const std::string& axes) {
  Strides result{};
  if (!value.is_array() || value.size() != result.size())
    throw FieldError(fmt::format("{} is not four strides, in the order {}", json_text(value), axes));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = at(fmt::format("/{}", i), [&] { return integer(value[i], 0, std::numeric_limits<int64_t>::max()); });
  return result;
}

Json strides_schema() {
  return {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", 4}, {"maxItems", 4}};
}

Json words_schema(const std::vector<std::string>& words) {
  return {{"type", "string"}, {"enum", words}};
}

}  // namespace attnprobe::attention
