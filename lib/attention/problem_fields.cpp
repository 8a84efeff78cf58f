// Fields: the kind and size of the problem.
#include <fmt/format.h>

#include "attention/field_rows.hpp"

namespace attnprobe {
template <>
struct EnumWords<attention::Pass> {
  static constexpr std::array<std::pair<attention::Pass, std::string_view>, 8> table{{
      {attention::Pass::fprop, "forward"},
      {attention::Pass::fprop, "fwd"},
      {attention::Pass::fprop, "inference"},
      {attention::Pass::fprop_train, "forward_train"},
      {attention::Pass::fprop_train, "fwd_train"},
      {attention::Pass::bprop, "backward"},
      {attention::Pass::bprop, "bwd"},
      {attention::Pass::bprop, "grad"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::attention {
namespace {

using Spec = AttentionSpec;

Field free_text(const std::string& name, const std::string& help, std::string Spec::*member) {
  Field field{.name = name, .help = help, .schema = {{"type", "string"}}};
  field.set = [member](Spec& s, const JsonView& v) { s.*member = v.text(); };
  field.get = [member](const Spec& s) { return (s.*member).empty() ? Json() : Json(s.*member); };
  field.given = [](const Spec&) { return false; };
  field.is_text = true;
  return field;
}

template <class E>
Field word(const std::string& name, const std::string& help, E Spec::*member) {
  Field field{.name = name, .help = help, .schema = words_schema(names_of<E>())};
  field.set = [member](Spec& s, const JsonView& v) { s.*member = v.one_of<E>(); };
  field.get = [member](const Spec& s) { return Json(name_of(s.*member)); };
  field.words = [member](const Spec& s) { return std::string(name_of(s.*member)); };
  return field;
}

// `both` names the shorthand that gives this field if it is absent.
Field extent(const std::string& name, const std::string& help, int64_t Spec::*member, const std::string& both,
             const std::string& example) {
  Field field{.name = name, .help = help, .schema = extent_schema};
  field.set = [member](Spec& s, const JsonView& v) { s.*member = v.integer(1, max_extent); };
  field.get = [member](const Spec& s) { return Json(s.*member); };
  field.otherwise = both.empty() ? "" : fmt::format("`{}`", both);
  field.example = example;
  return field;
}

// One number for two fields. `letter` is its prefix in describe(): "h12", or "h12/4" if they differ.
Field both(const std::string& name, const std::string& help, char letter, int64_t Spec::*first, int64_t Spec::*second,
           const std::vector<std::string>& stands_for, const std::string& example) {
  Field field{.name = name, .help = help, .schema = extent_schema};
  field.set = [first, second](Spec& s, const JsonView& v) { s.*first = s.*second = v.integer(1, max_extent); };
  field.given = [](const Spec&) { return false; };  // commands write this shorthand instead of an equal pair
  field.words = [letter, first, second](const Spec& s) {
    return s.*first == s.*second ? fmt::format("{}{}", letter, s.*first)
                                 : fmt::format("{}{}/{}", letter, s.*first, s.*second);
  };
  field.otherwise = fmt::format("required, or set both `{}` and `{}`", stands_for[0], stands_for[1]);
  field.notes = fmt::format("Sets `{}` and `{}`", stands_for[0], stands_for[1]);
  field.example = example;
  field.stands_for = stands_for;
  return field;
}

Field expect() {
  const Json verdict = words_schema(names_of<ExpectedVerdict>());
  Field field{.name = "expect",
              .help = "the expected verdict",
              .schema = {{"anyOf", {verdict, {{"type", "object"}, {"additionalProperties", verdict}}}}}};
  field.set = [](Spec& s, const JsonView& v) {
    s.expect = {};
    s.expect.is_given = true;
    if (!v.json().is_object()) {
      s.expect.otherwise = v.one_of<ExpectedVerdict>();
      return;
    }
    for (const auto& [target, value] : v.json().items()) {
      const auto expected = v.at(target).one_of<ExpectedVerdict>();
      if (target == "default")
        s.expect.otherwise = expected;
      else
        s.expect.by_target[target] = expected;
    }
  };
  field.get = [](const Spec& s) {
    if (s.expect.by_target.empty()) return Json(name_of(s.expect.otherwise));
    Json json = Json::object();
    for (const auto& [target, expected] : s.expect.by_target) json[target] = name_of(expected);
    json["default"] = name_of(s.expect.otherwise);
    return json;
  };
  field.given = [](const Spec&) { return false; };
  field.values =
      "`supported` (`yes` or `but`), `unsupported`, `yes`, `but`, `no`, `any` (supported or not), or an object by target id with "
      "`default`; `b200@9.8` and `default@9.8` hold with that cuDNN";
  field.example = R"({"t4": "unsupported", "default": "supported"})";
  return field;
}

}  // namespace

Field optional_extent(const std::string& name, const std::string& help, std::optional<int64_t> Spec::*member) {
  Field field{.name = name, .help = help, .schema = extent_schema};
  field.set = [member](Spec& s, const JsonView& v) { s.*member = v.integer(1, max_extent); };
  field.get = [member](const Spec& s) { return s.*member ? Json(*(s.*member)) : Json(); };
  field.otherwise = "none";
  field.example = "64";
  return field;
}

Field flag(const std::string& name, const std::string& help, bool Spec::*member) {
  Field field{.name = name, .help = help, .schema = boolean_schema};
  field.set = [member](Spec& s, const JsonView& v) { s.*member = v.boolean(); };
  field.get = [member](const Spec& s) { return s.*member ? Json(true) : Json(); };
  field.words = [member, name](const Spec& s) { return s.*member ? name : ""; };
  field.otherwise = "`false`";
  field.example = "true";
  return field;
}

std::vector<Field> problem_fields() {
  std::vector<Field> rows;
  const auto add = [&rows](Field field) -> Field& { return rows.emplace_back(std::move(field)); };

  Field& name = add(free_text("name", "name of the config in reports", &Spec::name));
  name.otherwise = "the pattern, and the values of a cross product";
  name.example = "\"bert-base\"";
  Field& source = add(free_text("source", "where the numbers come from", &Spec::source));
  source.otherwise = "none";
  source.example = "\"config.json of the model\"";
  add(expect());

  Field& pattern = add(word("pattern", "the operation graph", &Spec::pattern));
  pattern.values =
      "`sdpa` (what cudnn-frontend would build for this cuDNN), `sdpa_composite` (flash attention from primitive "
      "operations), `sdpa_unified` (cuDNN's unified SDPA operation), `mha` (legacy small-sequence), `two_matmul` (O = "
      "(Q Kᵀ) V)";
  pattern.example = "\"sdpa_unified\"";
  Field& pass = add(word("pass", "forward or backward pass", &Spec::pass));
  pass.values =
      "`fprop` (inference), `fprop_train` (with softmax statistics), `bprop`, or `training`: both `fprop_train` and "
      "`bprop`";
  pass.several = {{"training", {"fprop_train", "bprop"}}, {"train", {"fprop_train", "bprop"}}};
  pass.example = "\"bprop\"";

  add(extent("batch", "batch size", &Spec::batch, "", "8")).words = [](const Spec& s) {
    return fmt::format("b{}", s.batch);
  };
  Field& heads = add(both("heads", "heads of Q, K and V", 'h', &Spec::heads_q, &Spec::heads_kv,
                          {"heads_q", "heads_kv", "heads_v"}, "12"));
  heads.notes += "; `heads_v` follows";
  add(extent("heads_q", "query heads", &Spec::heads_q, "heads", "32"));
  add(extent("heads_kv", "key and value heads (fewer than heads_q: GQA; one: MQA)", &Spec::heads_kv, "heads", "8"));
  add(optional_extent("heads_v", "value heads, if their number differs from the key heads", &Spec::heads_v)).otherwise =
      "`heads_kv`";
  add(both("seqlen", "sequence length of Q, K and V", 's', &Spec::seqlen_q, &Spec::seqlen_kv, {"seqlen_q", "seqlen_kv"},
           "512"));
  add(extent("seqlen_q", "query length (1: decode)", &Spec::seqlen_q, "seqlen", "1"));
  add(extent("seqlen_kv", "key and value length", &Spec::seqlen_kv, "seqlen", "4096"));
  add(both("head_dim", "head dimension of Q, K and V", 'd', &Spec::head_dim_qk, &Spec::head_dim_v,
           {"head_dim_qk", "head_dim_v"}, "64"));
  add(extent("head_dim_qk", "head dimension of Q and K", &Spec::head_dim_qk, "head_dim", "192"));
  add(extent("head_dim_v", "head dimension of V and O", &Spec::head_dim_v, "head_dim", "128"));
  return rows;
}

}  // namespace attnprobe::attention
