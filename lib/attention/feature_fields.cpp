// Fields: operations on the scores, and outputs other than O.
#include <fmt/format.h>

#include "attention/field_rows.hpp"
#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

using Spec = AttentionSpec;

const std::vector<std::string> bias_types{"f16", "bf16", "f32"};
const std::vector<std::string> container_layouts{"bhsd", "bshd", "sbhd"};

// ---- features with an object form

Member<Bias> bias_shape() {
  static const std::string axes = "bhss";
  return {
      "shape",
      "four letters for {batch, heads_q, seqlen_q, seqlen_kv}; each is the axis or `1` for broadcast",
      {{"type", "string"}, {"pattern", "^[b1][h1][s1][s1]$"}, {"examples", {"bhss", "1hss", "b1ss", "11ss", "b11s"}}},
      [](Bias& bias, const JsonView& v) {
        const std::string shape = v.json().is_string() ? plain_word(v.text()) : "";
        bool good = shape.size() == axes.size();
        for (size_t i = 0; good && i < axes.size(); ++i) good = shape[i] == '1' || shape[i] == axes[i];
        if (!good)
          v.fail_unless_it_is(
              "the shape of a bias; allowed: four letters, each the axis or 1: \"bhss\", \"1hss\", \"b1ss\", "
              "\"11ss\", \"b11s\", …");
        bias.shape = shape;
      },
      [](const Bias& bias) { return Json(bias.shape); }};
}

const ObjectForm<Bias>& bias_form() {
  static const ObjectForm<Bias> form{
      {bias_shape(),
       word_member("dtype", "its type; default: the config's `dtype`", &Bias::dtype, bias_types),
       {"strides", "0 on an axis that PyTorch expanded; default: packed", strides_schema(),
        [](Bias& bias, const JsonView& v) { bias.strides = strides(v, "batch, heads, seqlen_q, seqlen_kv"); },
        [](const Bias& bias) { return bias.strides ? Json(*bias.strides) : Json(); }},
       flag_member("grad", "bprop: dBias is an output", &Bias::grad),
       word_member("grad_dtype", "the type of dBias; default: the bias's", &Bias::grad_dtype, bias_types)},
      "shape"};
  return form;
}

const ObjectForm<ScoreModifier>& score_mod_form() {
  static const ObjectForm<ScoreModifier> form = [] {
    auto kind = word_member("kind", "as a single word", &ScoreModifier::kind);
    kind.required = true;
    return ObjectForm<ScoreModifier>{
        {kind, flag_member("grad", "bprop: the graph contains the modifier's own gradient", &ScoreModifier::grad)},
        "kind"};
  }();
  return form;
}

const ObjectForm<Dropout>& dropout_form() {
  static const ObjectForm<Dropout> form{
      {{"probability",
        "probability of being dropped",
        {{"type", "number"}, {"minimum", 0}, {"exclusiveMaximum", 1}},
        [](Dropout& dropout, const JsonView& v) {
          dropout.probability = v.number();
          if (dropout.probability < 0 || dropout.probability >= 1)
            v.fail_out_of_range("a probability of being dropped, from 0 to below 1");
        },
        [](const Dropout& dropout) { return Json(dropout.probability); },
        true},
       word_member("form", "cuDNN generates the mask from seed and offset, or you pass it", &Dropout::form),
       word_member("seed", "how seed and offset are passed; default: `i64`, for `mha` `constant`", &Dropout::seed),
       flag_member("dump", "the generated mask is an output", &Dropout::dump)},
      "probability"};
  return form;
}

const ObjectForm<Paged>& paged_form() {
  static const ObjectForm<Paged> form{
      {{"block_size", "tokens per block", extent_schema,
        [](Paged& paged, const JsonView& v) { paged.block_size = v.integer(1, max_extent); },
        [](const Paged& paged) { return Json(paged.block_size); }},
       flag_member("k", "K is paged", &Paged::k),
       flag_member("v", "V is paged", &Paged::v),
       {"layout", "layout of the container; b are the blocks and s the tokens of one block",
        words_schema(container_layouts),
        [](Paged& paged, const JsonView& v) {
          v.text();
          paged.layout = v.word(container_layouts);
        },
        [](const Paged& paged) { return Json(paged.layout); }},
       flag_member("packed_table", "the page table is ragged", &Paged::packed_table)},
      "block_size"};
  return form;
}

