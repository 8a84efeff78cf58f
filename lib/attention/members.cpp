#include "attention/members.hpp"

#include <fmt/format.h>

#include <limits>

namespace attnprobe::attention {

Strides strides(const JsonView& view, const std::string& axes) {
  Strides result{};
  if (!view.json().is_array() || view.json().size() != result.size())
    view.fail_unless_it_is(fmt::format("four strides, in the order {}", axes));
  for (size_t i = 0; i < result.size(); ++i) result[i] = view.at(i).integer(0, std::numeric_limits<int64_t>::max());
  return result;
}

Json strides_schema() {
  return {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", 4}, {"maxItems", 4}};
}

Json words_schema(const std::vector<std::string>& words) {
  return {{"type", "string"}, {"enum", words}};
}

}  // namespace attnprobe::attention
