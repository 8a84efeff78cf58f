// The backward graphs: operations, tensors and wiring of flash attention in 16 bits and in fp8, of the legacy pattern
// and of the unified operation. Also cudnn-frontend's changes to them. Counts and rules are those of
// docs/how-it-works.md; other tests ask cuDNN about the graphs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "attention/config.hpp"
#include "attention/random_config.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "graph_text.hpp"

namespace attnprobe::test::backward_test {

using namespace attnprobe::attention;
using namespace attnprobe::build;
using namespace attnprobe::graph;

namespace {

using Dims = std::vector<int64_t>;

// All extents differ except the heads, for which sums over groups have their own cases.
AttentionSpec spec_with(const std::string& members) {
  const std::string defaults =
      R"("pattern": "sdpa_composite", "pass": "bprop", "batch": 2, "heads": 6, "seqlen_q": 5, "seqlen_kv": 7,
         "head_dim_qk": 16, "head_dim_v": 8)";
  return parse_configs(R"({"defaults": {)" + defaults + R"(}, "configs": {)" + members + "}}", "x.json").at(0).spec;
}

OpGraph graph_of(const std::string& members, CudnnVersion version = 91900) {
  return build::build_graph(spec_with(members), {version}).graph;
}

// "Q x K^T -> S (m seq_len_q, n seq_len_kv)" for each matmul; tensors without a name by their type.
Words matmuls(const OpGraph& graph) {
  Words lines;
  auto name = [&](Uid uid) {
    const Tensor& t = tensor(graph, uid);
    return t.name.empty() ? fmt::format("[{}]", name_of(t.data_type)) : t.name;
  };
  for (const auto& op : graph.operations) {
    const auto* m = std::get_if<Matmul>(&op);
    if (m == nullptr) continue;
    std::string line = fmt::format("{} x {} -> {}", name(m->a), name(m->b), name(m->c));
    for (const auto& [letter, uid] :
         {std::pair('m', m->m_override), std::pair('n', m->n_override), std::pair('k', m->k_override)})
      if (uid) line += fmt::format(" {}:{}", letter, name(*uid));
    lines.push_back(line);
  }
  return lines;
}

// The pattern of `sdpa` for this cuDNN and GPU.
FrontendChoice choice(const std::string& members, CudnnVersion version, int sm = 90) {
  AttentionSpec spec = spec_with(members);
  spec.pattern = Pattern::sdpa;
  return choose_as_frontend(spec, {version, sm});
}

}  // namespace

// ---- operations

TEST_CASE("Backward graphs have cudnn-frontend's number of operations", "[backward]") {
  const std::pair<const char*, size_t> counts[] = {
      {"", 18},
      {R"("scale": "none")", 16},
      {R"("scale": "tensor")", 18},
      {R"("mask": "causal")", 22},
      {R"("mask": "causal_bottom_right")", 24},
      {R"("mask": "padding")", 24},
      {R"("mask": "padding_causal")", 28},
      {R"("mask": {"window_left": 2, "window_right": 1})", 28},
      {R"("bias": "1hss")", 19},
      {R"("bias": {"grad": true})", 19},
      {R"("alibi": true)", 23},
      {R"("deterministic": true)", 17},
      {R"("deterministic": true, "bias": {"grad": true})", 19},
      {R"("dropout": 0.5)", 23},
      {R"("dropout": {"probability": 0.5, "dump": true})", 23},
      {R"("dropout": {"probability": 0.5, "form": "mask"})", 22},
      {R"("heads_kv": 3)", 20},
      {R"("heads_v": 3)", 19},
      {R"("heads_kv": 3, "heads_v": 6)", 19},
      {R"("sink": true)", 22},
      {R"("softcap": 30)", 24},
      {R"("layout": "thd", "mask": "padding")", 24},
      {R"("score_mod": "causal")", 26},
      {R"("score_mod": {"kind": "causal", "grad": false})", 22},
      {R"("score_mod": "arrow")", 40},
      {R"("score_mod": "document")", 30},
      {R"("score_mod": "relative_position")", 22},
      {R"("score_mod": "head_factor")", 20},
      {R"("score_mod": "mask_i32")", 20},
      {R"("score_mod": {"kind": "relu", "grad": false})", 19},
      {R"("score_mod": "relu")", 20},
      {R"("score_mod": "abs")", 22},
      {R"("score_mod": "sqrt")", 22},
      {R"("score_mod": "sin")", 21},
      {R"("score_mod": "exp")", 21},
      {R"("score_mod": "pow")", 22},
      {R"("score_mod": "max")", 21},
      {R"("dtype": "fp8_e4m3")", 37},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16")", 37},
      {R"("dtype": "fp8_e4m3", "mask": "causal")", 41},
      {R"("dtype": "fp8_e4m3", "mask": "padding")", 43},
      {R"("dtype": "fp8_e4m3", "heads_kv": 3)", 39},
      {R"("dtype": "fp8_e4m3", "dropout": 0.5)", 42},
      {R"("dtype": "fp8_e4m3", "sink": true)", 42},
      {R"("dtype": "fp8_e4m3", "sink": true, "dropout": 0.5)", 46},
      {R"("dtype": "fp8_e4m3", "fp8": "mxfp8", "o_dtype": "bf16")", 25},
      {R"("dtype": "fp8_e4m3", "fp8": "mxfp8", "o_dtype": "bf16", "heads_kv": 3)", 27},
      {R"("dtype": "fp8_e4m3", "fp8": "mxfp8", "o_dtype": "bf16", "sink": true)", 30},
      {R"("pattern": "mha")", 17},
      {R"("pattern": "mha", "mask": "causal")", 21},
      {R"("pattern": "mha", "mask": "padding")", 23},
      {R"("pattern": "mha", "mask": "padding_causal")", 25},
      {R"("pattern": "mha", "mask": "padding", "dropout": 0.5)", 23},
      {R"("pattern": "mha", "bias": "1hss")", 17},
      {R"("pattern": "mha", "bias": {"grad": true})", 20},
      {R"("pattern": "sdpa_unified")", 1}};
  for (const auto& [members, operations] : counts) {
    INFO(members);
    CHECK(count(graph_of(members)) == operations);
  }
  for (const char* kind : {"score_factor", "mask_boolean", "mask_i8", "tanh", "sigmoid", "gelu", "swish"}) {
    INFO(kind);
    CHECK(count(graph_of(R"("score_mod": ")" + std::string(kind) + "\"")) == 20);
  }
}

