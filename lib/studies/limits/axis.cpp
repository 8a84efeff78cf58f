#include "studies/limits/axis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "attention/layout.hpp"
#include "attention/mask.hpp"
#include "attention/merging.hpp"
#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/limits.hpp"
#include "base/number.hpp"
#include "base/plain_word.hpp"
#include "base/text.hpp"

namespace attnprobe::limits {
namespace {

using attention::AttentionSpec;
using attention::Range;

// A number that is not a separate field.
struct Member {
  const char* name;
  const char* help;
  void (*set)(AttentionSpec& spec, int64_t value);
  Range usual;
};

// The strides are those of bshd, so another layout would be lost.
void check_plain_layout(const AttentionSpec& s) {
  for (const auto* layout : {&s.q, &s.k, &s.v})
    if (layout->axes != "bshd" || layout->strides)
      throw Error(ErrorKind::usage,
                  "limits token_gap: it sets the strides of layout bshd; allowed: a config with that layout");
}

// Strides of bshd with `gap` elements between the tokens, as in a slice of a wider tensor.
attention::TensorLayout with_gap(int64_t heads, int64_t seqlen, int64_t head_dim, int64_t gap) {
  const int64_t token = heads * head_dim + gap;
  return {"", attention::Strides{seqlen * token, head_dim, token, 1}};
}

constexpr Member number_members[] = {
    {"window_left", "mask.window_left", [](AttentionSpec& s, int64_t n) { s.mask.window_left = n; }, {1, 8192}},
    {"window_right", "mask.window_right", [](AttentionSpec& s, int64_t n) { s.mask.window_right = n; }, {1, 8192}},
    {"page_size",
     "paged.block_size",
     [](AttentionSpec& s, int64_t n) {
       if (!s.paged) s.paged.emplace();
       s.paged->block_size = n;
     },
     {1, 1024}},
    {"token_gap",
     "elements between the tokens of Q, K and V, beyond packed bshd",
     [](AttentionSpec& s, int64_t n) {
       check_plain_layout(s);
       s.q = with_gap(s.heads_q, s.seqlen_q, s.head_dim_qk, n);
       s.k = with_gap(s.heads_kv, s.seqlen_kv, s.head_dim_qk, n);
       s.v = with_gap(s.heads_v.value_or(s.heads_kv), s.seqlen_kv, s.head_dim_v, n);
     },
     {0, 64}},
};

// A range beyond the limits that users expect. A GPU's grid has 65535 blocks on two of its axes.
Range usual_range(const std::string& field) {
  if (field.starts_with("head_dim")) return {1, 1024};
  if (field.starts_with("heads")) return {1, 512};
  if (field == "sliding_window") return {1, 8192};
  if (field.starts_with("seqlen") || field == "batch") return {1, 131'072};
  return {1, 4096};
}

const attention::Field* find_field(const std::string& name) {
  const auto* found = attention::find_field(name);
  return found == nullptr || found->is_text || found->name == "expect" ? nullptr : found;
}

// The possible words of a field, if its schema lists them all.
std::vector<Json> usual_values(const attention::Field& field) {
  if (field.name == "layout") return {"bshd", "bhsd", "sbhd", "bs3hd"};
  if (field.schema.value("type", "") == "boolean") return {false, true};
  std::vector<Json> values;
  const auto add_words = [&](const Json& schema) {
    if (schema.contains("enum")) values.insert(values.end(), schema["enum"].begin(), schema["enum"].end());
  };
  add_words(field.schema);
  if (field.schema.contains("anyOf"))
    for (const auto& one : field.schema["anyOf"]) add_words(one);
  // A feature whose only word is "none" has no values.
  if (values == std::vector<Json>{"none"}) values.clear();
  return values;
}

bool is_axis(const std::string& name) {
  const auto* field = find_field(name);
  // "mask=none,causal": a word that is also a value of the varied field counts as that value.
  if (field != nullptr && !field->member_of.empty()) {
    const auto values = usual_values(*find_field(field->member_of));
    if (std::find(values.begin(), values.end(), Json(field->name)) != values.end()) return false;
  }
  return field != nullptr || word_among(name, axis_names()) != nullptr;
}

Axis named_axis(const std::string& name, const std::string& option) {
  Axis axis{.name = name, .range = {}, .values = {}, .range_is_usual = false, .set = {}};
  const JsonSource source{option + " " + name, " at ", false};
  for (const auto& member : number_members)
    if (plain_word(name) == member.name) {
      axis.name = member.name;
      axis.range = member.usual;
      axis.set = [&member, source](AttentionSpec& spec, const Json& value) {
        member.set(spec, JsonView(value, source).integer(0, 1 << 30));
      };
    }
  if (const auto* field = find_field(name)) {
    axis.name = field->name;
    if (is_number(*field))
      axis.range = usual_range(field->name);
    else
      axis.values = usual_values(*field);
    axis.set = [field, source](AttentionSpec& spec, const Json& value) {
      const Json lower = field->get(spec);
      const JsonView upper(value, source);
      const bool merges = field->as_object && !lower.is_null();
      field->set(spec, merges ? upper.with(laid_over(*field, {lower, {"the config"}}, upper)) : upper);
    };
  }
  if (!axis.set)
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" is not a field that can be varied{}; allowed: {}", option,
                                              name, did_you_mean(name, axis_names()), quoted_list(axis_names())));
  axis.range_is_usual = axis.range.has_value();
  return axis;
}

// The given values instead of the usual ones.
void take_values(Axis& axis, const std::vector<std::string>& words, const std::string& option) {
  if (words.empty()) return;
  const JsonSource source{fmt::format("{} {}", option, axis.name), " at ", false};
  axis.range_is_usual = false;
  axis.range.reset();
  axis.values.clear();
  const auto* field = find_field(axis.name);
  for (const auto& word : words) {
    const Json text = word;
    if (const auto* several = field != nullptr ? several_of(*field, text) : nullptr) {
      axis.values.insert(axis.values.end(), several->begin(), several->end());
      continue;
    }
    if (!attention::looks_like_range(word)) {
      const auto size = parse_size(word);
      const Json parsed = size ? Json(*size) : parse_json_leniently(word);
      axis.values.push_back(parsed.is_discarded() ? text : parsed);
      continue;
    }
    const Range range = attention::read_range({text, source});
    // The ends are also values: an impossible end is refused before the range is expanded.
    AttentionSpec unused;
    for (const int64_t end : {range.first, range.last}) axis.set(unused, end);
    if (words.size() == 1 && !range.geometric) {
      axis.range = range;
      return;
    }
    check_limit(limits::configs, axis.values.size() + attention::count_of(range), source.name, "values");
    for (const int64_t value : attention::values_of(range)) axis.values.emplace_back(value);
  }
}

}  // namespace

