#include "attention/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/features.hpp"
#include "attention/json_values.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

std::vector<int64_t> lengths(const Json& value) {
  if (!value.is_array()) throw FieldError(json_text(value) + " is not an array of lengths");
  std::vector<int64_t> result;
  for (size_t i = 0; i < value.size(); ++i)
    result.push_back(at(fmt::format("/{}", i), [&] { return integer(value[i], 0, max_extent); }));
  return result;
}

Mask mask_object(const Json& value) {
  only_keys(value, {"causal", "alignment", "window_left", "window_right", "padding", "padding_after_stats", "seqlens_q",
                    "seqlens_kv"});
  Mask mask;
  for (const auto& [key, v] : value.items()) {
    const Json& entry = v;
    at("/" + key, [&, name = key] {
      if (name == "alignment") mask.alignment = one_of<Alignment>(entry);
      if (name == "window_left") mask.window_left = integer(entry, 0, max_extent);
      if (name == "window_right") mask.window_right = integer(entry, 0, max_extent);
      if (name == "padding") mask.padding = boolean(entry);
      if (name == "padding_after_stats") mask.padding_after_stats = boolean(entry);
      if (name == "seqlens_q") mask.seqlens_q = lengths(entry);
      if (name == "seqlens_kv") mask.seqlens_kv = lengths(entry);
      if (name == "causal") boolean(entry);
    });
  }
  const bool causal = value.value("causal", false);
  if (causal && mask.window_right.value_or(0) != 0)
    throw FieldError("/window_right",
                     fmt::format("{} contradicts \"causal\": true, which is window_right 0", *mask.window_right));
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

// "thd" beside strides.
std::string ragged_axes(const Json& value) {
  std::string axes = text(value);
  if (axes.find('t') == std::string::npos || !strides_of(axes, {1, 1, 1, 1}))
    throw FieldError(json_text(value) + " is no ragged layout; allowed beside strides: \"thd\", …");
  return axes;
}

TensorLayout tensor_layout(const Json& value) {
  if (value.is_object()) {
    only_keys(value, {"strides", "axes"});
    if (!value.contains("strides")) throw FieldError("the key \"strides\" is missing");
    TensorLayout layout;
    at_key(value, "strides", [&](const Json& v) { layout.strides = strides(v, "batch, heads, seqlen, head_dim"); });
    at_key(value, "axes", [&](const Json& v) { layout.axes = ragged_axes(v); });
    return layout;
  }
  if (value.is_string() && strides_of(value.get<std::string>(), {1, 1, 1, 1})) return {value.get<std::string>(), {}};
  throw FieldError(
      fmt::format("{} is not the layout of one tensor; allowed: \"bshd\", \"bhsd\", \"sbhd\", … or {{\"strides\": [b, "
                  "h, s, d]}}",
                  json_text(value)));
}

// Three tensors by one name, or each of them by its own.
std::array<TensorLayout, 3> three_layouts(const Json& value) {
  if (value.is_object()) {
    for (const char* tensor : {"q", "k", "v"})
      if (!value.contains(tensor)) throw FieldError(fmt::format("the key \"{}\" is missing", tensor));
    auto get = [&](const std::string& key) { return at("/" + key, [&] { return tensor_layout(value[key]); }); };
    return {get("q"), get("k"), get("v")};
  }
  const auto axes =
      value.is_string() ? split_layout_name(value.get<std::string>()) : std::optional<std::array<std::string, 3>>();
  if (!axes) not_one_of(value, common_layout_names());
  return {TensorLayout{(*axes)[0], {}}, TensorLayout{(*axes)[1], {}}, TensorLayout{(*axes)[2], {}}};
}

void layout(AttentionSpec& spec, const Json& value) {
  if (value.is_object()) only_keys(value, {"q", "k", "v", "o"});
  const auto layouts = three_layouts(value);
  spec.q = layouts[0];
  spec.k = layouts[1];
  spec.v = layouts[2];
  if (value.is_object()) at_key(value, "o", [&](const Json& v) { spec.o = tensor_layout(v); });
}

void gradient_layout(AttentionSpec& spec, const Json& value) {
  if (value.is_object()) only_keys(value, {"q", "k", "v"});
  const auto layouts = three_layouts(value);
  spec.dq = layouts[0];
  spec.dk = layouts[1];
  spec.dv = layouts[2];
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
const std::vector<std::string> offset_types{"i32", "i64"};
const std::vector<std::string> io_types{"f16", "bf16", "f32", "fp8_e4m3", "fp8_e5m2"};

const Json extent_schema = {{"type", "integer"}, {"minimum", 1}, {"maximum", max_extent}};
Field extent(const std::string& name, const std::string& help, int64_t AttentionSpec::*member) {
  return {name, help, extent_schema,
          [member](AttentionSpec& s, const Json& v) { s.*member = integer(v, 1, max_extent); }};
}

Field both(const std::string& name, const std::string& help, int64_t AttentionSpec::*first,
           int64_t AttentionSpec::*second, const std::vector<std::string>& stands_for) {
  return {name,
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
               {"padding_after_stats", {{"type", "boolean"}}},
               {"seqlens_q", counts},
               {"seqlens_kv", counts}}}}}}};
}

