// The graphs that Transformer Engine builds for its calls, and its own rules.
#include <fmt/format.h>

#include <algorithm>

#include "catch.hpp"
#include "frameworks/transformer_engine/calls.hpp"
#include "rules/framework_rules.hpp"
#include "transformer_engine_calls.hpp"

namespace attnprobe::test::transformer_engine_graphs_test {

using namespace attnprobe::attention;
using namespace attnprobe::frameworks;

namespace {

using Query = TransformerEngineQuery;
constexpr TransformerEngineDevice h200{90, 91900}, a100{80, 91900}, rtx5090{120, 91900};

TransformerEngineGraphs graphs_with(const std::string& members, const TransformerEngineDevice& device = h200) {
  return transformer_engine_graphs(query_with(members), device);
}

std::string first_rule(const std::string& members, const TransformerEngineDevice& device) {
  const auto refusals = transformer_engine_refusals(query_with(members), device);
  return refusals.empty() ? "" : refusals.front().reason;
}

}  // namespace

// Strides by hand, following generateMatrixStrides (transformer_engine/common/fused_attn/utils.cu), for batch 2, heads
// 6 and 3, lengths 4 and 5, head dimensions 8 and 16. Packed tensors have equal values where required.
TEST_CASE("strides of every layout are Transformer Engine's", "[te]") {
  struct Row {
    std::string layout;
    Strides q, k, v;
  };
  const std::vector<Row> expected = {
      {"sb3hd", {144, 8, 288, 1}, {144, 8, 288, 1}, {144, 8, 288, 1}},
      {"sbh3d", {144, 24, 288, 1}, {144, 24, 288, 1}, {144, 24, 288, 1}},
      {"bs3hd", {576, 8, 144, 1}, {576, 8, 144, 1}, {576, 8, 144, 1}},
      {"bsh3d", {576, 24, 144, 1}, {576, 24, 144, 1}, {576, 24, 144, 1}},
      {"t3hd", {576, 8, 144, 1}, {576, 8, 144, 1}, {576, 8, 144, 1}},
      {"th3d", {576, 24, 144, 1}, {576, 24, 144, 1}, {576, 24, 144, 1}},
      {"sbhd_sb2hd", {48, 8, 96, 1}, {48, 8, 96, 1}, {48, 8, 96, 1}},
      {"sbhd_sbh2d", {48, 8, 96, 1}, {48, 16, 96, 1}, {48, 16, 96, 1}},
      {"bshd_bs2hd", {192, 8, 48, 1}, {240, 8, 48, 1}, {240, 8, 48, 1}},
      {"bshd_bsh2d", {192, 8, 48, 1}, {240, 16, 48, 1}, {240, 16, 48, 1}},
      {"thd_t2hd", {192, 8, 48, 1}, {240, 8, 48, 1}, {240, 8, 48, 1}},
      {"thd_th2d", {192, 8, 48, 1}, {240, 16, 48, 1}, {240, 16, 48, 1}},
      {"sbhd_sbhd_sbhd", {48, 8, 96, 1}, {24, 8, 48, 1}, {48, 16, 96, 1}},
      {"bshd_bshd_bshd", {192, 8, 48, 1}, {120, 8, 24, 1}, {240, 16, 48, 1}},
      {"thd_thd_thd", {192, 8, 48, 1}, {120, 8, 24, 1}, {240, 16, 48, 1}},
      {"sbhd_bshd_bshd", {48, 8, 96, 1}, {120, 8, 24, 1}, {240, 16, 48, 1}},
      {"bshd_sbhd_sbhd", {192, 8, 48, 1}, {24, 8, 48, 1}, {48, 16, 96, 1}},
      {"thd_bshd_bshd", {192, 8, 48, 1}, {120, 8, 24, 1}, {240, 16, 48, 1}},
      {"thd_sbhd_sbhd", {192, 8, 48, 1}, {24, 8, 48, 1}, {48, 16, 96, 1}},
      {"bhsd_bhsd_bhsd", {192, 32, 8, 1}, {120, 40, 8, 1}, {240, 80, 16, 1}},
  };
  size_t paged_count = 0;
  for (const auto& layout : nvte_layouts()) paged_count += layout.rfind("paged_kv_", 0) == 0 ? 1 : 0;
  CHECK(expected.size() + paged_count == nvte_layouts().size());
  for (const auto& [layout, q, k, v] : expected) {
    const bool packs_q = layout.find('3') != std::string::npos, packs_kv = layout.find('2') != std::string::npos;
    Query only_layout;
    only_layout.qkv_layout = layout;
    const std::string format = layout.find('t') != std::string::npos ? "thd"
                               : layout[0] == 's'                    ? "sbhd"
                               : layout[1] == 'h'                    ? "bhsd"
                                                                     : "bshd";
    CHECK(q_format(only_layout) == format);
    const auto graphs =
        graphs_with(fmt::format(R"("qkv_layout": "{0}", "dqkv_layout": "{0}", "o_format": "{1}", "do_format": "{1}",
                       "attn_mask_type": "padding", "num_gqa_groups": {2}, "max_seqlen_q": 4, "max_seqlen_kv": {3},
                       "head_dim_qk": 8, "head_dim_v": {4})",
                                layout, format, packs_q ? 6 : 3, packs_q ? 4 : 5, packs_q || packs_kv ? 8 : 16),
                    rtx5090);
    INFO(layout);
    for (const auto& spec : {*graphs.forward, *graphs.backward}) {
      CHECK(q_strides(spec) == q);
      CHECK(k_strides(spec) == k);
      CHECK(v_strides(spec) == v);
    }
    CHECK(dq_strides(*graphs.backward) == q);
    CHECK(dk_strides(*graphs.backward) == k);
    CHECK(dv_strides(*graphs.backward) == v);
    CHECK(graphs.forward->q.ragged() == (layout[0] == 't'));
  }
}