Field bias() {
  Field field = form_field("bias", "added to the scaled scores", &Spec::bias, bias_form());
  field.words = [](const Spec& s) -> std::string {
    if (!s.bias) return "";
    return fmt::format("bias {}{}", s.bias->shape, s.bias->grad && is_bprop(s) ? " dbias" : "");
  };
  field.example = R"({"shape": "1hss", "dtype": "f32", "grad": true})";
  return field;
}

Field score_mod() {
  Field field =
      form_field("score_mod", "a further score modifier, between scale and bias", &Spec::score_mod, score_mod_form());
  field.words = [](const Spec& s) {
    return s.score_mod ? fmt::format("score_mod {}", name_of(s.score_mod->kind)) : "";
  };
  field.needs_flash = [](const Spec& s) { return s.score_mod.has_value(); };
  field.example = "\"relu\"";
  return field;
}

Field dropout() {
  Field field = form_field("dropout", "dropout of the softmax's result", &Spec::dropout, dropout_form());
  field.set = [](Spec& s, const JsonView& v) {
    s.dropout = read_form(dropout_form(), v);
    // cudnn-frontend omits a dropout of probability 0 in the forward pass; attnprobe omits it in both passes.
    if (s.dropout && s.dropout->probability == 0) s.dropout.reset();
  };
  field.words = [](const Spec& s) -> std::string {
    if (!s.dropout) return "";
    return s.dropout->form == DropoutForm::mask ? "dropout mask" : "dropout";
  };
  field.example = R"({"probability": 0.1, "seed": "i32"})";
  return field;
}

Field paged() {
  Field field = form_field("paged", "a K/V cache in blocks, with a page table", &Spec::paged, paged_form());
  field.set = [](Spec& s, const JsonView& v) {
    s.paged = read_form(paged_form(), v);
    if (s.paged && !s.paged->k && !s.paged->v) s.paged.reset();
  };
  field.words = [](const Spec& s) { return s.paged ? fmt::format("paged {}", s.paged->block_size) : ""; };
  field.needs_flash = [](const Spec& s) { return s.paged.has_value(); };
  field.example = R"({"block_size": 16, "layout": "bshd"})";
  return field;
}

// ---- others

Field scale() {
  Field field{.name = "scale",
              .help = "multiplies the scores",
              .schema = {{"anyOf", {{{"type", "number"}}, words_schema(names_of<ScaleForm>())}}}};
  field.set = [](Spec& s, const JsonView& v) {
    if (v.json().is_number()) {
      s.scale = v.number();
      return;
    }
    const auto form = v.json().is_string() ? parse_word<ScaleForm>(v.text()) : std::nullopt;
    if (!form) v.fail_unless_it_is("a scale; allowed: a number, \"tensor\", \"none\"");
    s.scale_form = *form;
  };
  field.get = [](const Spec& s) -> Json {
    if (s.scale_form != ScaleForm::by_value) return name_of(s.scale_form);
    return s.pattern == Pattern::two_matmul ? Json() : Json(scale_of(s));
  };
  field.given = [](const Spec& s) { return s.scale || s.scale_form != ScaleForm::by_value; };
  field.values = "a number, `tensor` (in device memory) or `none`";
  field.otherwise = "1/sqrt(`head_dim_qk`); none for `two_matmul`";
  field.example = "0.125";
  return field;
}