Json tensor_layout_schema() {
  const Json four = strides_schema();
  return {{"anyOf",
           {{{"type", "string"}},
            {{"type", "object"},
             {"additionalProperties", false},
             {"properties", {{"strides", four}, {"axes", {{"type", "string"}}}}},
             {"required", {"strides"}}}}}};
}

Json layout_schema(bool with_o) {
  const Json one = tensor_layout_schema();
  Json properties = {{"q", one}, {"k", one}, {"v", one}};
  if (with_o) properties["o"] = one;
  return {{"anyOf",
           {{{"type", "string"}, {"examples", common_layout_names()}},
            {{"type", "object"},
             {"additionalProperties", false},
             {"properties", properties},
             {"required", {"q", "k", "v"}}}}}};
}

Json expect_schema() {
  const Json verdict = words_schema(names_of<ExpectedVerdict>());
  return {{"anyOf", {verdict, {{"type", "object"}, {"additionalProperties", verdict}}}}};
}

Field type_field(const std::string& name, const std::string& help, std::optional<DataType> AttentionSpec::*member) {
  return {name, help, words_schema(io_types),
          [member](AttentionSpec& s, const Json& v) { s.*member = one_of<DataType>(v, io_types); }};
}

Field flag(const std::string& name, const std::string& help, bool AttentionSpec::*member) {
  return {name, help, {{"type", "boolean"}}, [member](AttentionSpec& s, const Json& v) { s.*member = boolean(v); }};
}

Field total(const std::string& name, const std::string& help, std::optional<int64_t> AttentionSpec::*member) {
  return {name, help, extent_schema,
          [member](AttentionSpec& s, const Json& v) { s.*member = integer(v, 1, max_extent); }};
}

// What the problem is and how large.
std::vector<Field> problem_fields() {
  using S = AttentionSpec;
  const Json free_text = {{"type", "string"}};
  return {
      {"name", "name of the config in reports", free_text, [](S& s, const Json& v) { s.name = text(v); }, true},
      {"source", "where the numbers come from, free text", free_text, [](S& s, const Json& v) { s.source = text(v); },
       true},
      {"expect", "expected verdict: supported, unsupported, or an object by target id with \"default\"",
       expect_schema(), [](S& s, const Json& v) { s.expect = expectation(v); }},
      {"pattern", "operation graph: sdpa, sdpa_composite, sdpa_unified, mha, two_matmul",
       words_schema(names_of<Pattern>()), [](S& s, const Json& v) { s.pattern = one_of<Pattern>(v); }},
      {"pass", "fprop (inference), fprop_train (with softmax statistics) or bprop", words_schema(names_of<Pass>()),
       [](S& s, const Json& v) { s.pass = one_of<Pass>(v); }},
      extent("batch", "batch size", &S::batch),
      both("heads", "heads of Q, K and V", &S::heads_q, &S::heads_kv, {"heads_q", "heads_kv", "heads_v"}),
      extent("heads_q", "query heads", &S::heads_q),
      extent("heads_kv", "key and value heads (fewer than heads_q: GQA; one: MQA)", &S::heads_kv),
      total("heads_v", "value heads where they are not as many as key heads", &S::heads_v),
      both("seqlen", "sequence length of Q, K and V", &S::seqlen_q, &S::seqlen_kv, {"seqlen_q", "seqlen_kv"}),
      extent("seqlen_q", "query length (1: decode)", &S::seqlen_q),
      extent("seqlen_kv", "key and value length", &S::seqlen_kv),
      both("head_dim", "head dimension of Q, K and V", &S::head_dim_qk, &S::head_dim_v, {"head_dim_qk", "head_dim_v"}),
      extent("head_dim_qk", "head dimension of Q and K", &S::head_dim_qk),
      extent("head_dim_v", "head dimension of V and O", &S::head_dim_v),
      {"dtype", "type of Q, K and V", words_schema(io_types),
       [](S& s, const Json& v) { s.dtype = one_of<DataType>(v, io_types); }},
      type_field("o_dtype", "type of O; default: dtype", &S::o_dtype),
      type_field("do_dtype", "bprop: type of dO; default: dtype", &S::do_dtype),
      type_field("dqkv_dtype", "bprop: type of dQ, dK and dV; default: that of O", &S::dqkv_dtype),
      {"layout", "bshd, bhsd, sbhd, bs3hd, bshd_bs2hd, thd (ragged), … or strides for each of q, k, v, o",
       layout_schema(true), layout, false,
       [](const Json& v) {
         const bool names_o = v.is_object() && v.contains("o");
         return names_o ? std::vector<std::string>{"o_layout"} : std::vector<std::string>{};
       }},
      {"o_layout", "layout of O; default: that of Q", tensor_layout_schema(),
       [](S& s, const Json& v) { s.o = tensor_layout(v); }},
      {"do_layout", "bprop: layout of dO; default: that of O", tensor_layout_schema(),
       [](S& s, const Json& v) { s.d_o = tensor_layout(v); }},
      {"dqkv_layout", "bprop: layout of dQ, dK and dV, as layout; default: those of Q, K and V", layout_schema(false),
       gradient_layout},
      {"ragged_offsets", "type of ragged offsets: i32 or i64", words_schema(offset_types),
       [](S& s, const Json& v) { s.ragged_offsets = one_of<DataType>(v, offset_types); }},
      flag("ragged_stats", "statistics of a ragged Q are ragged too; default: true", &S::ragged_stats),
      flag("ragged_shared", "one tensor of offsets for Q and O, one for K and V, as JAX; default: one each",
           &S::ragged_shared),
      total("max_total_seqlen_q", "bprop, ragged: query tokens of all sequences", &S::max_total_seqlen_q),
      total("max_total_seqlen_kv", "bprop, ragged: key tokens of all sequences", &S::max_total_seqlen_kv),
  };
}

