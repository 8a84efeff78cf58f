// Converts one attention node of cudnn-frontend to an AttentionSpec.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attention/fields.hpp"
#include "attention/frontends.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "importers/cudnn_frontend/import_frontend_reader.hpp"

namespace attnprobe::importers {
namespace {

using attention::Alignment;
using attention::AttentionSpec;
using attention::Bias;
using attention::Dropout;
using attention::DropoutForm;
using attention::Fp8Scaling;
using attention::Mask;
using attention::Pass;
using attention::Pattern;
using attention::ScaleForm;
using attention::SeedForm;

constexpr std::string_view forward_tags[] = {"SDPA", "SDPA_FWD", "SDPA_FP8_FWD", "SDPA_MXFP8_FWD"};
constexpr std::string_view backward_tags[] = {"SDPA_BWD", "SDPA_FP8_BWD", "SDPA_MXFP8_BWD"};

template <size_t N>
bool is_one_of(const std::string& word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace

FrontendAttentionReader::FrontendAttentionReader(const FrontendDocument& document, size_t index, FrontendGraph& result)
    : document_(document),
      node_(document.node(index)),
      tag_(result.tags.at(index)),
      result_(result),
      inputs_(document.ports(node_, "inputs")),
      outputs_(document.ports(node_, "outputs")) {}

AttentionSpec FrontendAttentionReader::read() {
  const bool backward = is_one_of(tag_, backward_tags);
  spec_.pass = backward ? Pass::bprop : wants_statistics() ? Pass::fprop_train : Pass::fprop;
  read_ropes();
  find_block_mask();
  read_pattern();
  read_shapes();
  read_types();
  conclude_raggedness();
  read_layouts();
  if (backward) read_gradients();
  read_offset_type();
  read_scale();
  read_mask();
  read_score_features();
  read_dropout();
  read_fp8();
  spec_.deterministic = node_.boolean_or("is_deterministic_algorithm", false);
  read_newer();
  check_rows();
  finish();
  return spec_;
}

std::optional<FrontendTensor> FrontendAttentionReader::input(const std::string& port) const {
  return port_in(inputs_, port);
}

std::optional<FrontendTensor> FrontendAttentionReader::output(const std::string& port) const {
  return port_in(outputs_, port);
}

std::optional<FrontendTensor> FrontendAttentionReader::port_in(const std::map<std::string, std::string>& ports,
                                                               const std::string& port) const {
  const auto found = ports.find(port);
  if (found == ports.end()) return std::nullopt;
  return document_.tensor(found->second);
}

FrontendTensor FrontendAttentionReader::needed(const std::string& port) const {
  if (const auto tensor = input(port)) return *tensor;
  if (!node_.has("inputs")) node_.at("inputs");
  input_places().at(port);  // throws, because it is missing
  throw Error(ErrorKind::internal, "an input was not read: " + port);
}

FrontendPlace FrontendAttentionReader::tensor_place(const FrontendTensor& t) const {
  return document_.root().at("tensors").at(t.key);
}

DataType FrontendAttentionReader::type_of(const FrontendTensor& t) const {
  if (const auto type = document_.type_of(t)) return *type;
  return document_.root().at("context").at("io_data_type").data_type();  // throws, because it is missing
}

bool FrontendAttentionReader::wants_statistics() const {
  if (node_.has("generate_stats")) return node_.at("generate_stats").boolean();
  if (node_.has("is_inference")) return !node_.at("is_inference").boolean();  // up to cudnn-frontend 1.12
  return outputs_.count("Stats") != 0;
}

void FrontendAttentionReader::read_ropes() {
  for (size_t i = 0; i < document_.node_count(); ++i) {
    const FrontendPlace node = document_.node(i);
    if (node.text_or("tag", "") != "ROPE") continue;
    const auto rotated = document_.ports(node, "inputs"), made = document_.ports(node, "outputs");
    const auto input = rotated.find("INPUT"), output = made.find("OUTPUT");
    if (input == rotated.end() || output == made.end()) continue;
    for (const auto& [port, side] : {std::pair{"Q", &attention::Rope::q}, std::pair{"K", &attention::Rope::k}}) {
      const auto here = inputs_.find(port);
      if (here == inputs_.end() || here->second != output->second) continue;
      if (!spec_.rope) spec_.rope = attention::Rope{false, false, {}};
      *spec_.rope.*side = true;
      if (const auto dim = node.optional_integer("rope_dim", 0, longest_extent); dim.value_or(0) > 0)
        spec_.rope->dim = dim;
      if (node.optional_number("output_scale").value_or(1) != 1)
        note("a rotary embedding also scales the rotated elements; attnprobe's graph does not");
      here->second = input->second;
    }
  }
}

void FrontendAttentionReader::find_block_mask() {
  if (inputs_.count("Block_mask") != 0) {
    spec_.block_mask = true;
    return;
  }
  std::set<std::string> used;
  for (size_t i = 0; i < document_.node_count(); ++i)
    for (const char* direction : {"inputs", "outputs"})
      for (const auto& [port, key] : document_.ports(document_.node(i), direction)) used.insert(key);
  std::vector<std::string> unused;
  for (const auto& key : document_.tensor_keys())
    if (used.count(key) == 0) unused.push_back(key);
  auto is_mask = [&](const std::string& key) { return document_.tensor(key).data_type == DataType::u8; };
  const auto q = inputs_.find("Q");
  const bool mask_at_q = q != inputs_.end() && is_mask(q->second);
  const auto lost =
      std::find_if(unused.begin(), unused.end(), [&](const std::string& key) { return is_mask(key) != mask_at_q; });
  if (mask_at_q && lost == unused.end())
    input_places().at("Q").wrong(
        "a tensor of floats; this one is a block mask, which cudnn-frontend writes under \"Q\", and Q itself is not "
        "in the JSON");
  if (lost == unused.end()) return;
  if (mask_at_q) q->second = *lost;
  spec_.block_mask = true;
  note("the block mask has no port in the JSON; attnprobe distinguished it from Q by their types");
}

// Fields that cudnn-frontend writes from 1.25 on.
void FrontendAttentionReader::read_newer() {
  const bool q = inputs_.count("CU_SEQ_LEN_Q") != 0, kv = inputs_.count("CU_SEQ_LEN_KV") != 0;
  if (q || kv) spec_.cu_seqlens = !kv ? attention::Sides::q : !q ? attention::Sides::kv : attention::Sides::both;
  if (needed("Q").ragged_multiplier != 1) spec_.ragged_unit = attention::RaggedUnit::token;
  spec_.stats_log2 = node_.boolean_or("stats_use_log2", false);
  spec_.unfuse_fma = node_.boolean_or("unfuse_fma", false);
  const FrontendPlace context = document_.root().at("context");
  spec_.dynamic_shapes = context.boolean_or("is_dynamic_shape_enabled", false);
  spec_.override_shapes = context.boolean_or("is_override_shape_enabled", false);
  // Backward graphs have the wiring of their release.
  if (is_bprop(spec_) && result_.frontend_version.is_known())
    spec_.frontend = attention::nearest_frontend(result_.frontend_version.release());
  const auto stats = statistics();
  if (!stats || stats->dims.size() != 4 || stats->strides.size() != 4) return;
  if (const DataType type = type_of(*stats); type != DataType::f32) spec_.stats_dtype = type;
  StridedTensor seen{{spec_.batch, spec_.heads_q, spec_.seqlen_q, 1}, {}, false};
  std::copy(stats->strides.begin(), stats->strides.end(), seen.strides.begin());
  if (seen.strides != stats_strides(spec_) && stats->dims == build::row_dims(spec_))
    spec_.stats_layout = layout_of(seen);
}

void FrontendAttentionReader::read_pattern() {
  if (is_bprop(spec_)) return;              // Pattern::sdpa: with cudnn-frontend's changes for a cuDNN and a GPU
  spec_.pattern = Pattern::sdpa_composite;  // the only form before "implementation" existed
  if (!node_.has("implementation")) return;
  const FrontendPlace place = node_.at("implementation");
  const std::string word = place.text();
  if (word == "UNIFIED")
    spec_.pattern = Pattern::sdpa_unified;
  else if (word == "AUTO")
    spec_.pattern = Pattern::sdpa;
  else if (word != "COMPOSITE")
    place.wrong(quoted_list({"AUTO", "COMPOSITE", "UNIFIED"}));
}

void FrontendAttentionReader::read_scale() {
  auto given = node_.optional_number("attn_scale_value");
  const auto tensor = input("Attn_scale");
  if (!given && !tensor) {
    spec_.scale_form = ScaleForm::none;
    return;
  }
  if (!given && !tensor->by_value) {
    spec_.scale_form = ScaleForm::tensor;
    return;
  }
  if (!given) given = tensor->value;
  if (!given) return note("the value of the scale is not in the JSON; 1/sqrt(head_dim_qk) is assumed");
  if (static_cast<float>(scale_of(spec_)) != static_cast<float>(*given)) spec_.scale = given;
}

void FrontendAttentionReader::read_mask() {
  Mask& mask = spec_.mask;
  mask.padding = node_.boolean_or("padding_mask", false);
  // Fields of older versions; newer versions have bounds and a single alignment.
  const bool bottom_right = node_.boolean_or("causal_mask_bottom_right", false);
  if (bottom_right || node_.boolean_or("causal_mask", false)) mask.window_right = 0;
  if (bottom_right) mask.alignment = Alignment::bottom_right;
  // Both are exclusive; window_left is inclusive.
  for (const char* key : {"sliding_window_length", "left_bound"})
    if (const auto left = node_.optional_integer(key, 1, longest_extent)) mask.window_left = *left - 1;
  if (const auto right = node_.optional_integer("right_bound", 0, longest_extent)) mask.window_right = right;
  if (node_.has("diagonal_alignment")) {
    const FrontendPlace place = node_.at("diagonal_alignment");
    if (place.json() == "BOTTOM_RIGHT")
      mask.alignment = Alignment::bottom_right;
    else if (place.json() != "TOP_LEFT")
      place.wrong(quoted_list({"TOP_LEFT", "BOTTOM_RIGHT"}));
  }
  if (!mask.padding && !spec_.paged && (inputs_.count("SEQ_LEN_Q") != 0 || inputs_.count("SEQ_LEN_KV") != 0))
    note("sequence lengths are given without a padding mask; the config has none");
  if (!mask.padding) return;
  mask.seqlens_q = lengths("SEQ_LEN_Q", spec_.seqlen_q);
  mask.seqlens_kv = lengths("SEQ_LEN_KV", spec_.seqlen_kv);
}

std::vector<int64_t> FrontendAttentionReader::lengths(const std::string& port, int64_t most) {
  const auto tensor = input(port);
  if (!tensor || tensor->host_values.empty()) return {};
  const auto& values = tensor->host_values;
  const bool fits = std::ssize(values) == spec_.batch && std::all_of(values.begin(), values.end(), [&](double value) {
                      return value >= 0 && value <= static_cast<double>(most) && value == std::floor(value);
                    });
  if (fits) return {values.begin(), values.end()};
  note(fmt::format("the values of {} are not {} lengths from 0 to {}; they are ignored", port, spec_.batch, most));
  return {};
}

void FrontendAttentionReader::read_score_features() {
  spec_.alibi = node_.boolean_or("alibi_mask", false);
  spec_.sink = inputs_.count("SINK_TOKEN") != 0;
  spec_.max_logit = outputs_.count("Max") != 0;
  spec_.sum_exp = outputs_.count("Sum_exp") != 0;
  if (is_bprop(spec_) && spec_.sink && outputs_.count("DSINK_TOKEN") == 0)
    note("the JSON does not request the gradient of the sink; attnprobe's graph has it");
  if (const auto bias = input("Bias")) read_bias(*bias);
  if (node_.has("rescale_threshold")) note("rescale_threshold is set; attnprobe's graph does not set it");
  note("a score modifier function, if there was one, is not in cudnn-frontend's JSON");
}

void FrontendAttentionReader::read_bias(const FrontendTensor& t) {
  Bias bias;
  const build::Dims whole = build::score_dims(spec_);
  const std::string letters = "bhss";
  bias.shape.clear();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (t.dims.size() != whole.size() || (t.dims[i] != 1 && t.dims[i] != whole[i]))
      tensor_place(t).wrong(fmt::format("as \"dim\" [{}], with 1 for broadcast axes", fmt::join(whole, ", ")));
    bias.shape += t.dims[i] == 1 && (whole[i] != 1 || i == 0) ? '1' : letters[i];
  }
  if (type_of(t) != spec_.dtype) bias.dtype = type_of(t);
  const auto gradient = output("dBias");
  bias.grad = gradient.has_value();
  if (gradient && type_of(*gradient) != type_of(t)) bias.grad_dtype = type_of(*gradient);
  spec_.bias = bias;
  expect_like("Bias", t, t.dims, build::packed_strides(t.dims), type_of(t));
}

void FrontendAttentionReader::read_dropout() {
  const auto probability = node_.optional_number("dropout_probability");
  Dropout dropout;
  if (inputs_.count("Dropout_mask") != 0) {
    dropout.form = DropoutForm::mask;
    dropout.probability = 0.1;
    note("the JSON does not have the probability of the caller's dropout mask; 0.1 is assumed");
  } else if (!probability || (*probability == 0 && !is_bprop(spec_))) {
    return;  // cudnn-frontend's forward pass omits dropout of probability 0
  } else {
    if (!(*probability >= 0 && *probability < 1)) node_.at("dropout_probability").wrong("a number from 0 to below 1");
    if (*probability == 0) note("dropout with probability 0: a config file cannot express it");
    dropout.probability = *probability;
    const auto seed = input("Seed");
    if (!seed) note("dropout without a seed tensor; seed and offset of INT64 are assumed");
    if (seed && type_of(*seed) == DataType::i32)
      dropout.seed = SeedForm::i32;
    else if (seed && type_of(*seed) != DataType::i64)
      note(fmt::format("the seed is {}; a config has i32 or i64, i64 is assumed", name_of(type_of(*seed))));
    dropout.dump = outputs_.count("RNG_DUMP") != 0;
  }
  spec_.dropout = dropout;
}

void FrontendAttentionReader::read_fp8() {
  const bool tagged = tag_.find("FP8") != tag_.npos;
  if (!attention::is_fp8(spec_)) {
    if (tagged) tensor_place(needed("Q")).wrong(fmt::format("FP8_E4M3 or FP8_E5M2 as the type of Q of {}", tag_));
    return;
  }
  const auto scale = input(is_bprop(spec_) ? "Scale_dQ" : "Scale_O");
  Fp8Scaling scaling = scale && scale->by_value ? Fp8Scaling::current : Fp8Scaling::delayed;
  if (tag_.find("MXFP8") != tag_.npos || node_.boolean_or("is_mxfp8", false)) scaling = Fp8Scaling::mxfp8;
  if (scaling != fp8_scaling(spec_)) spec_.fp8 = scaling;
  if (scaling == Fp8Scaling::mxfp8) return;
  // Here attnprobe's graphs have a host value, like Transformer Engine's.
  const bool current = scaling == Fp8Scaling::current, backward = is_bprop(spec_);
  const bool plain_o = current && !attnprobe::is_fp8(output_type(spec_));
  for (const auto& [port, by_value] :
       {std::pair{"Scale_S", false}, std::pair{"Scale_O", current}, std::pair{"Descale_O", plain_o},
        std::pair{"Scale_dQ", current}, std::pair{"Scale_dK", current}, std::pair{"Scale_dV", current},
        std::pair{"Scale_dP", false}})
    if (const auto t = input(port); t && t->by_value != by_value && (backward || port != std::string("Descale_O")))
      note(fmt::format("{} is {}; attnprobe's graph has it {}", port, t->by_value ? "a host value" : "in memory",
                       by_value ? "as a host value" : "in memory"));
}

void FrontendAttentionReader::expect_like(const char* port, const FrontendTensor& t, const build::Dims& dims,
                                          const build::Dims& strides, DataType type) {
  auto text = [](const build::Dims& values) { return fmt::format("{}", fmt::join(values, ",")); };
  const DataType found = type_of(t);
  if ((t.dims.empty() || t.dims == dims) && (t.strides.empty() || t.strides == strides) && found == type) return;
  note(fmt::format("{} is {} [{}] with strides [{}]; attnprobe's graph has {} [{}] with strides [{}]", port,
                   name_of(found), text(t.dims), text(t.strides), name_of(type), text(dims), text(strides)));
}

void FrontendAttentionReader::check_rows() {
  const build::Dims rows = build::row_dims(spec_);
  const bool ragged = spec_.q.ragged() && spec_.ragged_stats;
  const build::Dims strides =
      ragged ? build::Dims{spec_.seqlen_q * spec_.heads_q, 1, spec_.heads_q, 1} : build::packed_strides(rows);
  for (const char* port : {"Max", "Sum_exp"})
    if (const auto t = output(port)) expect_like(port, *t, rows, strides, DataType::f32);
  if (const auto t = statistics())
    expect_like("Stats", *t, rows, build::as_dims(stats_strides(spec_)), spec_.stats_dtype.value_or(DataType::f32));
  const build::Dims heads{1, spec_.heads_q, 1, 1}, head_strides{spec_.heads_q, 1, 1, 1};
  if (const auto sink = input("SINK_TOKEN")) expect_like("SINK_TOKEN", *sink, heads, head_strides, DataType::f32);
  if (const auto mask = input("Dropout_mask"))
    expect_like("Dropout_mask", *mask, build::score_dims(spec_), build::packed_strides(build::score_dims(spec_)),
                spec_.dtype);
  for (const char* port : {"SEQ_LEN_Q", "SEQ_LEN_KV"})
    if (const auto t = input(port)) expect_like(port, *t, {spec_.batch, 1, 1, 1}, {1, 1, 1, 1}, DataType::i32);
}

void FrontendAttentionReader::finish() const {
  const auto found = contradictions(spec_);
  if (!found.empty())
    node_.wrong(fmt::format("a node without this contradiction: {}: {}", found[0].field, found[0].message));
}

bool is_attention_tag(const std::string& tag) {
  return is_one_of(tag, forward_tags) || is_one_of(tag, backward_tags);
}

AttentionSpec read_frontend_attention(const FrontendDocument& document, size_t index, FrontendGraph& result) {
  return FrontendAttentionReader(document, index, result).read();
}

}  // namespace attnprobe::importers