TEST_CASE("Backward operations come in cudnn-frontend's order", "[backward]") {
  const std::pair<const char*, Words> cases[] = {
      {"",
       {"mul", "reduce_add", "mul",         // softmax_sum
        "matmul", "mul", "sub", "exp",      // P
        "reshape", "matmul",                // dV
        "matmul", "sub", "mul", "mul",      // dS
        "reshape", "matmul",                // dK
        "reshape", "matmul", "identity"}},  // dQ
      {R"("deterministic": true)",
       {"mul", "reduce_add", "mul", "matmul", "mul", "sub", "exp", "reshape", "matmul", "matmul", "sub", "mul", "mul",
        "reshape", "matmul", "reshape", "matmul"}},
      {R"("bias": {"grad": true})",
       {"mul", "reduce_add", "mul", "matmul", "mul", "add", "sub", "exp", "reshape", "matmul", "matmul", "sub", "mul",
        "reduce_add", "mul", "reshape", "matmul", "reshape", "matmul"}},
      // Padding before the statistics are subtracted, the diagonal after it.
      {R"("mask": "padding_causal")",
       {"mul",    "reduce_add",    "mul",         "matmul",        "mul",     "gen_index", "gen_index",
        "cmp_lt", "cmp_lt",        "logical_and", "binary_select", "sub",     "gen_index", "gen_index",
        "cmp_ge", "binary_select", "exp",         "reshape",       "matmul",  "matmul",    "sub",
        "mul",    "mul",           "reshape",     "matmul",        "reshape", "matmul",    "identity"}},
      {R"("dropout": 0.5)", {"rng", "mul", "reduce_add", "mul",    "matmul",  "mul",    "sub",     "exp",
                             "mul", "mul", "reshape",    "matmul", "matmul",  "mul",    "sub",     "mul",
                             "mul", "mul", "reshape",    "matmul", "reshape", "matmul", "identity"}},
      {R"("sink": true)", {"mul", "reduce_add", "sub",    "exp",     "mul",    "reduce_add", "mul", "matmul",
                           "mul", "sub",        "exp",    "reshape", "matmul", "matmul",     "sub", "mul",
                           "mul", "reshape",    "matmul", "reshape", "matmul", "identity"}},
      {R"("heads_kv": 3)",
       {"mul",    "reduce_add", "mul", "matmul", "mul",     "sub",    "exp",        "reshape", "matmul", "reduce_add",
        "matmul", "sub",        "mul", "mul",    "reshape", "matmul", "reduce_add", "reshape", "matmul", "identity"}},
      {R"("softcap": 30)",
       {"mul",      "reduce_add", "mul",     "matmul",  "mul",    "div",     "tanh_fwd", "mul",
        "sub",      "exp",        "reshape", "matmul",  "matmul", "sub",     "mul",      "mul",
        "tanh_bwd", "div",        "mul",     "reshape", "matmul", "reshape", "matmul",   "identity"}},
      {R"("dtype": "fp8_e4m3")",
       {"mul",     "reduce_add", "mul",    "mul",                                              // D
        "matmul",  "mul",        "mul",    "mul", "sub", "exp",                                // P
        "mul",     "reshape",    "matmul", "mul", "mul", "mul",         "reduce_amax",         // dV
        "matmul",  "mul",        "mul",    "sub", "mul", "mul",         "reduce_amax", "mul",  // dS
        "reshape", "matmul",     "mul",    "mul", "mul", "reduce_amax",                        // dQ, here before dK
        "reshape", "matmul",     "mul",    "mul", "mul", "reduce_amax"}},                      // dK
      // In fp8 the diagonal also precedes the subtraction; a sink without dropout needs a factor of 1.
      {R"("dtype": "fp8_e4m3", "mask": "causal", "sink": true)",
       {"mul",           "reduce_add",  "mul",     "mul",    "sub",     "exp",        "mul",       "reduce_add",
        "mul",           "matmul",      "mul",     "mul",    "mul",     "gen_index",  "gen_index", "cmp_ge",
        "binary_select", "sub",         "exp",     "mul",    "reshape", "matmul",     "mul",       "mul",
        "mul",           "reduce_amax", "matmul",  "mul",    "mul",     "sub",        "mul",       "mul",
        "reduce_amax",   "mul",         "reshape", "matmul", "mul",     "mul",        "mul",       "reduce_amax",
        "reshape",       "matmul",      "mul",     "mul",    "mul",     "reduce_amax"}},
      {R"("dtype": "fp8_e4m3", "fp8": "mxfp8", "o_dtype": "bf16")",
       {"block_scale_dequantize",
        "block_scale_dequantize",
        "block_scale_dequantize",
        "block_scale_dequantize",
        "mul",
        "reduce_add",  // D
        "matmul",
        "mul",
        "sub",
        "exp",  // P
        "reshape",
        "block_scale_dequantize",
        "matmul",
        "reduce_amax",  // dV
        "matmul",
        "sub",
        "mul",
        "mul",  // dS
        "block_scale_dequantize",
        "matmul",
        "reduce_amax",  // dQ
        "reshape",
        "block_scale_dequantize",
        "matmul",
        "reduce_amax"}},
      {R"("pattern": "mha", "mask": "padding_causal")",
       {"reshape",       "mul",           "abs",     "matmul",     "matmul",      "abs",    "cmp_gt",
        "mul",           "binary_select", "mul",     "reduce_add", "sub",         "mul",    "mul",
        "gen_index",     "gen_index",     "cmp_lt",  "cmp_lt",     "logical_and", "cmp_ge", "logical_and",
        "binary_select", "matmul",        "reshape", "matmul"}},
      {R"("pattern": "mha", "bias": {"grad": true})",
       {"reshape",    "mul",           "abs", "matmul",     "matmul",  "abs",   "cmp_gt",
        "mul",        "binary_select", "mul", "reduce_add", "sub",     "mul",   "mul",
        "reduce_add", "reciprocal",    "mul", "matmul",     "reshape", "matmul"}}};
  for (const auto& [members, words] : cases) {
    INFO(members);
    CHECK(operations(graph_of(members)) == words);
  }
}