std::vector<std::string> axis_names() {
  std::vector<std::string> names;
  for (const auto& field : attention::fields())
    if (find_field(field.name) != nullptr) names.push_back(field.name);
  for (const auto& member : number_members) names.emplace_back(member.name);
  return names;
}

std::vector<Axis> read_axes(const std::vector<std::string>& words, const std::string& option) {
  std::vector<Axis> axes;
  std::vector<std::vector<std::string>> values;
  for (const auto& list : words)
    for (const auto& word : split(list, ',')) {
      const size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      if (equals == std::string::npos && !axes.empty() && !is_axis(name)) {
        // A word after only "head_dim" is a mistyped field.
        if (values.back().empty()) static_cast<void>(named_axis(name, option));
        values.back().push_back(word);
        continue;
      }
      axes.push_back(named_axis(name, option));
      values.emplace_back();
      if (equals != std::string::npos) values.back().push_back(word.substr(equals + 1));
    }
  for (size_t i = 0; i < axes.size(); ++i) {
    take_values(axes[i], values[i], option);
    if (!axes[i].range && axes[i].values.empty())
      throw Error(ErrorKind::usage, fmt::format("{} {}: it has no usual values; name them: {}=VALUE,VALUE", option,
                                                axes[i].name, axes[i].name));
    for (size_t other = 0; other < i; ++other)
      if (axes[other].name == axes[i].name)
        throw Error(ErrorKind::usage, fmt::format("{}: {} is named twice", option, axes[i].name));
  }
  return axes;
}

size_t count_of(const Axis& axis) {
  return axis.range ? attention::count_of(*axis.range) : axis.values.size();
}

Json value_at(const Axis& axis, size_t index) {
  if (axis.range) return axis.range->first + static_cast<int64_t>(index) * axis.range->step;
  return axis.values.at(index);
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

}  // namespace attnprobe::limits
