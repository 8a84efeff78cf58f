#include "attention/mask.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/field_rows.hpp"

namespace attnprobe::attention {

const std::vector<std::pair<std::string, Mask>>& named_masks() {
  static const std::vector<std::pair<std::string, Mask>> masks{
      {"none", {}},
      {"causal", {.window_right = 0}},
      {"causal_bottom_right", {.window_right = 0, .alignment = Alignment::bottom_right}},
      {"padding", {.padding = true}},
      {"padding_causal", {.window_right = 0, .padding = true}},
      {"padding_causal_bottom_right", {.window_right = 0, .alignment = Alignment::bottom_right, .padding = true}},
  };
  return masks;
}

std::optional<std::string> mask_name(const Mask& mask) {
  for (const auto& [name, named] : named_masks())
    if (named == mask) return name;
  return std::nullopt;
}

std::string describe(const Mask& mask) {
  if (mask.padding_after_stats) {
    Mask usual = mask;
    usual.padding_after_stats = false;
    return describe(usual) + " after_stats";
  }
  if (const auto name = mask_name(mask)) return *name;
  std::string text = mask.window_right == 0 ? "causal" : "band";
  if (mask.window_left) text += fmt::format(" left {}", *mask.window_left);
  if (mask.window_right.value_or(0) > 0) text += fmt::format(" right {}", *mask.window_right);
  if (mask.alignment == Alignment::bottom_right) text += " bottom_right";
  return mask.padding ? "padding " + text : text;
}

namespace {

using Spec = AttentionSpec;

template <class T>
Member<Mask> window_member(const std::string& name, const std::string& help, T Mask::*member) {
  return {name, help, count_schema, [member](Mask& m, const JsonView& v) { m.*member = v.integer(0, max_extent); },
          [member](const Mask& m) { return m.*member ? Json(*(m.*member)) : Json(); }};
}

Member<Mask> lengths_member(const std::string& name, const std::string& help, std::vector<int64_t> Mask::*member) {
  return {name,
          help,
          {{"type", "array"}, {"items", count_schema}},
          [member](Mask& m, const JsonView& v) {
            if (!v.json().is_array()) v.fail_unless_it_is("an array of lengths");
            m.*member = {};
            for (const auto& length : v.values()) (m.*member).push_back(length.integer(0, max_extent));
          },
          [member](const Mask& m) { return (m.*member).empty() ? Json() : Json(m.*member); }};
}

Member<Mask> after_stats_member() {
  auto member = flag_member(
      "padding_after_stats",
      "bprop: mask padded scores after subtracting the statistics, as cudnn-frontend 1.26 and newer and JAX 0.11 do",
      &Mask::padding_after_stats);
  member.write = [](const Mask& m) { return m.padding_after_stats ? Json(true) : Json(); };
  return member;
}

const ObjectForm<Mask>& mask_form() {
  static const ObjectForm<Mask> form{
      {{"causal", "the same as `window_right` 0", boolean_schema, [](Mask&, const JsonView& v) { v.boolean(); },
        [](const Mask&) { return Json(); }},
       {"sliding_window", "`window_left` + 1: the keys in the window, including the query's own", extent_schema,
        [](Mask& m, const JsonView& v) { m.window_left = v.integer(1, max_extent) - 1; },
        [](const Mask&) { return Json(); }},
       window_member("window_left",
                     "keys before the diagonal that are visible; none: all (cudnn-frontend's left bound is one more)",
                     &Mask::window_left),
       window_member("window_right", "keys after the diagonal that are visible; none: all", &Mask::window_right),
       word_member("alignment", "where the diagonal begins", &Mask::alignment),
       flag_member("padding", "sequence lengths vary; each batch entry's length is given at run time", &Mask::padding),
       after_stats_member(),
       lengths_member("seqlens_q", "with `padding`: the query lengths of the batch entries", &Mask::seqlens_q),
       lengths_member("seqlens_kv", "with `padding`: the key lengths of the batch entries", &Mask::seqlens_kv)},
      ""};
  return form;
}

std::vector<std::string> mask_names() {
  std::vector<std::string> names;
  for (const auto& [name, mask] : named_masks()) names.push_back(name);
  return names;
}

// Different spellings in Transformer Engine, JAX and PyTorch.
const std::vector<std::pair<std::string, std::string>> other_mask_words = {
    {"no_mask", "none"},
    {"full", "none"},
    {"bidirectional", "none"},
    {"is_causal", "causal"},
    {"causal_top_left", "causal"},
    {"causal_upper_left", "causal"},
    {"causal_lower_right", "causal_bottom_right"},
    {"causal_padding", "padding_causal"},
};

Mask named_mask(const JsonView& view) {
  Json word = view.json();
  if (word.is_string()) {
    const std::string plain = plain_word(word.get_ref<const std::string&>());
    for (const auto& [other, name] : other_mask_words)
      if (other == plain) word = name;
    if (plain.find("window") != std::string::npos || plain == "sliding" || plain == "local")
      view.fail(
          fmt::format("{} needs a size; allowed: \"sliding_window\": 1024 in a config, --window 1024", view.shown()));
  }
  const std::string name = view.with(word).word(mask_names());
  return std::find_if(named_masks().begin(), named_masks().end(), [&](const auto& one) { return one.first == name; })
      ->second;
}

Mask read_mask(const JsonView& view) {
  if (!view.json().is_object()) return named_mask(view);
  Mask mask;
  read_members(mask_form().members, view, mask);
  if (const auto window = view.find("sliding_window"); window && view.has("window_left"))
    window->fail(fmt::format("{} with window_left; allowed: one of the two", window->shown()));
  const auto causal = view.find("causal");
  const bool is_causal = causal && causal->json() == true;
  if (is_causal && mask.window_right.value_or(0) != 0)
    view.at("window_right")
        .fail(fmt::format("{} contradicts \"causal\": true, which is window_right 0", *mask.window_right));
  if (causal && !is_causal && mask.window_right == 0)
    causal->fail("contradicts window_right 0, which is a causal mask");
  // A window of N keys ends at the query's own key, unless the right bound is given.
  if (is_causal || (view.has("sliding_window") && !causal && !mask.window_right)) mask.window_right = 0;
  return mask;
}

Field mask() {
  Field field{.name = "mask",
              .help = "which scores count",
              .schema = {{"anyOf", {words_schema(mask_names()), members_schema(mask_form().members)}}}};
  field.set = [](Spec& s, const JsonView& v) { s.mask = read_mask(v); };
  field.get = [](const Spec& s) -> Json {
    if (const auto name = mask_name(s.mask)) return *name;
    return write_members(mask_form().members, s.mask);
  };
  field.brief = [](const Spec& s) -> Json {
    if (const auto name = mask_name(s.mask)) return *name;
    return write_brief(mask_form(), s.mask);
  };
  field.words = [](const Spec& s) { return s.mask == Mask() ? "" : describe(s.mask); };
  field.as_object = [](const JsonView& v) {
    if (v.json() == "none") return Json();
    return write_brief(mask_form(), read_mask(v));
  };
  field.set_by_word = {"window_right", "alignment", "padding"};
  field.is_whole_word = true;
  field.members = members_docs(mask_form().members);
  field.example = R"({"causal": true, "window_left": 4095})";
  return field;
}

// ---- members that are also separate fields

Field mask_member(const std::string& name, const std::string& help, const Json& schema, const std::string& example) {
  Field field{.name = name, .help = help, .schema = schema};
  field.set = [name](Spec& s, const JsonView& v) {
    Json object = write_members(mask_form().members, s.mask);
    if (name == "sliding_window") object.erase("window_left");
    object[name] = v.json();
    // Reports the member's own error first, at its own location.
    if (name == "sliding_window")
      v.integer(1, max_extent);
    else
      v.boolean();
    s.mask = read_mask(v.with(object));
  };
  field.otherwise = "as `mask` says";
  field.example = example;
  field.member_of = "mask";
  return field;
}

Field sliding_window() {
  Field field = mask_member(
      "sliding_window",
      "keys in the window, including the query's own, as in Hugging Face configs (`window_left` is one less); causal unless `mask` sets `window_right`",
      extent_schema, "1024");
  field.also = {"window"};
  return field;
}

}  // namespace

std::vector<Field> mask_fields() {
  return {mask(),
          mask_member("causal", "add a causal mask to the window and padding of `mask`", boolean_schema, "true"),
          sliding_window()};
}

}  // namespace attnprobe::attention