TEST_CASE("Gradients of score modifiers use the expected operations", "[backward]") {
  // The operations between the product with P and the one with the scale.
  const std::pair<const char*, Words> cases[] = {
      {"relu", {"relu_bwd"}},
      {"tanh", {"tanh_bwd"}},
      {"sigmoid", {"sigmoid_bwd"}},
      {"gelu", {"gelu_bwd"}},
      {"swish", {"swish_bwd"}},
      {"abs", {"cmp_ge", "neg", "binary_select"}},
      {"sqrt", {"sqrt", "mul", "div"}},
      {"sin", {"cos", "mul"}},
      {"exp", {"exp", "mul"}},
      {"pow", {"pow", "mul", "mul"}},
      {"max", {"cmp_gt", "binary_select"}},
      {"relative_position", {}},
      {"head_factor", {"mul"}},
      {"score_factor", {"mul"}},
      {"mask_i32", {"binary_select"}},
      {"causal", {"gen_index", "gen_index", "cmp_ge", "binary_select"}},
      {"document", {"gen_index", "cmp_le", "mul", "mul", "cmp_eq", "binary_select"}}};
  for (const auto& [kind, words] : cases) {
    INFO(kind);
    const Words all = operations(graph_of(R"("score_mod": ")" + std::string(kind) + "\""));
    // After them: the scale, and six operations for dK and dQ.
    const auto end = all.end() - 6;
    CHECK(Words(end - static_cast<std::ptrdiff_t>(words.size()), end) == words);
    CHECK(Words(end - static_cast<std::ptrdiff_t>(words.size()) - 2, end - static_cast<std::ptrdiff_t>(words.size())) ==
          Words{"sub", "mul"});
    const Words without =
        operations(graph_of(R"("score_mod": {"kind": ")" + std::string(kind) + R"(", "grad": false})"));
    CHECK(without.size() + words.size() == all.size());
  }
  // The scalars of the operations, in their order.
  auto scalars = [](const char* kind) {
    const OpGraph graph = graph_of(R"("scale": "none", "score_mod": ")" + std::string(kind) + "\"");
    std::vector<double> values;
    for (const auto& op : graph.operations)
      for (const auto& port : ports(op))
        if (const Tensor& t = tensor(graph, port.uid); t.by_value && t.name != "one") values.push_back(*t.value);
    return values;
  };
  CHECK(scalars("pow") == std::vector<double>{2, 1, 2});  // x^2, then 2 x^1
  CHECK(scalars("sqrt") == std::vector<double>{2});       // 1 / (2 sqrt(x))
  CHECK(scalars("max") == std::vector<double>{0, 0, 0});
  CHECK(scalars("abs") == std::vector<double>{0});
  // A mask lowers scores below all others, and sets their gradients to zero.
  const OpGraph masked = graph_of(R"("score_mod": "mask_i32")");
  CHECK(named_tensor(masked, "fill", 0).value == -std::numeric_limits<double>::infinity());
  CHECK(named_tensor(masked, "fill", 1).value == 0.0);
}

TEST_CASE("Matmuls of the backward pass have the expected operands and lengths", "[backward]") {
  CHECK(matmuls(graph_of(R"("mask": "padding")")) ==
        Words{"Q x K^T -> S m:seq_len_q n:seq_len_kv", "[f16] x dO -> dV m:seq_len_kv k:seq_len_q",
              "dO x V^T -> dP m:seq_len_q n:seq_len_kv", "[f16] x Q -> dK m:seq_len_kv k:seq_len_q",
              "[f32] x K -> dQ sum m:seq_len_q k:seq_len_kv"});
  CHECK(
      matmuls(graph_of(R"("deterministic": true, "heads_kv": 3)")) ==
      Words{"Q x K^T -> S", "[f16] x dO -> all heads", "dO x V^T -> dP", "[f16] x Q -> all heads", "[f32] x K -> dQ"});
  CHECK(matmuls(graph_of(R"("dtype": "fp8_e4m3", "do_dtype": "fp8_e5m2", "mask": "padding")")) ==
        Words{"Q x K^T -> S m:seq_len_q n:seq_len_kv", "[fp8_e4m3] x dO -> [f32] m:seq_len_kv k:seq_len_q",
              "dO x V^T -> dP m:seq_len_q n:seq_len_kv", "[fp8_e5m2] x K -> [f32] m:seq_len_q k:seq_len_kv",
              "[fp8_e5m2] x Q -> [f32] m:seq_len_kv k:seq_len_q"});
  CHECK(matmuls(graph_of(R"("dtype": "fp8_e4m3", "fp8": "mxfp8", "o_dtype": "bf16")")) ==
        Words{"dequantized Q x dequantized K -> S", "[f32] x dequantized dO by sequence -> dV",
              "dequantized dO x dequantized V -> dP", "[f32] x dequantized K by sequence -> dQ",
              "[f32] x dequantized Q by sequence -> dK"});
  CHECK(matmuls(graph_of(R"("pattern": "mha", "mask": "padding")")) ==
        Words{"[f16] x dO -> dV m:seq_len_kv k:seq_len_q", "dO x V^T -> dP m:seq_len_q n:seq_len_kv",
              "dS x K -> dQ m:seq_len_q k:seq_len_kv", "[f16] x Q -> dK m:seq_len_kv k:seq_len_q"});
}

// ---- tensors