TEST_CASE("O, dO and the gradients have the requested layouts", "[te]") {
  const auto graphs = graphs_with(R"("o_format": "sbhd", "do_format": "bhsd", "dqkv_layout": "bs3hd")");
  CHECK(o_strides(*graphs.forward) == Strides{6 * 64, 64, 2 * 6 * 64, 1});
  CHECK(o_strides(*graphs.backward) == Strides{6 * 64, 64, 2 * 6 * 64, 1});
  CHECK(d_o_strides(*graphs.backward) == Strides{6 * 256 * 64, 256 * 64, 64, 1});
  CHECK(dk_strides(*graphs.backward) == Strides{256 * 3 * 6 * 64, 64, 3 * 6 * 64, 1});
  for (const char* field : {"o_format", "do_format", "dqkv_layout"}) CHECK(note_on(graphs.changed, field) != nullptr);
}

TEST_CASE("ragged calls use Transformer Engine's batch and token buckets if it packs them", "[te]") {
  const std::string ragged = R"("qkv_layout": "thd_thd_thd", "o_format": "thd", "do_format": "thd",
    "dqkv_layout": "thd_thd_thd", "attn_mask_type": "padding_causal", "batch_size": 5, "num_tokens_q": 5000,
    "num_tokens_kv": 40000)";
  const auto packed = graphs_with(ragged);
  for (const auto& spec : {*packed.forward, *packed.backward}) {
    CHECK(spec.batch == 32);
    CHECK(spec.seqlen_q == 8192);
    CHECK(spec.seqlen_kv == 65536);
    CHECK(spec.ragged_offsets == DataType::i64);
    CHECK(spec.ragged_stats);
    CHECK(spec.mask.padding);
  }
  CHECK(packed.backward->max_total_seqlen_q == 8192);
  CHECK(packed.backward->max_total_seqlen_kv == 65536);
  CHECK(note_on(packed.changed, "batch_size")->value == "5");
  CHECK(note_on(packed.not_seen, "max_seqlen_q") != nullptr);
  const auto cumulative = graphs_with(ragged, {90, 92400});
  CHECK(cumulative.forward->batch == 5);
  CHECK(cumulative.forward->ragged_offsets == DataType::i32);
  CHECK(cumulative.backward->batch == 32);
  CHECK(note_on(cumulative.changed, "cu_seqlens") != nullptr);
  CHECK_THAT(note_on(cumulative.changed, "batch_size")->why, StartsWith("backward, becomes 32"));
  const auto dense = graphs_with(ragged, rtx5090);
  CHECK(dense.forward->batch == 5);
  CHECK(dense.forward->seqlen_q == 256);
  CHECK_FALSE(dense.forward->ragged_stats);
  CHECK_FALSE(dense.backward->max_total_seqlen_q.has_value());
  const auto large = graphs_with(R"("qkv_layout": "thd_bshd_bshd", "o_format": "thd", "attn_mask_type": "padding",
    "batch_size": 600, "num_tokens_q": 70000, "is_training": false)");
  CHECK(large.forward->batch == 1024);
  CHECK(large.forward->seqlen_q == 98304);
  CHECK(large.forward->seqlen_kv == 256);
}

