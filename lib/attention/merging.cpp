#include "attention/merging.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

std::vector<JsonView> elements(const JsonView& view) {
  if (!view.json().is_array()) return {view};
  std::vector<JsonView> views;
  for (const auto& value : view.json()) views.push_back(view.with(value));
  return views;
}

// All combinations, without duplicates.
template <class Merge>
Json each(const JsonView& lower, const JsonView& upper, const Merge& merge) {
  Json list = Json::array();
  for (const auto& above : elements(upper))
    for (const auto& below : elements(lower)) {
      Json one = merge(below, above);
      if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(std::move(one));
    }
  return list.size() == 1 ? list.front() : list;
}

Json one_over(const Field& field, const JsonView& lower, const JsonView& upper) {
  if (upper.json().is_object() || !lower.json().is_object()) return upper.json();
  const Json above = field.as_object(upper);
  if (above.is_null()) return upper.json();
  Json below = field.as_object(lower);
  for (const auto& name : field.set_by_word) below.erase(name);
  if (below.empty()) return upper.json();
  if (field.is_whole_word) {
    Json whole = above;
    whole.update(below);
    upper.fail(fmt::format("{} would drop {} of {}; allowed: the whole value, as {}, or \"none\"", upper.shown(),
                           json_text(below), lower.where(), json_text(whole)));
  }
  below.update(above);
  return below;
}

}  // namespace

Json laid_over(const Field& field, const JsonView& lower, const JsonView& upper) {
  if (!field.as_object) return upper.json();
  return each(lower, upper,
              [&](const JsonView& below, const JsonView& above) { return one_over(field, below, above); });
}

Json with_members(const Field& field, const JsonView* lower, const JsonView& members) {
  const Json nothing = nullptr;
  return each(lower == nullptr ? members.with(nothing) : *lower, members,
              [&](const JsonView& below, const JsonView& above) {
                Json object = below.json().is_null() ? Json() : field.as_object(below);
                if (object.is_null()) object = Json::object();
                // Every spelling of a window is treated as one.
                if (above.json().contains("sliding_window")) object.erase("window_left");
                object.update(above.json());
                const std::string where =
                    lower == nullptr ? above.where() : fmt::format("{} and {}", above.where(), below.where());
                AttentionSpec spec;
                field.set(spec, JsonView(object, {where, " at ", false}));
                return field.brief(spec);
              });
}

}  // namespace attnprobe::attention