TEST_CASE("Tensors of backward graphs have cuDNN's shapes, strides and types", "[backward]") {
  struct Case {
    const char *members, *tensor, *expected;
  };
  const char* const thd = R"("layout": "thd", "mask": "padding")";
  const char* const thd_totals =
      R"("layout": "thd", "mask": "padding", "max_total_seqlen_q": 9, "max_total_seqlen_kv": 11)";
  const char* const thd_gqa = R"("layout": "thd", "mask": "padding", "max_total_seqlen_kv": 11, "heads_kv": 3)";
  const char* const own_types = R"("dtype": "bf16", "o_dtype": "f16", "do_dtype": "f32", "dqkv_dtype": "f32")";
  const Case cases[] = {
      {"", "Q", "f16 2x6x5x16 480,16,96,1"},
      {"", "K^T", "f16 2x6x16x7 672,16,1,96"},
      {"", "V^T", "f16 2x6x8x7 336,8,1,48"},
      {"", "O", "f16 2x6x5x8 240,8,48,1"},
      {"", "dO", "f16 2x6x5x8 240,8,48,1"},
      {"", "Stats", "f32 2x6x5x1 30,5,1,1"},
      {"", "dQ", "f16 2x6x5x16 480,16,96,1"},
      {"", "dK", "f16 2x6x7x16 672,16,96,1"},
      {"", "dV", "f16 2x6x7x8 336,8,48,1"},
      // Memory that the caller provides: not virtual.
      {"", "softmax_sum", "f32 2x6x5x1 30,5,1,1"},
      {"", "dQ sum", "f32 2x6x5x16 480,80,16,1"},
      {"", "K", "f32 2x6x7x16 672,16,96,1 virtual"},
      {"", "one", "f32 1x1x1x1 1,1,1,1 = 1"},
      {own_types, "O", "f16 2x6x5x8 240,8,48,1"},
      {own_types, "dO", "f32 2x6x5x8 240,8,48,1"},
      {own_types, "dQ", "f32 2x6x5x16 480,16,96,1"},
      {R"("o_dtype": "f32")", "dK", "f32 2x6x7x16 672,16,96,1"},
      {R"("o_layout": "sbhd")", "dO", "f16 2x6x5x8 48,8,96,1"},
      {R"("do_layout": "bhsd")", "dO", "f16 2x6x5x8 240,40,8,1"},
      {R"("dqkv_layout": "bhsd")", "dV", "f16 2x6x7x8 336,56,8,1"},
      {R"("dqkv_layout": "bhsd")", "V^T", "f16 2x6x8x7 336,8,1,48"},
      {R"("layout": "bshd_bs2hd", "head_dim_v": 16)", "dK", "f16 2x6x7x16 1344,16,192,1"},
      // fewer heads of K and V
      {R"("heads_kv": 3)", "dK", "f16 2x3x7x16 336,16,48,1"},
      {R"("heads_kv": 3)", "all heads", "f16 2x6x7x8 336,56,8,1 virtual"},
      {R"("heads_kv": 3, "heads_v": 2)", "dV", "f16 2x2x7x8 112,8,16,1"},
      // ragged
      {thd, "dQ", "f16 2x6x5x16 480,16,96,1 at offsets of Q"},
      {thd, "dK", "f16 2x6x7x16 672,16,96,1 at offsets of K"},
      {thd, "dV", "f16 2x6x7x8 336,8,48,1 at offsets of V"},
      {thd, "dO", "f16 2x6x5x8 240,8,48,1 at offsets of O"},
      {thd, "K", "f32 2x6x7x16 672,16,96,1 virtual at offsets of K"},
      {thd, "Stats", "f32 2x6x5x1 30,1,6,1 at offsets of Stats"},
      {thd, "softmax_sum", "f32 2x6x5x1 30,5,1,1"},
      {thd, "dQ sum", "f32 2x6x5x16 480,80,16,1"},
      {thd_totals, "softmax_sum", "f32 2x6x5x1 30,1,6,1 at offsets of Stats"},
      {thd_totals, "dQ sum", "f32 2x6x5x16 480,16,96,1 at offsets of Q"},
      {R"("layout": "thd", "mask": "padding", "max_total_seqlen_q": 9, "ragged_stats": false)", "softmax_sum",
       "f32 2x6x5x1 30,5,1,1"},
      // All heads of a token in memory, at the offsets of the fewer heads, with an implied multiplier.
      {thd_gqa, "dV", "f16 2x3x7x8 168,8,24,1 at offsets of V"},
      {thd_gqa, "all heads", "f16 2x6x7x8 336,8,48,1 at offsets of V"},
      {R"("layout": "thd", "mask": "padding", "heads_kv": 3)", "all heads", "f16 2x6x7x8 336,56,8,1 virtual"},
      // features
      {R"("bias": {"shape": "b1ss", "grad": true})", "bias", "f16 2x1x5x7 35,35,7,1"},
      {R"("bias": {"shape": "b1ss", "grad": true})", "dBias", "f16 2x1x5x7 35,35,7,1"},
      {R"("bias": {"shape": "1hss", "grad": true, "dtype": "f32"})", "dBias", "f32 1x6x5x7 210,35,7,1"},
      {R"("sink": true)", "sink", "f32 1x6x1x1 6,1,1,1"},
      {R"("sink": true)", "dSink", "f32 1x6x1x1 6,1,1,1"},
      {R"("dropout": 0.75)", "dropout scale", "f32 1x1x1x1 1,1,1,1 = 4"},
      {R"("dropout": 0.75)", "dropout scale inverse", "f32 1x1x1x1 1,1,1,1 = 0.25"},
      {R"("dropout": {"probability": 0.5, "form": "mask"})", "dropout scale inverse", "f32 1x1x1x1 1,1,1,1"},
      {R"("dropout": {"probability": 0.5, "form": "mask"})", "dropout mask", "f16 2x6x5x7 210,35,7,1"},
      {R"("dropout": 0.5)", "seed", "i64 1x1x1x1 1,1,1,1"},
      // fp8
      {R"("dtype": "fp8_e4m3", "do_dtype": "fp8_e5m2", "dqkv_dtype": "fp8_e5m2")", "dO", "fp8_e5m2 2x6x5x8 240,8,48,1"},
      {R"("dtype": "fp8_e4m3", "dqkv_dtype": "fp8_e5m2")", "dQ", "fp8_e5m2 2x6x5x16 480,16,96,1"},
      {R"("dtype": "fp8_e4m3")", "descale O", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16")", "descale O", "f32 1x1x1x1 1,1,1,1 = 1"},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16")", "scale dQ", "f32 1x1x1x1 1,1,1,1 = 1"},
      {R"("dtype": "fp8_e4m3")", "scale dQ", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3")", "scale dP", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3")", "amax dP", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3")", "amax dV", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3", "sink": true)", "one", "f32 1x1x1x1 1,1,1,1 = 1"},
      // legacy
      {R"("pattern": "mha")", "S", "f16 2x6x5x7 210,35,7,1 F16x16"},
      {R"("pattern": "mha")", "dS", "f16 2x6x5x7 210,35,7,1 F16x16"},
      {R"("pattern": "mha")", "K", "f16 2x6x7x16 672,16,96,1"},
      {R"("pattern": "mha")", "V^T", "f16 2x6x8x7 336,8,1,48"},
      {R"("pattern": "mha")", "dV", "f16 2x6x7x8 336,8,48,1"},
      {R"("pattern": "mha", "heads_v": 3)", "dV", "f16 2x3x7x8 168,8,24,1"},
      {R"("pattern": "mha")", "dropout scale", "f32 1x1x1x1 1,1,1,1 = 1"},
      {R"("pattern": "mha", "dropout": 0.5)", "dropout scale", "f32 1x1x1x1 1,1,1,1 = 2"},
      {R"("pattern": "mha", "bias": {"grad": true})", "dBias", "f16 1x6x5x7 210,35,7,1"},
      {R"("pattern": "mha", "mask": "causal")", "fill", "f32 1x1x1x1 1,1,1,1 = 0"},
      // one operation
      {R"("pattern": "sdpa_unified")", "K", "f16 2x6x7x16 672,16,96,1"},
      {R"("pattern": "sdpa_unified")", "dK", "f16 2x6x7x16 672,16,96,1"},
      {R"("pattern": "sdpa_unified", "heads_v": 2)", "dV", "f16 2x2x7x8 112,8,16,1"},
      {R"("pattern": "sdpa_unified", "layout": "thd")", "dQ", "f16 2x6x5x16 480,16,96,1 at offsets of Q"},
      {R"("pattern": "sdpa_unified", "layout": "thd")", "Stats", "f32 2x6x5x1 30,1,6,1 at offsets of Stats"}};
  for (const auto& [members, name, expected] : cases) {
    INFO(members << " " << name);
    CHECK(text(graph_of(members), name) == expected);
  }
}