Field softcap() {
  Field field{.name = "softcap",
              .help = "scores become c tanh(score / c)",
              .schema = {{"type", "number"}, {"exclusiveMinimum", 0}}};
  field.set = [](Spec& s, const JsonView& v) {
    if (v.number() <= 0) v.fail_out_of_range("above 0");
    s.softcap = v.number();
  };
  field.get = [](const Spec& s) { return s.softcap ? Json(*s.softcap) : Json(); };
  field.words = [](const Spec& s) { return s.softcap ? "softcap" : ""; };
  field.needs_flash = [](const Spec& s) { return s.softcap.has_value(); };
  field.otherwise = "none";
  field.example = "50";
  return field;
}

Field stats() {
  Field field{.name = "stats", .help = "softmax statistics (logsumexp) as an output", .schema = boolean_schema};
  field.set = [](Spec& s, const JsonView& v) { s.stats = v.boolean(); };
  field.get = [](const Spec& s) { return is_bprop(s) ? Json() : Json(wants_stats(s)); };
  field.given = [](const Spec& s) { return !is_bprop(s) && s.stats; };
  field.words = [](const Spec& s) { return s.stats == true && s.pass == Pass::fprop ? "stats" : ""; };
  field.otherwise = "`true` for `fprop_train` (except `mha`), otherwise `false`";
  field.example = "true";
  return field;
}

Field fp8() {
  Field field{.name = "fp8", .help = "how fp8 values are scaled", .schema = words_schema(names_of<Fp8Scaling>())};
  field.set = [](Spec& s, const JsonView& v) { s.fp8 = v.one_of<Fp8Scaling>(); };
  field.get = [](const Spec& s) { return is_fp8(s) ? Json(name_of(fp8_scaling(s))) : Json(); };
  field.given = [](const Spec& s) { return is_fp8(s) && s.fp8; };
  field.words = [](const Spec& s) { return is_fp8(s) && fp8_scaling(s) == Fp8Scaling::mxfp8 ? "mxfp8" : ""; };
  field.values =
      "`delayed`, `current` (one scale per tensor, from earlier steps or from this one), `mxfp8` (one for every 32 "
      "elements)";
  field.otherwise = "`delayed` if O is fp8, otherwise `current`";
  field.example = "\"mxfp8\"";
  return field;
}

Field softmax() {
  Field field = flag("softmax", "false (only for mha): no softmax, so O = g4(Q Kᵀ) V", &Spec::softmax);
  field.get = [](const Spec& s) { return s.softmax ? Json() : Json(false); };
  field.words = [](const Spec& s) { return s.softmax ? "" : "no softmax"; };
  field.otherwise = "`true`";
  field.example = "false";
  return field;
}

// A flag that only flash attention supports.
Field flash_flag(const std::string& name, const std::string& help, bool Spec::*member) {
  Field field = flag(name, help, member);
  field.needs_flash = [member](const Spec& s) { return s.*member; };
  return field;
}

Field deterministic() {
  Field field = flag("deterministic", "bprop: dQ without atomic accumulation", &Spec::deterministic);
  field.words = [](const Spec& s) { return s.deterministic && is_bprop(s) ? "deterministic" : ""; };
  return field;
}

}  // namespace

std::vector<Field> feature_fields() {
  std::vector<Field> rows{scale()};
  for (auto& field : mask_fields()) rows.push_back(std::move(field));
  for (const auto& field : std::vector<Field>{
           bias(), flash_flag("alibi", "ALiBi: the bias is a slope per head times the distance", &Spec::alibi),
           softcap(), score_mod(),
           flash_flag("sink", "an attention sink: one extra logit per head in the softmax; bprop: also its gradient",
                      &Spec::sink),
           flash_flag("block_mask", "a bit for each 128x128 tile of scores", &Spec::block_mask), dropout(), stats(),
           flash_flag("max_logit", "the largest score of each row as an output", &Spec::max_logit),
           flash_flag("sum_exp", "the sum of exponentials of each row as an output", &Spec::sum_exp), deterministic(),
           paged(), fp8(), softmax()})
    rows.push_back(field);
  return rows;
}

}  // namespace attnprobe::attention