// What is done to the scores, and what comes out beside O.
std::vector<Field> feature_fields() {
  using S = AttentionSpec;
  return {
      {"scale", "multiplies the scores: number (default 1/sqrt(head_dim_qk)), tensor or none", scale_schema(),
       read_scale},
      {"mask", "none, causal, causal_bottom_right, padding, padding_causal, padding_causal_bottom_right, or an object",
       mask_schema(), [](S& s, const Json& v) { s.mask = mask(v); }},
      {"bias", "none, a shape such as 1hss, or an object with shape, dtype, grad", bias_schema(),
       [](S& s, const Json& v) { s.bias = read_bias(v); }},
      flag("alibi", "ALiBi: a slope for each head times the distance", &S::alibi),
      {"softcap",
       "scores become c tanh(score / c)",
       {{"type", "number"}, {"exclusiveMinimum", 0}},
       [](S& s, const Json& v) {
         if (number(v) <= 0) throw FieldError(json_text(v) + " is out of range; allowed: above 0");
         s.softcap = number(v);
       }},
      {"score_mod", "another score modifier, by kind, or an object with kind and grad", score_mod_schema(),
       [](S& s, const Json& v) { s.score_mod = read_score_mod(v); }},
      flag("sink", "a logit for each head joins the softmax; bprop: with its gradient", &S::sink),
      flag("block_mask", "a bit for each 128x128 tile of scores", &S::block_mask),
      {"dropout", "probability, or an object with probability, form, seed, dump", dropout_schema(),
       [](S& s, const Json& v) { s.dropout = read_dropout(v); }},
      {"stats",
       "softmax statistics (logsumexp) as an output; default: true for fprop_train",
       {{"type", "boolean"}},
       [](S& s, const Json& v) { s.stats = boolean(v); }},
      flag("max_logit", "the largest score of each row as an output", &S::max_logit),
      flag("sum_exp", "the sum of exponentials of each row as an output", &S::sum_exp),
      flag("deterministic", "bprop: dQ without atomic accumulation", &S::deterministic),
      {"paged", "block size of a paged K/V cache, or an object with block_size, k, v, layout, packed_table",
       paged_schema(), [](S& s, const Json& v) { s.paged = read_paged(v); }},
      {"fp8", "scaling of fp8: delayed, current or mxfp8", words_schema(names_of<Fp8Scaling>()),
       [](S& s, const Json& v) { s.fp8 = one_of<Fp8Scaling>(v); }},
      flag("softmax", "false only for mha: O = g4(Q K^T) V without it", &S::softmax),
  };
}

std::vector<Field> make_fields() {
  std::vector<Field> all = problem_fields(), features = feature_fields();
  std::move(features.begin(), features.end(), std::back_inserter(all));
  return all;
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