TEST_CASE("There are two sums over heads, one for dV and one for dK", "[backward]") {
  const OpGraph graph = graph_of(R"("layout": "thd", "mask": "padding", "max_total_seqlen_kv": 11, "heads_kv": 3)");
  CHECK(text(graph, named_tensor(graph, "all heads", 0)) == "f16 2x6x7x8 336,8,48,1 at offsets of V");
  CHECK(text(graph, named_tensor(graph, "all heads", 1)) == "f16 2x6x7x16 672,16,96,1 at offsets of K");
}

TEST_CASE("MXFP8 backward has both quantisations of Q, K and dO", "[backward]") {
  // b 2, h 6/3, s 200/300, d 160/136. Along d, blocks of 32 are padded to 4 and rows to 128; along s the other way
  // round. In cudnn-frontend's node/sdpa_fp8_bwd.h, the scales of Q and K along s have separate strides:
  //   {h n 128, n 128, b h n 128, 1} with n = ceil(s / 128) 4
  const OpGraph graph = graph_of(
      R"("dtype": "fp8_e4m3", "do_dtype": "fp8_e5m2", "o_dtype": "bf16", "fp8": "mxfp8", "heads_kv": 3,
         "seqlen_q": 200, "seqlen_kv": 300, "head_dim_qk": 160, "head_dim_v": 136)",
      92100);
  const std::pair<const char*, const char*> expected[] = {
      {"descale Q", "fp8_e8m0 2x6x256x8 12288,2048,8,1 F8_128x4"},
      {"descale K^T", "fp8_e8m0 2x3x8x384 9216,3072,1,8 F8_128x4"},
      {"descale V^T", "fp8_e8m0 2x3x8x384 9216,3072,1,8 F8_128x4"},
      {"descale dO", "fp8_e8m0 2x6x256x8 12288,2048,8,1 F8_128x4"},
      {"descale dO by sequence", "fp8_e8m0 2x6x8x256 12288,2048,256,1 F8_128x4"},
      {"descale K by sequence", "fp8_e8m0 2x3x12x256 4608,1536,9216,1 F8_128x4"},
      {"descale Q by sequence", "fp8_e8m0 2x6x8x256 6144,1024,12288,1 F8_128x4"},
      {"dO", "fp8_e5m2 2x6x200x136 163200,136,816,1"},
      {"dO by sequence", "fp8_e5m2 2x6x200x136 163200,136,816,1"},
      {"K by sequence", "fp8_e4m3 2x3x300x160 144000,160,480,1"},
      {"Q by sequence", "fp8_e4m3 2x6x200x160 192000,160,960,1"},
      // Its 16-bit form is for the row sums.
      {"dO in 16 bits", "bf16 2x6x200x136 163200,136,816,1"},
      {"O", "bf16 2x6x200x136 163200,136,816,1"},
      {"all heads", "f32 2x6x300x136 244800,40800,136,1 virtual"},
      {"dQ", "bf16 2x6x200x160 192000,160,960,1"},
      {"amax dQ", "f32 1x1x1x1 1,1,1,1"}};
  for (const auto& [name, description] : expected) {
    INFO(name);
    CHECK(text(graph, name) == description);
  }
  for (const char* name : {"scale S", "descale S", "amax dP", "scale dQ"}) CHECK_FALSE(has_tensor(graph, name));
}