TEST_CASE("masks, windows and the diagonal as Transformer Engine passes them on", "[te]") {
  struct Case {
    const char* members;
    std::optional<int64_t> left, right;
    Alignment alignment;
    bool padding;
  };
  const Case cases[] = {
      {R"("attn_mask_type": "no_mask")", {}, {}, Alignment::top_left, false},
      {R"("attn_mask_type": "causal")", {}, 0, Alignment::top_left, false},
      {R"("attn_mask_type": "causal", "window_size_left": 128, "window_size_right": 0)", 128, 0, Alignment::top_left,
       false},
      {R"("attn_mask_type": "causal_bottom_right")", {}, 0, Alignment::top_left, false},  // a square
      {R"("attn_mask_type": "causal_bottom_right", "max_seqlen_kv": 512)", {}, 0, Alignment::bottom_right, false},
      {R"("attn_mask_type": "padding_causal_bottom_right")", {}, 0, Alignment::bottom_right, true},
      {R"("window_size_left": 7, "window_size_right": 9)", 7, 9, Alignment::bottom_right, false},
      {R"("window_size_left": 7, "window_size_right": 9, "bottom_right_diagonal": false)", 7, 9, Alignment::top_left,
       false},
      {R"("attn_mask_type": "padding")", {}, {}, Alignment::top_left, true}};
  for (const auto& [members, left, right, alignment, padding] : cases) {
    INFO(members);
    const Mask mask = graphs_with(members).forward->mask;
    CHECK(mask.window_left == left);
    CHECK(mask.window_right == right);
    CHECK(mask.alignment == alignment);
    CHECK(mask.padding == padding);
  }
  CHECK(note_on(graphs_with(R"("attn_mask_type": "causal")").changed, "bottom_right_diagonal") != nullptr);
  CHECK(note_on(graphs_with("").not_seen, "bottom_right_diagonal") != nullptr);
}

TEST_CASE("softmax, bias, dropout, statistics and determinism", "[te]") {
  const auto plain = graphs_with("");
  CHECK(plain.forward->pass == Pass::fprop_train);
  CHECK(plain.backward->pass == Pass::bprop);
  CHECK(wants_stats(*graphs_with(R"("is_training": false)").forward));
  CHECK_FALSE(graphs_with(R"("is_training": false)").backward.has_value());
  CHECK(graphs_with(R"("softmax_type": "learnable")").backward->sink);
  CHECK(graphs_with(R"("return_max_logit": true)").forward->max_logit);
  CHECK(graphs_with(R"("deterministic": true)").backward->deterministic);
  CHECK_FALSE(graphs_with(R"("deterministic": true)").forward->deterministic);
  CHECK(graphs_with(R"("bias_type": "alibi")").forward->alibi);
  CHECK(graphs_with(R"("dropout": 0.1)").forward->dropout->probability == 0.1);
  const auto inference = graphs_with(R"("dropout": 0.1, "is_training": false)");
  CHECK_FALSE(inference.forward->dropout.has_value());
  CHECK(note_on(inference.not_seen, "dropout") != nullptr);
  const auto biased = graphs_with(R"("bias_type": "post_scale_bias", "bias_batch_size": 1, "bias_num_heads": 6,
    "bias_seqlen_q": 256, "bias_seqlen_kv": 256)");
  CHECK(biased.forward->bias->shape == "1hss");
  CHECK_FALSE(biased.forward->bias->grad);
  CHECK(biased.backward->bias->grad);
  const auto keys = graphs_with(R"("bias_type": "post_scale_bias", "bias_batch_size": 1, "bias_num_heads": 1,
    "bias_seqlen_q": 1, "bias_seqlen_kv": 256)");
  CHECK(keys.backward->bias->shape == "111s");
  CHECK_FALSE(keys.backward->bias->grad);
  CHECK(note_on(plain.not_seen, "cuda_graph") != nullptr);
}

TEST_CASE("FP8: types and scaling of both passes", "[te]") {
  const auto with = [](const std::string& o, const std::string& gradients, const std::string& mode) {
    return graphs_with(fmt::format(R"("qkv_dtype": "float8e4m3", "o_dtype": "{}", "do_dtype": "float8e5m2",
      "dqkv_dtype": "{}", "scaling_mode": "{}")",
                                   o, gradients, mode));
  };
  const auto delayed = with("float8e4m3", "float8e5m2", "delayed_tensor_scaling");
  CHECK(delayed.forward->fp8 == Fp8Scaling::delayed);
  CHECK(delayed.backward->fp8 == Fp8Scaling::delayed);
  CHECK(d_output_type(*delayed.backward) == DataType::fp8_e5m2);
  const auto current = with("bf16", "bf16", "delayed_tensor_scaling");
  CHECK(current.forward->fp8 == Fp8Scaling::current);
  CHECK(current.backward->fp8 == Fp8Scaling::current);
  CHECK(with("bf16", "bf16", "NVTE_MXFP8_1D_SCALING").backward->fp8 == Fp8Scaling::mxfp8);
  CHECK_FALSE(with("bf16", "bf16", "block_scaling_1d").forward.has_value());
}

