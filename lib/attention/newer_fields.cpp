// Fields: features added after cuDNN 9.21, and the release of cudnn-frontend.
#include <fmt/format.h>

#include "attention/field_rows.hpp"
#include "attention/frontends.hpp"

namespace attnprobe::attention {
namespace {

using Newer = AttentionSpec;

const std::vector<std::string> stats_types{"f32", "f16", "bf16"};
const std::vector<std::string> compute_types{"f32", "f16"};

Field newer_flag(const std::string& name, const std::string& help, bool Newer::*member) {
  Field field = flag(name, help, member);
  field.needs_flash = [member](const Newer& s) { return s.*member; };
  return field;
}

Field cu_seqlens() {
  Field field{
      .name = "cu_seqlens",
      .help =
          "sides with sequence lengths as batch + 1 prefix sums instead of one length per batch entry (cuDNN 9.24; for only one side 9.25)",
      .schema = words_schema({"none", "q", "kv", "both"})};
  field.set = [](Newer& s, const JsonView& v) {
    s.cu_seqlens.reset();
    if (v.json() != "none") s.cu_seqlens = v.one_of<Sides>({"none", "q", "kv", "both"});
  };
  field.get = [](const Newer& s) { return s.cu_seqlens ? Json(name_of(*s.cu_seqlens)) : Json(); };
  field.words = [](const Newer& s) { return s.cu_seqlens ? fmt::format("cu_seqlens {}", name_of(*s.cu_seqlens)) : ""; };
  field.needs_flash = [](const Newer& s) { return s.cu_seqlens.has_value(); };
  field.otherwise = "`none`";
  field.example = "\"both\"";
  return field;
}

Field ragged_unit() {
  Field field{.name = "ragged_unit",
              .help = "unit of ragged offsets: elements of their tensor, or tokens (cuDNN 9.24)",
              .schema = words_schema(names_of<RaggedUnit>())};
  field.set = [](Newer& s, const JsonView& v) { s.ragged_unit = v.one_of<RaggedUnit>(); };
  field.get = [](const Newer& s) { return s.ragged_unit == RaggedUnit::token ? Json(name_of(s.ragged_unit)) : Json(); };
  field.words = [](const Newer& s) { return s.ragged_unit == RaggedUnit::token ? "offsets in tokens" : ""; };
  field.needs_flash = [](const Newer& s) { return s.ragged_unit == RaggedUnit::token; };
  field.otherwise = "`element`";
  field.example = "\"token\"";
  return field;
}

const ObjectForm<Rope>& rope_form() {
  static const ObjectForm<Rope> form{
      {flag_member("q", "Q is rotated", &Rope::q),
       flag_member("k", "K is rotated", &Rope::k),
       {"dim", "number of elements at the end of a head to rotate; default: all", extent_schema,
        [](Rope& rope, const JsonView& v) { rope.dim = v.integer(1, max_extent); },
        [](const Rope& rope) { return rope.dim ? Json(*rope.dim) : Json(); }}},
      "q"};
  return form;
}

Field rope() {
  Field field = form_field("rope", "rotary position embedding as operations before the attention (cuDNN 9.24)",
                           &Newer::rope, rope_form());
  field.set = [](Newer& s, const JsonView& v) {
    if (v.json() == false) {
      s.rope.reset();
      return;
    }
    s.rope = read_form(rope_form(), v);
    if (s.rope && !s.rope->q && !s.rope->k) s.rope.reset();
  };
  field.as_object = [](const JsonView& v) {
    return v.json() == false ? Json() : object_of(rope_form(), read_form(rope_form(), v));
  };
  field.words = [](const Newer& s) { return s.rope ? "rope" : ""; };
  field.needs_flash = [](const Newer& s) { return s.rope.has_value(); };
  field.example = R"({"dim": 64})";
  return field;
}

Field stats_layout() {
  Field field{
      .name = "stats_layout", .help = "memory layout of the softmax statistics", .schema = tensor_layout_schema()};
  field.set = [](Newer& s, const JsonView& v) {
    s.stats_layout = tensor_layout(v);
    if (s.stats_layout->ragged())
      v.fail_unless_it_is(
          "the layout of {b, h, s, 1}; allowed: \"bhsd\", \"bshd\", \"sbhd\", … or {\"strides\": "
          "[b, h, s, 1]}; \"ragged_stats\": true makes them ragged");
  };
  field.get = [](const Newer& s) { return s.stats_layout ? to_json(*s.stats_layout) : Json(); };
  field.words = [](const Newer& s) { return s.stats_layout ? "stats strided" : ""; };
  field.needs_flash = [](const Newer& s) { return s.stats_layout.has_value(); };
  field.values = "axes of {b, h, s, d} with d = 1, or `{\"strides\": [b, h, s, 1]}`";
  field.otherwise = "`bhsd`; `bshd` if they are ragged";
  field.example = R"({"strides": [4096, 1, 8, 1]})";
  return field;
}

Field stats_dtype() {
  Field field{.name = "stats_dtype", .help = "type of the softmax statistics", .schema = words_schema(stats_types)};
  field.set = [](Newer& s, const JsonView& v) { s.stats_dtype = v.one_of<DataType>(stats_types); };
  field.get = [](const Newer& s) { return s.stats_dtype ? Json(name_of(*s.stats_dtype)) : Json(); };
  field.words = [](const Newer& s) { return s.stats_dtype ? fmt::format("stats {}", name_of(*s.stats_dtype)) : ""; };
  field.needs_flash = [](const Newer& s) { return s.stats_dtype.has_value(); };
  field.otherwise = "`f32`";
  field.example = "\"f16\"";
  return field;
}

Field compute_dtype() {
  Field field{
      .name = "compute_dtype",
      .help = "accumulation type of the unified SDPA operation; f16 needs cuDNN 9.29, which is not released yet",
      .schema = words_schema(compute_types)};
  field.set = [](Newer& s, const JsonView& v) { s.compute_dtype = v.one_of<DataType>(compute_types); };
  field.get = [](const Newer& s) { return s.compute_dtype == DataType::f32 ? Json() : Json(name_of(s.compute_dtype)); };
  field.otherwise = "`f32`";
  field.example = "\"f16\"";
  return field;
}

Field frontend() {
  Field field{.name = "frontend",
              .help = "cudnn-frontend release that determines the graph and the rules",
              .schema = words_schema(frontend_releases)};
  field.set = [](Newer& s, const JsonView& v) { s.frontend = v.word(frontend_releases); };
  field.get = [](const Newer& s) { return s.frontend ? Json(*s.frontend) : Json(); };
  field.words = [](const Newer& s) { return s.frontend ? "cudnn-frontend " + *s.frontend : ""; };
  field.otherwise = fmt::format("`{}`, the newest that attnprobe knows; before cuDNN {} `{}`", frontend_releases.back(),
                                newest_frontend_from.short_text(), frontend_releases.front());
  field.notes = "For pattern `sdpa` it determines the graph; for all `sdpa` patterns it determines the rules";
  field.example = "\"1.23\"";
  field.is_word = true;
  return field;
}

}  // namespace

std::vector<Field> newer_fields() {
  return {
      cu_seqlens(),
      ragged_unit(),
      rope(),
      stats_layout(),
      stats_dtype(),
      newer_flag("stats_log2", "softmax statistics to base 2 (cuDNN 9.27)", &Newer::stats_log2),
      newer_flag(
          "ordered_dq",
          "deterministic bprop on Hopper: sum dQ in f32 memory in a fixed order (cuDNN 9.25), as cudnn-frontend from 1.27 does with CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT=0",
          &Newer::ordered_dq),
      compute_dtype(),
      newer_flag("unfuse_fma", "the softmax's multiply and add as separate operations (cuDNN 9.21)",
                 &Newer::unfuse_fma),
      newer_flag("dynamic_shapes", "one plan for varying sizes", &Newer::dynamic_shapes),
      newer_flag("override_shapes", "sizes may change at execution (cuDNN 9.21)", &Newer::override_shapes),
      frontend()};
}

}  // namespace attnprobe::attention