TEST_CASE("dQ is accumulated in memory, unless determinism or dBias forbids it", "[backward]") {
  struct Case {
    const char* members;
    bool accumulated;
  };
  const Case cases[] = {{"", true},
                        {R"("bias": "1hss")", true},
                        {R"("sink": true)", true},
                        {R"("deterministic": true)", false},
                        {R"("bias": {"grad": true})", false},
                        {R"("deterministic": true, "layout": "thd", "max_total_seqlen_q": 9)", false}};
  for (const auto& [members, accumulated] : cases) {
    INFO(members);
    const OpGraph graph = graph_of(members);
    CHECK(has_tensor(graph, "dQ sum") == accumulated);
    if (accumulated) {
      const auto& last = operation<Pointwise>(graph, count(graph) - 1);
      CHECK(last.mode == PointwiseMode::IDENTITY);
      CHECK(last.x == named_tensor(graph, "dQ sum").uid);
      CHECK(last.y == named_tensor(graph, "dQ").uid);
    } else {
      CHECK(operation<Matmul>(graph, count(graph) - 1).c == named_tensor(graph, "dQ").uid);
    }
  }
  CHECK_FALSE(has_tensor(graph_of(R"("dtype": "fp8_e4m3")"), "dQ sum"));
  CHECK_FALSE(has_tensor(graph_of(R"("dtype": "fp8_e4m3")"), "softmax_sum"));
}

TEST_CASE("dO times O has cudnn-frontend's unusual strides", "[backward]") {
  const OpGraph graph = graph_of("");
  const Tensor& product = tensor(graph, *operation<Pointwise>(graph, 0).y);
  CHECK(text(graph, product) == "f32 2x6x5x8 240,40,48,1 virtual");  // {h s d, s d, h d, 1}
  CHECK(operation<Pointwise>(graph, 0).x == named_tensor(graph, "dO").uid);
  CHECK(operation<Pointwise>(graph, 0).b == named_tensor(graph, "O").uid);
}

TEST_CASE("A reshape is the transpose of P and dS", "[backward]") {
  for (const auto& [members, index, type] :
       {std::tuple("", 7, "f16"), std::tuple("", 13, "f16"), std::tuple(R"("dtype": "bf16")", 7, "bf16"),
        std::tuple(R"("dtype": "fp8_e4m3")", 11, "fp8_e4m3"),
        std::tuple(R"("dtype": "fp8_e4m3", "do_dtype": "fp8_e5m2")", 31, "fp8_e5m2"),
        std::tuple(R"("dtype": "fp8_e4m3", "fp8": "mxfp8", "o_dtype": "bf16")", 10, "f32"),
        std::tuple(R"("pattern": "mha")", 0, "f16")}) {
    INFO(members << " " << index);
    const OpGraph graph = graph_of(members);
    CHECK(text(graph, tensor(graph, operation<Reshape>(graph, static_cast<size_t>(index)).y)) ==
          std::string(type) + " 2x6x7x5 210,35,1,7 virtual");
  }
}

TEST_CASE("Dropout applies to P, dP and the row sums", "[backward]") {
  const OpGraph graph = graph_of(R"("dropout": 0.75)");
  CHECK(operation<Rng>(graph, 0).probability == 0.25);
  const std::pair<size_t, const char*> factors[] = {{3, "dropout scale inverse"}, {8, "dropout mask"},
                                                    {9, "dropout scale"},         {13, "dropout mask"},
                                                    {16, "dropout scale"},        {17, "scale"}};
  for (const auto& [index, name] : factors) {
    INFO(index);
    CHECK(operation<Pointwise>(graph, index).b == named_tensor(graph, name).uid);
  }
  CHECK(operation<Pointwise>(graph, 3).y == named_tensor(graph, "softmax_sum").uid);
  // dP is multiplied by P before dropout.
  CHECK(operation<Pointwise>(graph, 15).b == operation<Pointwise>(graph, 7).y);
}

TEST_CASE("dBias is summed before the modifier's gradient and the scale", "[backward]") {
  const OpGraph graph = graph_of(R"("bias": {"grad": true}, "softcap": 30)");
  const Words all = operations(graph);
  const auto reduce = std::find(all.rbegin(), all.rend(), "reduce_add");
  const auto index = static_cast<size_t>(all.rend() - reduce) - 1;
  CHECK(operation<Reduction>(graph, index).y == named_tensor(graph, "dBias").uid);
  CHECK(all.at(index + 2) == "tanh_bwd");
  // The gradient of tanh is computed where the forward pass computed tanh.
  const auto& backward = operation<Pointwise>(graph, index + 2);
  CHECK(backward.x == operation<Pointwise>(graph, 5).y);
  CHECK(ports_text(graph.operations.at(index + 2)) == "x dy dx!");
}

TEST_CASE("The sink's gradient comes from the row sums before their factor", "[backward]") {
  const OpGraph graph = graph_of(R"("sink": true)");
  CHECK(operation<Pointwise>(graph, 2).x == named_tensor(graph, "sink").uid);
  CHECK(operation<Pointwise>(graph, 2).b == named_tensor(graph, "Stats").uid);
  CHECK(operation<Pointwise>(graph, 4).b == operation<Reduction>(graph, 1).y);
  CHECK(operation<Reduction>(graph, 5).y == named_tensor(graph, "dSink").uid);
  CHECK(operation<Pointwise>(graph, 6).x == operation<Reduction>(graph, 1).y);
}

TEST_CASE("The fp8 scales of the backward pass are where cudnn-frontend puts them", "[backward]") {
  const OpGraph graph = graph_of(R"("dtype": "fp8_e4m3")");
  const std::pair<size_t, const char*> factors[] = {
      {2, "descale dO"},  {3, "descale O"},  {5, "scale"},       {6, "descale Q"},   {7, "descale K"},
      {8, "Stats"},       {10, "scale S"},   {13, "descale S"},  {14, "descale dO"}, {15, "scale dV"},
      {18, "descale dO"}, {19, "descale V"}, {22, "scale"},      {24, "scale dP"},   {27, "descale dP"},
      {28, "descale K"},  {29, "scale dQ"},  {33, "descale dP"}, {34, "descale Q"},  {35, "scale dK"}};
  for (const auto& [index, name] : factors) {
    INFO(index << " " << name);
    CHECK(operation<Pointwise>(graph, index).b == named_tensor(graph, name).uid);
  }
  // The largest value of each gradient is computed before its scale.
  for (const auto& [index, name] : {std::pair(16, "amax dV"), std::pair(30, "amax dQ"), std::pair(36, "amax dK")}) {
    const auto at = static_cast<size_t>(index);
    CHECK(operation<Reduction>(graph, at).y == named_tensor(graph, name).uid);
    CHECK(operation<Reduction>(graph, at).x == *operation<Pointwise>(graph, at - 2).y);
  }
}