TEST_CASE("paged caches", "[te]") {
  const std::string cache = R"("qkv_layout": "paged_kv_bshd_bshd_bshd", "attn_mask_type": "padding",
    "is_training": false, "page_size_k": 64, "page_size_v": 64, "num_pages_k": 100, "num_pages_v": 100,
    "max_pages_per_seq_k": 4, "max_pages_per_seq_v": 4)";
  const auto graphs = graphs_with(cache);
  REQUIRE(graphs.forward->paged.has_value());
  CHECK(graphs.forward->paged->block_size == 64);
  CHECK(graphs.forward->paged->layout == "bshd");
  CHECK(note_on(graphs.changed, "num_pages") != nullptr);
  CHECK_THAT(usage_error([&] { graphs_with(cache + R"(, "page_size_v": 32)"); }),
             ContainsSubstring("page_size_v: 32 differs from page_size_k, 64"));
}

TEST_CASE("Transformer Engine's own rules", "[te]") {
  const std::string ragged = R"("qkv_layout": "thd_thd_thd", "o_format": "thd", "do_format": "thd",
    "dqkv_layout": "thd_thd_thd", )";
  const std::string fp8 = R"("qkv_dtype": "float8e4m3", "o_dtype": "float8e4m3", "do_dtype": "float8e5m2",
    "dqkv_dtype": "float8e5m2")";
  CHECK(first_rule("", h200).empty());
  CHECK_THAT(first_rule(ragged + R"("attn_mask_type": "causal")", h200), ContainsSubstring("padding masks"));
  CHECK_THAT(first_rule(ragged + R"("attn_mask_type": "padding")", a100), ContainsSubstring("sm90"));
  CHECK(first_rule(ragged + R"("attn_mask_type": "padding")", h200).empty());
  CHECK_THAT(first_rule(ragged + R"("attn_mask_type": "padding", "softmax_type": "learnable")", h200),
             ContainsSubstring("9.26"));
  const std::string odd = R"("cuda_graph": true, "max_seqlen_kv": 200)";
  CHECK_THAT(first_rule(odd, {90, 91500}), ContainsSubstring("CUDA graph"));
  CHECK(first_rule(odd, h200).empty());
  CHECK(first_rule(odd + R"(, "is_training": false)", {90, 91500}).empty());
  CHECK_THAT(first_rule(fp8 + R"(, "return_max_logit": true)", h200), ContainsSubstring("return_max_logit"));
  CHECK_THAT(first_rule(ragged + fp8 + R"(, "attn_mask_type": "padding")", h200), ContainsSubstring("9.23"));
  CHECK_THAT(first_rule(fp8 + R"(, "scaling_mode": "mxfp8_1d_scaling")", h200), ContainsSubstring("recipe"));
  CHECK_THAT(first_rule(R"("qkv_dtype": "f32")", h200), ContainsSubstring("no backend for f32"));
  CHECK_THAT(first_rule(R"("attn_mask_type": "arbitrary")", h200), ContainsSubstring("arbitrary"));
}

TEST_CASE("Every rule of Transformer Engine refuses its example but not similar calls", "[te][rules]") {
  const auto& rules = rules::framework_rules("transformer-engine");
  // Whether that rule is among those that refuse the call; cuDNN 9.19.0 and sm 90 by default.
  const auto refuses = [&](const Json& members, const std::string& id) {
    const auto version = CudnnVersion::parse(members.value("cudnn", "9.19.0"));
    const TransformerEngineDevice device{members.value("sm", 90), version.value()};
    Json call = call_with("");
    call.update(members);
    for (const auto& [name, value] : members.items())
      if (value.is_null() || name == "cudnn" || name == "sm") call.erase(name);
    const auto found =
        refusals_of(rules, describe_call(parse_transformer_engine(call.dump(), "te.json").at(0), device));
    return std::any_of(found.begin(), found.end(), [&](const auto* rule) { return rule->id == id; });
  };
  for (const auto& rule : rules.rules) {
    INFO(rule.id);
    CHECK(refuses(rule.examples.affected, rule.id));
    for (const Json& change : rule.examples.unaffected) {
      Json beside = rule.examples.affected;
      beside.update(change);
      INFO(beside.dump());
      CHECK_FALSE(refuses(beside, rule.id));
    }
  }
}

TEST_CASE("A call is described by the keys of Transformer Engine's rules", "[te][rules]") {
  const Json call = describe_call(query_with(""), h200);
  const auto& keys = rules::framework_rules("transformer-engine").keys;
  CHECK(call.size() == keys.size());
  for (const auto& key : keys) {
    INFO(key.name);
    REQUIRE(call.contains(key.name));
    if (key.kind == rules::KeyKind::text)
      CHECK(std::find(key.values.begin(), key.values.end(), call[key.name].get<std::string>()) != key.values.end());
    else
      CHECK((key.kind == rules::KeyKind::boolean ? call[key.name].is_boolean() : call[key.name].is_number()));
  }
}

}  // namespace attnprobe::test::transformer_engine_graphs_test
