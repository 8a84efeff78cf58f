// Reading one value of a config field: each function takes what is allowed and says what that is otherwise.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "attention/fields.hpp"

namespace attnprobe::attention {

constexpr int64_t max_extent = std::numeric_limits<int32_t>::max();

int64_t integer(const Json& value, int64_t low, int64_t high);
double number(const Json& value);
bool boolean(const Json& value);
std::string text(const Json& value);

/// Throws the FieldError for a value that is none of `allowed`.
[[noreturn]] void not_one_of(const Json& value, const std::vector<std::string>& allowed);

template <class E>
E one_of(const Json& value, const std::vector<std::string>& allowed = names_of<E>()) {
  if (value.is_string()) {
    const auto word = value.get<std::string>();
    const auto found = parse_enum<E>(word);
    if (found && std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return *found;
  }
  not_one_of(value, allowed);
}

/// Runs `body`; a FieldError in it is reported at `pointer` below the field.
template <class F>
auto at(const std::string& pointer, F body) {
  try {
    return body();
  } catch (const FieldError& e) {
    throw FieldError(pointer + e.pointer(), e.what());
  }
}

/// Calls read(value) for the key where the object has it, errors reported at the key.
template <class F>
void at_key(const Json& object, const std::string& key, F read) {
  if (object.contains(key)) at("/" + key, [&] { read(object[key]); });
}

void only_keys(const Json& object, const std::vector<std::string>& allowed);

/// Four strides; `axes` says of which, for the message.
Strides strides(const Json& value, const std::string& axes);

/// JSON Schema of one of these words.
Json words_schema(const std::vector<std::string>& words);
/// JSON Schema of strides().
Json strides_schema();

}  // namespace attnprobe::attention