TEST_CASE("The unified backward operation has a port for each feature", "[backward]") {
  struct Case {
    const char *members, *ports;
    Words score_operations;
  };
  const Case cases[] = {
      {"", "q k v o d_o stats scale dq! dk! dv!", {}},
      {R"("scale": "none")", "q k v o d_o stats dq! dk! dv!", {}},
      {R"("mask": "padding")", "q k v o d_o stats scale seq_len_q seq_len_kv dq! dk! dv!", {}},
      {R"("sink": true)", "q k v o d_o stats scale sink dq! dk! dv! d_sink!", {}},
      {R"("dropout": 0.25)", "q k v o d_o stats scale seed offset dq! dk! dv!", {}},
      {R"("mask": "causal")", "q k v o d_o stats scale score_output dq! dk! dv! score_input!", {"diagonal_band_mask"}},
      {R"("bias": {"grad": true}, "softcap": 30)",
       "q k v o d_o stats scale score_output dq! dk! dv! d_bias! score_input!",
       {"div", "tanh_fwd", "mul", "add"}}};
  for (const auto& [members, expected_ports, score_operations] : cases) {
    INFO(members);
    const OpGraph graph = graph_of(R"("pattern": "sdpa_unified")" + (*members ? ", " + std::string(members) : ""));
    REQUIRE(operations(graph) == Words{"sdpa_backward"});
    CHECK(ports_text(graph.operations[0]) == expected_ports);
    Words names;
    for (const auto& op : graph.score_operations) names.push_back(operation_name(op));
    CHECK(names == score_operations);
  }
  const auto op = operation<SdpaBackward>(
      graph_of(
          R"("pattern": "sdpa_unified", "layout": "thd", "max_total_seqlen_q": 9, "max_total_seqlen_kv": 11,
                  "dropout": 0.25)"),
      0);
  CHECK(op.max_total_seqlen_q == 9);
  CHECK(op.max_total_seqlen_kv == 11);
  CHECK(op.dropout_probability == 0.25);
}

// ---- by version

TEST_CASE("Padding is applied a second time for cuDNN 9.0 to 9.9", "[backward][choice]") {
  const std::pair<CudnnVersion, size_t> counts[] = {
      {CudnnVersion(89700), 24}, {{9, 0, 0}, 30}, {{9, 9, 0}, 30}, {{9, 10, 0}, 24}, {{9, 19, 0}, 24}};
  for (const auto& [version, operations] : counts) {
    INFO(version);
    CHECK(count(graph_of(R"("mask": "padding")", version)) == operations);
    CHECK(count(graph_of(R"("mask": "causal")", version)) == 22);
  }
}

TEST_CASE("Masked scores of the backward pass also depend on the version", "[backward]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  for (const char* members : {R"("mask": "causal")", R"("mask": "padding")", R"("score_mod": "causal")",
                              R"("mask": "causal", "dtype": "fp8_e4m3")"}) {
    INFO(members);
    CHECK(named_tensor(graph_of(members, 91000), "fill").value == -infinity);
    CHECK(named_tensor(graph_of(members, 90900), "fill").value == lowest);
  }
}

TEST_CASE("From 9.21 the diagonal of the backward pass is one operation", "[backward]") {
  CHECK(count(graph_of(R"("mask": "causal")", 92100)) == 19);
  CHECK(operation_name(graph_of(R"("mask": "causal")", 92100).operations.at(6)) == "diagonal_band_mask");
  CHECK(count(graph_of(R"("mask": {"window_left": 2, "window_right": 1})", 92100)) == 20);
  CHECK(count(graph_of("", 92100)) == 18);
}

TEST_CASE("sdpa backward is composite in every cuDNN", "[backward][choice]") {
  for (const CudnnVersion version : std::initializer_list<CudnnVersion>{90000, 91301, 91900, 92100, 92300})
    for (const char* members : {"", R"("mask": "causal")", R"("dtype": "fp8_e4m3")"}) {
      const FrontendChoice chosen = choice(members, version);
      CHECK(chosen.spec.pattern == Pattern::sdpa_composite);
      CHECK(chosen.choice.rfind("composite: cudnn-frontend", 0) == 0);
    }
}

TEST_CASE("cudnn-frontend pads a backward graph up to 9.15.0 if seqlen_kv is not a multiple of 128",
          "[backward][choice]") {
  struct Case {
    const char* members;
    CudnnVersion version;
    bool adds_padding;
  };
  const Case cases[] = {{"", 91500, true},
                        {"", 91501, false},
                        {"", 90000, true},
                        {R"("seqlen_kv": 128)", 91500, false},
                        {R"("seqlen_kv": 64)", 91500, true},
                        {R"("seqlen_q": 128)", 91500, true},
                        {R"("layout": "thd")", 91500, false},
                        {R"("mask": "causal")", 91500, true},
                        {R"("dtype": "fp8_e4m3")", 91500, false}};
  for (const auto& [members, version, adds_padding] : cases) {
    INFO(members << " " << version);
    const FrontendChoice chosen = choice(members, version);
    CHECK(chosen.spec.mask.padding == adds_padding);
    CHECK((chosen.choice.find("adds a padding mask") != std::string::npos) == adds_padding);
    AttentionSpec spec = spec_with(members);
    spec.pattern = Pattern::sdpa;
    CHECK(has_tensor(build::build_graph(spec, {version, 90}).graph, "seq_len_kv") == adds_padding);
  }
  // A mask that already pads is not changed, without a note.
  CHECK(choice(R"("mask": "padding")", 91500).choice.find("adds") == std::string::npos);
  // A requested pattern is never changed.
  CHECK_FALSE(has_tensor(graph_of("", 91500), "seq_len_kv"));
}

