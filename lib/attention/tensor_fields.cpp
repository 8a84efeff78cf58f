// Fields: types and memory layouts of the tensors.
#include <fmt/format.h>

#include "attention/field_rows.hpp"

namespace attnprobe::attention {
namespace {

// "thd" together with strides.
std::string ragged_axes(const JsonView& view) {
  std::string axes = plain_word(view.text());
  if (axes.find('t') == std::string::npos || !strides_of(axes, {1, 1, 1, 1}))
    view.fail_unless_it_is("a ragged layout; allowed with strides: \"thd\", …");
  return axes;
}

}  // namespace

TensorLayout tensor_layout(const JsonView& view) {
  if (view.json().is_object()) {
    view.only_keys({"strides", "axes"});
    TensorLayout layout;
    layout.strides = strides(view.at("strides"), "batch, heads, seqlen, head_dim");
    if (const auto axes = view.find("axes")) layout.axes = ragged_axes(*axes);
    return layout;
  }
  if (view.json().is_string())
    if (std::string axes = plain_word(view.text()); strides_of(axes, {1, 1, 1, 1})) return {std::move(axes), {}};
  view.fail_unless_it_is(
      "the layout of one tensor; allowed: \"bshd\", \"bhsd\", \"sbhd\", … or {\"strides\": [b, h, s, d]}");
}

Json to_json(const TensorLayout& layout) {
  if (!layout.strides) return layout.axes;
  Json json = {{"strides", *layout.strides}};
  if (!layout.axes.empty()) json["axes"] = layout.axes;
  return json;
}

Json tensor_layout_schema() {
  return {{"anyOf",
           {{{"type", "string"}},
            {{"type", "object"},
             {"additionalProperties", false},
             {"properties", {{"strides", strides_schema()}, {"axes", {{"type", "string"}}}}},
             {"required", {"strides"}}}}}};
}

namespace {

using Spec = AttentionSpec;

// The types that the builders support.
const std::vector<std::string> io_types{"f16", "bf16", "f32", "fp8_e4m3", "fp8_e5m2"};
const std::vector<std::string> offset_types{"i32", "i64"};

// A type that defaults to another one. `gets` returns its value; only passes that use it write it.
Field type(const std::string& name, const std::string& help, std::optional<DataType> Spec::*member,
           DataType (*gets)(const Spec&), bool of_bprop, const std::string& otherwise) {
  Field field{.name = name, .help = help, .schema = words_schema(io_types)};
  field.set = [member](Spec& s, const JsonView& v) { s.*member = v.one_of<DataType>(io_types); };
  field.get = [gets, of_bprop](const Spec& s) { return of_bprop && !is_bprop(s) ? Json() : Json(name_of(gets(s))); };
  field.given = [member, of_bprop](const Spec& s) { return s.*member && (!of_bprop || is_bprop(s)); };
  field.otherwise = otherwise;
  field.example = "\"bf16\"";
  return field;
}

Field dtype() {
  Field field{.name = "dtype", .help = "type of Q, K and V", .schema = words_schema(io_types)};
  field.set = [](Spec& s, const JsonView& v) { s.dtype = v.one_of<DataType>(io_types); };
  field.get = [](const Spec& s) { return Json(name_of(s.dtype)); };
  field.words = [](const Spec& s) {
    const bool other = s.o_dtype && *s.o_dtype != s.dtype;
    return fmt::format("{}{}{}", name_of(s.dtype), other ? "->" : "", other ? name_of(*s.o_dtype) : "");
  };
  field.needs_flash = [](const Spec& s) { return is_fp8(s); };
  field.example = "\"bf16\"";
  return field;
}

// One name for three tensors, or one name each.
std::array<TensorLayout, 3> three_layouts(const JsonView& view) {
  if (view.json().is_object())
    return {tensor_layout(view.at("q")), tensor_layout(view.at("k")), tensor_layout(view.at("v"))};
  const auto axes = view.json().is_string() ? split_layout_name(plain_word(view.text())) : std::nullopt;
  if (!axes) view.fail_unless_one_of(common_layout_names());
  return {TensorLayout{(*axes)[0], {}}, TensorLayout{(*axes)[1], {}}, TensorLayout{(*axes)[2], {}}};
}

// One name, if it means exactly these three layouts.
Json to_json(const TensorLayout& q, const TensorLayout& k, const TensorLayout& v) {
  const bool named = !q.strides && !k.strides && !v.strides;
  for (const std::string& name : {q.axes, q.axes + "_" + k.axes, q.axes + "_" + k.axes + "_" + v.axes}) {
    if (named && split_layout_name(name) == std::array{q.axes, k.axes, v.axes}) return name;
  }
  return {{"q", to_json(q)}, {"k", to_json(k)}, {"v", to_json(v)}};
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

Field layout() {
  Field field{.name = "layout", .help = "memory layout of Q, K and V", .schema = layout_schema(true)};
  field.set = [](Spec& s, const JsonView& v) {
    if (v.json().is_object()) v.only_keys({"q", "k", "v", "o"});
    const auto layouts = three_layouts(v);
    std::tie(s.q, s.k, s.v) = std::tie(layouts[0], layouts[1], layouts[2]);
    if (const auto o = v.find("o")) s.o = tensor_layout(*o);
  };
  field.get = [](const Spec& s) { return to_json(s.q, s.k, s.v); };
  field.words = [](const Spec& s) -> std::string {
    const bool strided = s.q.strides || s.k.strides || s.v.strides;
    const bool one = !s.q.axes.empty() && s.q.axes == s.k.axes && s.k.axes == s.v.axes;
    if (!one) return "strided";
    return strided ? s.q.axes + " strided" : s.q.axes;
  };
  field.needs_flash = is_ragged;
  field.values =
      "`bshd`, `bhsd`, `sbhd`, `bs3hd`, `bshd_bs2hd`, `sbhd_bshd_bshd`, `thd`, `t3hd`, `thd_t2hd`, `thd_bshd_bshd`, … "
      "or `{\"q\": …, \"k\": …, \"v\": …, \"o\": …}`, each axes or `{\"strides\": [b, h, s, d]}`";
  field.notes =
      "`t` means ragged: tokens of all sequences back to back. Ragged strides need `\"axes\": \"thd\"` "
      "(PyTorch's nested tensors have a batch stride of 2147483647)";
  field.example = "\"bshd_bs2hd\"";
  field.as_object = [](const JsonView& v) {
    if (v.json().is_object()) return v.json();
    const auto layouts = three_layouts(v);
    return Json{{"q", to_json(layouts[0])}, {"k", to_json(layouts[1])}, {"v", to_json(layouts[2])}};
  };
  field.set_by_word = {"q", "k", "v"};
  field.sets_also = [](const Json& v) {
    const bool names_o = v.is_object() && v.contains("o");
    return names_o ? std::vector<std::string>{"o_layout"} : std::vector<std::string>{};
  };
  return field;
}

Field one_layout(const std::string& name, const std::string& help, std::optional<TensorLayout> Spec::*member) {
  Field field{.name = name, .help = help, .schema = tensor_layout_schema()};
  field.set = [member](Spec& s, const JsonView& v) { s.*member = tensor_layout(v); };
  field.given = [member](const Spec& s) { return (s.*member).has_value(); };
  field.values = "axes, or `{\"strides\": [b, h, s, d]}`";
  field.example = R"({"strides": [4096, 64, 256, 1]})";
  return field;
}

Field gradient_layout() {
  Field field{.name = "dqkv_layout", .help = "bprop: memory layout of dQ, dK and dV", .schema = layout_schema(false)};
  field.set = [](Spec& s, const JsonView& v) {
    if (v.json().is_object()) v.only_keys({"q", "k", "v"});
    const auto layouts = three_layouts(v);
    std::tie(s.dq, s.dk, s.dv) = std::tie(layouts[0], layouts[1], layouts[2]);
  };
  field.get = [](const Spec& s) { return is_bprop(s) && s.dq ? to_json(*s.dq, *s.dk, *s.dv) : Json(); };
  field.values = "as `layout`, without O";
  field.otherwise = "those of Q, K and V";
  field.example = "\"bs3hd\"";
  return field;
}

Field ragged_offsets() {
  Field field{.name = "ragged_offsets", .help = "type of ragged offsets", .schema = words_schema(offset_types)};
  field.set = [](Spec& s, const JsonView& v) { s.ragged_offsets = v.one_of<DataType>(offset_types); };
  field.get = [](const Spec& s) { return is_ragged(s) ? Json(name_of(s.ragged_offsets)) : Json(); };
  field.given = [](const Spec& s) { return is_ragged(s) && s.ragged_offsets != Spec().ragged_offsets; };
  field.otherwise = "`i32`";
  field.example = "\"i64\"";
  return field;
}

Field ragged_stats() {
  Field field = flag("ragged_stats", "whether the statistics of a ragged Q are ragged too", &Spec::ragged_stats);
  field.get = [](const Spec& s) { return is_ragged(s) ? Json(s.ragged_stats) : Json(); };
  field.given = [](const Spec& s) { return is_ragged(s) && !s.ragged_stats; };
  field.words = [](const Spec&) { return std::string(); };
  field.otherwise = "`true`";
  field.example = "false";
  return field;
}

}  // namespace

std::vector<Field> tensor_fields() {
  std::vector<Field> rows;
  const auto add = [&rows](Field field) -> Field& { return rows.emplace_back(std::move(field)); };

  add(dtype());
  add(type("o_dtype", "type of O", &Spec::o_dtype, output_type, false, "`dtype`"));
  add(layout());
  Field& o_layout = add(one_layout("o_layout", "memory layout of O", &Spec::o));
  o_layout.get = [](const Spec& s) { return to_json(output_layout(s)); };
  o_layout.otherwise = "that of Q, without interleaving; `bshd` if Q has strides";

  add(type("do_dtype", "bprop: type of dO", &Spec::do_dtype, d_output_type, true, "`dtype`"));
  add(type("dqkv_dtype", "bprop: type of dQ, dK and dV", &Spec::dqkv_dtype, gradient_type, true, "that of O"));
  Field& do_layout = add(one_layout("do_layout", "bprop: memory layout of dO", &Spec::d_o));
  do_layout.get = [](const Spec& s) { return is_bprop(s) && s.d_o ? to_json(*s.d_o) : Json(); };
  do_layout.otherwise = "that of O";
  add(gradient_layout());
  for (const auto& [name, help, extent] :
       {std::tuple("max_total_seqlen_q", "bprop, ragged: query tokens of all sequences", &Spec::max_total_seqlen_q),
        std::tuple("max_total_seqlen_kv", "bprop, ragged: key tokens of all sequences", &Spec::max_total_seqlen_kv)})
    add(optional_extent(name, help, extent)).get = [member = extent](const Spec& s) {
      return is_bprop(s) && s.*member ? Json(*(s.*member)) : Json();
    };

  add(ragged_offsets());
  add(ragged_stats());
  Field& shared = add(flag("ragged_shared", "one tensor of ragged offsets for Q and O and one for K and V, as in JAX",
                           &Spec::ragged_shared));
  shared.get = [](const Spec& s) { return is_ragged(s) && s.ragged_shared ? Json(true) : Json(); };
  shared.words = [](const Spec&) { return std::string(); };
  shared.otherwise = "`false`: one for each";
  return rows;
}

}  // namespace attnprobe::attention
