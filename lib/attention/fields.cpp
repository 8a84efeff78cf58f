#include "attnprobe/attention/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "attnprobe/text.hpp"

namespace attnprobe::attention {
namespace {

constexpr int64_t max_extent = std::numeric_limits<int32_t>::max();

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

bool boolean(const Json& value) {
  if (!value.is_boolean()) throw FieldError(json_text(value) + " is not a boolean; allowed: true, false");
  return value.get<bool>();
}

std::string text(const Json& value) {
  if (!value.is_string()) throw FieldError(json_text(value) + " is not text");
  return value.get<std::string>();
}

[[noreturn]] void not_one_of(const Json& value, const std::vector<std::string>& allowed) {
  const std::string word = value.is_string() ? value.get<std::string>() : json_text(value);
  throw FieldError(fmt::format("{} is not a known value; allowed: {}{}", json_text(value),
                               quoted_list(allowed), did_you_mean(word, allowed)));
}

template <class E>
E one_of(const Json& value, const std::vector<std::string>& allowed = names_of<E>()) {
  if (value.is_string()) {
    const auto word = value.get<std::string>();
    const auto found = parse_enum<E>(word);
    if (found && std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return *found;
  }
  not_one_of(value, allowed);
}

// Runs `body`; a FieldError in it is reported at `pointer` below the field.
template <class F>
auto at(const std::string& pointer, F body) {
  try {
    return body();
  } catch (const FieldError& e) {
    throw FieldError(pointer + e.pointer(), e.what());
  }
}

void only_keys(const Json& object, const std::vector<std::string>& allowed) {
  for (const auto& [key, value] : object.items())
    if (std::find(allowed.begin(), allowed.end(), key) == allowed.end())
      throw FieldError("/" + pointer_part(key),
                       fmt::format("unknown key \"{}\"; allowed: {}{}", key, quoted_list(allowed),
                                   did_you_mean(key, allowed)));
}

std::vector<int64_t> lengths(const Json& value) {
  if (!value.is_array()) throw FieldError(json_text(value) + " is not an array of lengths");
  std::vector<int64_t> result;
  for (size_t i = 0; i < value.size(); ++i)
    result.push_back(at(fmt::format("/{}", i), [&] { return integer(value[i], 0, max_extent); }));
  return result;
}

Mask mask_object(const Json& value) {
  only_keys(value,
            {"causal", "alignment", "window_left", "window_right", "padding", "seqlens_q", "seqlens_kv"});
  Mask mask;
  for (const auto& [key, v] : value.items()) {
    const Json& entry = v;
    at("/" + key, [&, name = key] {
      if (name == "alignment") mask.alignment = one_of<Alignment>(entry);
      if (name == "window_left") mask.window_left = integer(entry, 0, max_extent);
      if (name == "window_right") mask.window_right = integer(entry, 0, max_extent);
      if (name == "padding") mask.padding = boolean(entry);
      if (name == "seqlens_q") mask.seqlens_q = lengths(entry);
      if (name == "seqlens_kv") mask.seqlens_kv = lengths(entry);
      if (name == "causal") boolean(entry);
    });
  }
  const bool causal = value.value("causal", false);
  if (causal && mask.window_right.value_or(0) != 0)
    throw FieldError("/window_right", fmt::format("{} contradicts \"causal\": true, which is window_right 0",
                                                  *mask.window_right));
  if (causal) mask.window_right = 0;
  return mask;
}

Mask mask(const Json& value) {
  if (value.is_object()) return mask_object(value);
  std::vector<std::string> names;
  for (const auto& [name, named] : named_masks()) {
    if (value == name) return named;
    names.push_back(name);
  }
  not_one_of(value, names);
}

Strides strides(const Json& value) {
  if (!value.is_array() || value.size() != 4)
    throw FieldError(json_text(value) + " is not four strides, in the order batch, heads, seqlen, head_dim");
  Strides result{};
  for (size_t i = 0; i < 4; ++i)
    result[i] =
        at(fmt::format("/{}", i), [&] { return integer(value[i], 0, std::numeric_limits<int64_t>::max()); });
  return result;
}

TensorLayout tensor_layout(const Json& value) {
  if (value.is_object()) {
    only_keys(value, {"strides"});
    if (!value.contains("strides")) throw FieldError("the key \"strides\" is missing");
    return {"", at("/strides", [&] { return strides(value["strides"]); })};
  }
  if (value.is_string() && strides_of(value.get<std::string>(), {1, 1, 1, 1}))
    return {value.get<std::string>(), {}};
  throw FieldError(
      fmt::format("{} is not the layout of one tensor; allowed: \"bshd\", \"bhsd\", \"sbhd\", … or "
                  "{{\"strides\": [b, h, s, d]}}",
                  json_text(value)));
}

void layout(AttentionSpec& spec, const Json& value) {
  if (value.is_object()) {
    only_keys(value, {"q", "k", "v", "o"});
    for (const char* tensor : {"q", "k", "v"})
      if (!value.contains(tensor)) throw FieldError(fmt::format("the key \"{}\" is missing", tensor));
    auto get = [&](const std::string& key) {
      return at("/" + key, [&] { return tensor_layout(value[key]); });
    };
    spec.q = get("q");
    spec.k = get("k");
    spec.v = get("v");
    if (value.contains("o")) spec.o = get("o");
    return;
  }
  const auto axes = value.is_string() ? split_layout_name(value.get<std::string>())
                                      : std::optional<std::array<std::string, 3>>();
  if (!axes) not_one_of(value, common_layout_names());
  spec.q = {(*axes)[0], {}};
  spec.k = {(*axes)[1], {}};
  spec.v = {(*axes)[2], {}};
}

Expectation expectation(const Json& value) {
  Expectation expect;
  if (!value.is_object()) {
    expect.otherwise = one_of<ExpectedVerdict>(value);
    return expect;
  }
  for (const auto& [target, v] : value.items()) {
    const Json& entry = v;
    const auto verdict = at("/" + pointer_part(target), [&] { return one_of<ExpectedVerdict>(entry); });
    if (target == "default")
      expect.otherwise = verdict;
    else
      expect.by_target[target] = verdict;
  }
  return expect;
}

// What the builders take today; the schema, the messages and --help follow.
const std::vector<std::string> io_types{"f16", "bf16"};
const std::vector<std::string> output_types{"f16", "bf16", "f32"};

const Json extent_schema = {{"type", "integer"}, {"minimum", 1}, {"maximum", max_extent}};
Json words_schema(const std::vector<std::string>& words) {
  return {{"type", "string"}, {"enum", words}};
}

Field extent(const std::string& name, const std::string& help, int64_t AttentionSpec::*member) {
  return {name, help, extent_schema,
          [member](AttentionSpec& s, const Json& v) { s.*member = integer(v, 1, max_extent); }};
}

Field both(const std::string& name, const std::string& help, int64_t AttentionSpec::*first,
           int64_t AttentionSpec::*second, const std::vector<std::string>& stands_for) {
  return {
      name,
      help,
      extent_schema,
      [first, second](AttentionSpec& s, const Json& v) { s.*first = s.*second = integer(v, 1, max_extent); },
      false,
      [stands_for](const Json&) { return stands_for; }};
}

Json mask_schema() {
  std::vector<std::string> names;
  for (const auto& [name, named] : named_masks()) names.push_back(name);
  const Json count = {{"type", "integer"}, {"minimum", 0}};
  const Json counts = {{"type", "array"}, {"items", count}};
  return {{"anyOf",
           {words_schema(names),
            {{"type", "object"},
             {"additionalProperties", false},
             {"properties",
              {{"causal", {{"type", "boolean"}}},
               {"alignment", words_schema(names_of<Alignment>())},
               {"window_left", count},
               {"window_right", count},
               {"padding", {{"type", "boolean"}}},
               {"seqlens_q", counts},
               {"seqlens_kv", counts}}}}}}};
}

Json tensor_layout_schema() {
  const Json four = {
      {"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", 4}, {"maxItems", 4}};
  return {{"anyOf",
           {{{"type", "string"}},
            {{"type", "object"},
             {"additionalProperties", false},
             {"properties", {{"strides", four}}},
             {"required", {"strides"}}}}}};
}

Json layout_schema() {
  const Json one = tensor_layout_schema();
  return {{"anyOf",
           {{{"type", "string"}, {"examples", common_layout_names()}},
            {{"type", "object"},
             {"additionalProperties", false},
             {"properties", {{"q", one}, {"k", one}, {"v", one}, {"o", one}}},
             {"required", {"q", "k", "v"}}}}}};
}

Json expect_schema() {
  const Json verdict = words_schema(names_of<ExpectedVerdict>());
  return {{"anyOf", {verdict, {{"type", "object"}, {"additionalProperties", verdict}}}}};
}

std::vector<Field> make_fields() {
  using S = AttentionSpec;
  const Json free_text = {{"type", "string"}};
  return {
      {"name", "name of the config in reports", free_text, [](S& s, const Json& v) { s.name = text(v); },
       true},
      {"source", "where the numbers come from, free text", free_text,
       [](S& s, const Json& v) { s.source = text(v); }, true},
      {"expect", "expected verdict: supported, unsupported, or an object by target id with \"default\"",
       expect_schema(), [](S& s, const Json& v) { s.expect = expectation(v); }},
      {"pattern", "operation graph: sdpa, sdpa_composite, sdpa_unified, mha, two_matmul",
       words_schema(names_of<Pattern>()), [](S& s, const Json& v) { s.pattern = one_of<Pattern>(v); }},
      {"pass", "fprop (inference) or fprop_train (with softmax statistics)", words_schema(names_of<Pass>()),
       [](S& s, const Json& v) { s.pass = one_of<Pass>(v); }},
      extent("batch", "batch size", &S::batch),
      both("heads", "heads of Q, K and V", &S::heads_q, &S::heads_kv, {"heads_q", "heads_kv"}),
      extent("heads_q", "query heads", &S::heads_q),
      extent("heads_kv", "key and value heads (fewer than heads_q: GQA; one: MQA)", &S::heads_kv),
      both("seqlen", "sequence length of Q, K and V", &S::seqlen_q, &S::seqlen_kv, {"seqlen_q", "seqlen_kv"}),
      extent("seqlen_q", "query length (1: decode)", &S::seqlen_q),
      extent("seqlen_kv", "key and value length", &S::seqlen_kv),
      both("head_dim", "head dimension of Q, K and V", &S::head_dim_qk, &S::head_dim_v,
           {"head_dim_qk", "head_dim_v"}),
      extent("head_dim_qk", "head dimension of Q and K", &S::head_dim_qk),
      extent("head_dim_v", "head dimension of V and O", &S::head_dim_v),
      {"dtype", "type of Q, K and V", words_schema(io_types),
       [](S& s, const Json& v) { s.dtype = one_of<DataType>(v, io_types); }},
      {"o_dtype", "type of O; default: dtype", words_schema(output_types),
       [](S& s, const Json& v) { s.o_dtype = one_of<DataType>(v, output_types); }},
      {"layout", "bshd, bhsd, sbhd, bs3hd, bshd_bs2hd, … or strides for each of q, k, v, o", layout_schema(),
       layout, false,
       [](const Json& v) {
         const bool names_o = v.is_object() && v.contains("o");
         return names_o ? std::vector<std::string>{"o_layout"} : std::vector<std::string>{};
       }},
      {"o_layout", "layout of O; default: that of Q", tensor_layout_schema(),
       [](S& s, const Json& v) { s.o = tensor_layout(v); }},
      {"scale",
       "multiplies the scores; default: 1/sqrt(head_dim_qk)",
       {{"type", "number"}},
       [](S& s, const Json& v) {
         if (!v.is_number()) throw FieldError(json_text(v) + " is not a number");
         s.scale = v.get<double>();
       }},
      {"mask",
       "none, causal, causal_bottom_right, padding, padding_causal, padding_causal_bottom_right, or an "
       "object",
       mask_schema(), [](S& s, const Json& v) { s.mask = mask(v); }},
      {"stats",
       "softmax statistics (logsumexp) as an output; default: true for fprop_train",
       {{"type", "boolean"}},
       [](S& s, const Json& v) { s.stats = boolean(v); }},
  };
}

}  // namespace

const std::vector<Field>& fields() {
  static const std::vector<Field> all = make_fields();
  return all;
}

std::string option_of(const std::string& field_name) {
  std::string option = "--" + field_name;
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

}  // namespace attnprobe::attention