TEST_CASE("cudnn-frontend drops token counts that cuDNN cannot use", "[backward][choice]") {
  struct Case {
    const char* members;
    CudnnVersion version;
    int sm;
    bool kept;
  };
  const Case cases[] = {{R"("head_dim": 64)", 91900, 90, true},
                        {R"("head_dim": 64)", 91900, 100, true},
                        {R"("head_dim": 64)", 91900, 0, true},
                        {R"("head_dim": 64)", 91900, 80, false},
                        {R"("head_dim": 64)", 91900, 89, false},
                        {R"("head_dim": 64)", 91900, 120, false},
                        {R"("head_dim": 64)", 91801, 80, false},
                        {R"("head_dim": 64)", 91800, 80, true},
                        {R"("head_dim": 64)", 90600, 90, true},
                        {R"("head_dim": 64)", 90500, 90, false},
                        {R"("head_dim": 72)", 91900, 90, false},
                        {R"("head_dim_qk": 64, "head_dim_v": 72)", 91900, 90, false},
                        {R"("head_dim_qk": 72, "head_dim_v": 64)", 91900, 90, false}};
  for (const auto& [members, version, sm, kept] : cases) {
    INFO(members << " " << version << " sm " << sm);
    const std::string ragged =
        R"("layout": "thd", "mask": "padding", "max_total_seqlen_q": 9, "max_total_seqlen_kv": 11, )";
    const FrontendChoice chosen = choice(ragged + members, version, sm);
    CHECK(chosen.spec.max_total_seqlen_q.has_value() == kept);
    CHECK(chosen.spec.max_total_seqlen_kv.has_value() == kept);
    CHECK((chosen.choice.find("drops max_total_seqlen") == std::string::npos) == kept);
  }
  CHECK(choice(R"("layout": "thd", "mask": "padding")", 90500).choice.find("drops") == std::string::npos);
}

TEST_CASE("cudnn-frontend fixes one engine config for deterministic kernels on Blackwell", "[backward][choice]") {
  struct Case {
    const char* members;
    CudnnVersion version;
    int sm;
    int64_t engine;  // 0: the heuristics decide
    const char* knobs;
  };
  const char* const older = "KERNEL_CFG=31 STAGES=2 ";
  const char* const newer = "KERNEL_CFG=2 STAGES=2 STREAM_K=0 TILE_CGA_M=0 TILE_M=3 TILE_N=2 ";
  const Case cases[] = {
      {"", 91900, 100, 0, ""},
      {R"("deterministic": true)", 91900, 100, 5, older},
      {R"("deterministic": true)", 91800, 103, 5, older},
      {R"("deterministic": true)", 91799, 100, 0, ""},
      {R"("deterministic": true)", 92300, 100, 5, newer},
      {R"("deterministic": true)", 91900, 107, 17, older},
      {R"("deterministic": true)", 91900, 90, 0, ""},
      {R"("deterministic": true)", 91900, 120, 0, ""},
      {R"("deterministic": true)", 91900, 0, 0, ""},
      {R"("dtype": "fp8_e4m3")", 91900, 100, 5, older},
      {R"("dtype": "fp8_e4m3")", 91800, 100, 0, ""},
      {R"("dtype": "fp8_e4m3")", 91900, 90, 0, ""},
      {R"("dtype": "fp8_e4m3", "head_dim_qk": 192, "head_dim_v": 128)", 91900, 100, 5, older},
      {R"("dtype": "fp8_e4m3", "head_dim_qk": 192, "head_dim_v": 192)", 91900, 100, 0, ""},
      {R"("dtype": "fp8_e4m3", "head_dim": 128, "fp8": "mxfp8", "o_dtype": "bf16")", 92100, 100, 5, older},
      // No engine of cuDNN supports it (sdpa_fp8_bwd.h of 1.32, is_d256_mxfp8_on_blackwell), so none is named.
      {R"("dtype": "fp8_e4m3", "head_dim": 256, "fp8": "mxfp8", "o_dtype": "bf16")", 92100, 100, 0, ""}};
  for (const auto& [members, version, sm, engine, knobs] : cases) {
    INFO(members << " " << version << " sm " << sm);
    const auto forced = choice(members, version, sm).forced;
    CHECK(forced.has_value() == (engine != 0));
    if (!forced) continue;
    CHECK(forced->engine == engine);
    std::string found;
    for (const auto& [knob, value] : forced->knobs) found += fmt::format("{}={} ", knob, value);
    CHECK(found == knobs);
  }
}

TEST_CASE("ragged tensors share offsets only if their token strides are equal", "[build]") {
  const std::string ragged = R"("layout": "thd", "mask": "padding", "head_dim_v": 16, "seqlen_q": 7)";
  const auto offsets = [](const std::string& members) {
    std::set<std::string> found;
    for (const auto& t : graph_of(members).tensors)
      if (t.name.starts_with("offsets of ")) found.insert(t.name.substr(11));
    return found;
  };
  CHECK(offsets(ragged) == std::set<std::string>{"Q", "K", "V", "O", "Stats"});
  for (const std::string pattern : {"sdpa_composite", "sdpa_unified"})
    CHECK(offsets(ragged + R"(, "do_layout": "t3hd", "dqkv_layout": "t3hd", "pattern": ")" + pattern + '"') ==
          std::set<std::string>{"Q", "K", "V", "O", "Stats", "dO", "dQ", "dK", "dV"});

  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    const auto spec = parse_configs(random_config(seed).dump(), "x.json").at(0).spec;
    const auto graph = build::build_graph(spec, {92700}).graph;
    std::map<Uid, std::set<int64_t>> tokens;
    for (const auto& t : graph.tensors)
      if (t.ragged_offset && t.role != Role::all_heads && t.role != Role::page_table_k && t.role != Role::page_table_v)
        tokens[*t.ragged_offset].insert(t.strides[t.strides[3] > t.strides[2] ? 3 : 2]);
    for (const auto& [uid, distances] : tokens) {
      INFO("seed " << seed << ", " << tensor(graph, uid).name);
      CHECK(distances.size() == 1);
    }
  }
}

}  // namespace attnprobe::test::backward_test
