// The graphs of the builders: operations, tensors and wiring, and the pattern that `sdpa` becomes. Counts and rules are
// those of docs/how-it-works.md; other tests ask cuDNN about the graphs.
#include "build/build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "build/expand.hpp"
#include "catch.hpp"
#include "graph_text.hpp"

namespace attnprobe::test::builders_test {

using namespace attnprobe::attention;
using namespace attnprobe::build;
using namespace attnprobe::graph;

namespace {

using Dims = std::vector<int64_t>;

// All extents differ, so that swapped ones are detected.
AttentionSpec spec_of(Pattern pattern = Pattern::sdpa_composite) {
  AttentionSpec spec;
  spec.pattern = pattern;
  spec.batch = 2;
  spec.heads_q = 6;
  spec.heads_kv = 3;
  spec.seqlen_q = 5;
  spec.seqlen_kv = 7;
  spec.head_dim_qk = 16;
  spec.head_dim_v = 8;
  return spec;
}

Mask named(const std::string& name) {
  for (const auto& [known, mask] : named_masks())
    if (known == name) return mask;
  throw std::runtime_error("no mask " + name);
}

Mask window(Mask mask, std::optional<int64_t> left, std::optional<int64_t> right) {
  mask.window_left = left;
  mask.window_right = right;
  return mask;
}

// The same problem with these members of a config, composite by default.
AttentionSpec spec_with(const std::string& members) {
  const std::string defaults =
      R"("pattern": "sdpa_composite", "batch": 2, "heads_q": 6, "heads_kv": 3, "seqlen_q": 5, "seqlen_kv": 7,
         "head_dim_qk": 16, "head_dim_v": 8)";
  return parse_configs(R"({"defaults": {)" + defaults + R"(}, "configs": {)" + members + "}}", "x.json").at(0).spec;
}

AttentionSpec sdpa_with(const std::string& members) {
  return spec_with(R"("pattern": "sdpa")" + (members.empty() ? "" : ", " + members));
}

OpGraph graph_of(const std::string& members, CudnnVersion version = 91900) {
  return build::build_graph(spec_with(members), {version}).graph;
}

OpGraph composite(const Mask& mask = {}, CudnnVersion version = 91900) {
  AttentionSpec spec = spec_of();
  spec.mask = mask;
  return build::build_graph(spec, {version}).graph;
}

OpGraph mha(const std::string& mask) {
  AttentionSpec spec = spec_of(Pattern::mha);
  spec.mask = named(mask);
  return build::build_graph(spec, {91900}).graph;
}

Words names_of_operations(const std::vector<Operation>& operations) {
  Words names;
  for (const auto& operation : operations) names.push_back(operation_name(operation));
  return names;
}

// The values of by-value scalars that operations of this mode read.
std::vector<double> scalars_read_by(const OpGraph& graph, const std::string& name) {
  std::vector<double> values;
  for (const auto& op : graph.operations)
    for (const auto& port : ports(op))
      if (operation_name(op) == name && tensor(graph, port.uid).by_value)
        values.push_back(tensor(graph, port.uid).value.value());
  return values;
}

// Graphs with features that might break the rules for tensors.
std::vector<std::string> every_feature() {
  std::vector<std::string> all;
  for (const char* members :
       {R"("scale": "none")",
        R"("scale": "tensor")",
        R"("bias": "b11s")",
        R"("alibi": true)",
        R"("softcap": 5)",
        R"("sink": true)",
        R"("max_logit": true)",
        R"("max_logit": true, "sum_exp": true)",
        R"("stats": true, "max_logit": true, "sum_exp": true, "sink": true)",
        R"("dropout": 0.5)",
        R"("dropout": {"probability": 0.5, "form": "mask"})",
        R"("dropout": {"probability": 0.5, "dump": true, "seed": "i32"})",
        R"("dropout": {"probability": 0.5, "seed": "constant"})",
        R"("layout": "thd", "mask": "padding")",
        R"("layout": "thd", "mask": "padding", "stats": true)",
        R"("layout": "thd", "mask": "padding", "stats": true, "ragged_stats": false)",
        R"("layout": "thd_bshd_bshd", "mask": "padding_causal", "stats": true)",
        R"("paged": 4, "mask": "padding")",
        R"("paged": {"block_size": 4, "v": false}, "mask": "padding")",
        R"("paged": {"block_size": 4, "packed_table": true}, "mask": "padding_causal")",
        R"("dtype": "fp8_e4m3")",
        R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "dropout": 0.5)",
        R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8", "stats": true)",
        R"("dtype": "f32")",
        R"("mask": {"window_left": 2, "window_right": 1, "alignment": "bottom_right", "padding": true})"})
    all.emplace_back(members);
  for (const std::string& kind : names_of<ScoreModifierKind>()) all.push_back(R"("score_mod": ")" + kind + "\"");
  for (const auto& [name, mask] : named_masks()) all.push_back(R"("mask": ")" + name + "\"");
  const std::vector<std::string> forward = all;
  for (const std::string& members : forward) {
    if (members.find("paged") == std::string::npos) all.push_back(R"("pass": "bprop", )" + members);
    // The unified operation supports neither fp8 nor a dropout mask from the caller nor a constant seed.
    const bool unified = members.find("fp8") == std::string::npos && members.find("mask\"}") == std::string::npos &&
                         members.find("constant") == std::string::npos;
    if (unified) all.push_back(R"("pattern": "sdpa_unified", )" + members);
  }
  for (const char* members :
       {R"("pattern": "sdpa_unified", "block_mask": true)", R"("pattern": "two_matmul")", R"("pattern": "mha")",
        R"("pattern": "mha", "scale": "none")", R"("pattern": "mha", "mask": "padding_causal", "bias": "1hss")",
        R"("pattern": "mha", "pass": "fprop_train")", R"("pattern": "mha", "softmax": false)",
        R"("pattern": "mha", "dropout": 0.5, "pass": "fprop_train")",
        R"("pattern": "mha", "pass": "bprop", "mask": "padding_causal", "dropout": 0.5, "bias": {"grad": true})",
        R"("pass": "bprop", "deterministic": true)", R"("pass": "bprop", "bias": {"grad": true})",
        R"("pass": "bprop", "pattern": "sdpa_unified", "bias": {"grad": true}, "sink": true, "dropout": 0.5)",
        R"("pass": "bprop", "layout": "thd", "mask": "padding", "max_total_seqlen_q": 9, "max_total_seqlen_kv": 11)"})
    all.emplace_back(members);
  return all;
}

// Tensors in memory that the graph writes.
bool is_result(const std::string& name) {
  for (const char* word : {"O", "Stats", "row_max", "row_sum", "Max", "Sum_exp", "dQ", "dK", "dV", "dSink", "dBias",
                           "dQ sum", "softmax_sum", "all heads", "S output", "P", "dS", "dropout mask"})
    if (name == word) return true;
  return name.rfind("amax ", 0) == 0;
}

}  // namespace

// ---- operations (docs/how-it-works.md, "Composite, forward")

TEST_CASE("The composite graph has the ten operations of flash attention", "[builders]") {
  CHECK(operations(composite()) ==
        Words{"matmul", "mul", "reduce_max", "sub", "exp", "reduce_add", "log", "add", "div", "matmul"});
}

TEST_CASE("Each mask adds its own operations to the composite graph", "[builders]") {
  const Mask none, causal = named("causal"), bottom_right = named("causal_bottom_right"), padding = named("padding"),
                   padded_bottom_right = named("padding_causal_bottom_right");
  CHECK(count(composite(none)) == 10);
  CHECK(count(composite(causal)) == 14);
  CHECK(count(composite(bottom_right)) == 16);
  CHECK(count(composite(padding)) == 16);
  CHECK(count(composite(named("padding_causal"))) == 20);
  CHECK(count(composite(padded_bottom_right)) == 22);
  CHECK(count(composite(window(none, {}, 3))) == 15);
  CHECK(count(composite(window(none, 3, {}))) == 15);
  CHECK(count(composite(window(none, 2, 3))) == 20);
  CHECK(count(composite(window(causal, 3, 0))) == 19);
  CHECK(count(composite(window(bottom_right, 3, 0))) == 21);
  CHECK(count(composite(window(bottom_right, {}, 2))) == 17);
  CHECK(count(composite(window(padded_bottom_right, 3, 0))) == 29);
}

TEST_CASE("Training has as many operations as inference", "[builders]") {
  AttentionSpec spec = spec_of();
  spec.pass = Pass::fprop_train;
  CHECK(count(build::build_graph(spec, {91900}).graph) == 10);
}

TEST_CASE("Masks are in cudnn-frontend's order, each with its own indices", "[builders]") {
  const Words all = operations(composite(window(named("padding_causal"), 3, 0)));
  CHECK(Words(all.begin() + 2, all.end() - 8) ==
        Words{"gen_index", "gen_index", "cmp_lt", "cmp_lt", "logical_and", "binary_select",  // padding
              "gen_index", "gen_index", "cmp_ge", "binary_select",                           // right bound
              "gen_index", "gen_index", "add", "cmp_gt", "binary_select"});                  // left bound
}

TEST_CASE("The legacy graph has 14 operations with padding, 16 with padding and causal", "[builders]") {
  CHECK(operations(mha("padding")) == Words{"mul", "matmul", "gen_index", "gen_index", "cmp_lt", "cmp_lt",
                                            "logical_and", "binary_select", "reduce_max", "sub", "exp", "reduce_add",
                                            "div", "matmul"});
  CHECK(count(mha("padding_causal")) == 16);
  CHECK(count(mha("causal")) == 12);
  CHECK(count(mha("none")) == 8);
}

TEST_CASE("The legacy graph differs from flash attention by its missing statistics", "[builders]") {
  const Words all = operations(mha("padding_causal"));
  CHECK(std::count(all.begin(), all.end(), "log") == 0);
  CHECK(std::count(all.begin(), all.end(), "add") == 0);
}

TEST_CASE("The unified graph is one operation, and the bare graph two matmuls", "[builders]") {
  CHECK(operations(build::build_graph(spec_of(Pattern::sdpa_unified), {91900}).graph) == Words{"sdpa_forward"});
  CHECK(operations(build::build_graph(spec_of(Pattern::two_matmul), {91900}).graph) == Words{"matmul", "matmul"});
}

// ---- every graph (docs/how-it-works.md, "Rules of every graph")

TEST_CASE("Every graph obeys cuDNN's rules for tensors", "[builders]") {
  for (const CudnnVersion version : std::initializer_list<CudnnVersion>{90900, 91900, 92200}) {
    for (const std::string& members : every_feature()) {
      INFO(members << " " << version);
      const OpGraph graph = graph_of(members, version);
      std::map<Uid, int> writers, readers;
      for (const auto* list : {&graph.operations, &graph.score_operations})
        for (const auto& op : *list)
          for (const auto& port : ports(op)) {
            ++(port.is_output ? writers : readers)[port.uid];
            if (const auto offset = tensor(graph, port.uid).ragged_offset) ++readers[*offset];
          }
      std::set<Uid> uids;
      for (const auto& t : graph.tensors) {
        INFO(t.uid << " " << t.name);
        CHECK(t.uid > 0);
        CHECK(uids.insert(t.uid).second);
        CHECK(t.dims.size() == 4);
        CHECK(t.strides.size() == 4);
        CHECK(*std::min_element(t.dims.begin(), t.dims.end()) > 0);
        CHECK(t.alignment == 16);
        CHECK(writers[t.uid] + readers[t.uid] > 0);
        // The scores that a softmax inside the unified operation reads are its own.
        if (t.is_virtual && t.name != "softmax in") CHECK(writers[t.uid] == 1);
        if (!t.is_virtual) CHECK(writers[t.uid] <= (is_result(t.name) ? 1 : 0));
        CHECK_FALSE((t.is_virtual && t.by_value));
        // Every external tensor has a role: lib/run fills it accordingly.
        if (!t.is_virtual && !t.by_value) CHECK(t.role != Role::none);
        CHECK(t.by_value == t.value.has_value());
        if (t.by_value) CHECK(t.dims == Dims{1, 1, 1, 1});
        if (t.ragged_offset) {
          const Tensor& offset = tensor(graph, *t.ragged_offset);
          CHECK(offset.dims == Dims{3, 1, 1, 1});  // batch + 1
          CHECK_FALSE(offset.is_virtual);
        }
      }
    }
  }
}

TEST_CASE("Every operation reads only results of earlier operations", "[builders]") {
  for (const CudnnVersion version : std::initializer_list<CudnnVersion>{90900, 91900, 92200}) {
    for (const std::string& members : every_feature()) {
      INFO(members << " " << version);
      const OpGraph graph = graph_of(members, version);
      std::set<Uid> written;
      auto walk = [&](const std::vector<Operation>& list) {
        for (const auto& op : list) {
          for (const auto& port : ports(op))
            if (!port.is_output && tensor(graph, port.uid).is_virtual && port.name != "softmax_x" &&
                port.name != "score_output") {
              INFO(operation_name(op) << " " << port.name);
              CHECK(written.count(port.uid) == 1);
            }
          for (const auto& port : ports(op))
            if (port.is_output) CHECK(written.insert(port.uid).second);
        }
      };
      // The unified operation passes its scores to the sub-graph, which returns them.
      walk(graph.operations);
      walk(graph.score_operations);
      for (const auto& op : graph.operations)
        for (const auto& port : ports(op))
          if (port.name == "score_output") CHECK(written.count(port.uid) == 1);
      CHECK(graph.score_operations.empty() ==
            (ports_text(graph.operations.back()).find("score_output") == std::string::npos));
    }
  }
}

TEST_CASE("Q, V and O follow the spec", "[builders]") {
  const OpGraph graph = composite();
  CHECK(named_tensor(graph, "Q").dims == Dims{2, 6, 5, 16});
  CHECK(named_tensor(graph, "Q").strides == Dims{480, 16, 96, 1});
  CHECK(named_tensor(graph, "V").dims == Dims{2, 3, 7, 8});
  CHECK(named_tensor(graph, "V").strides == Dims{168, 8, 24, 1});
  CHECK(named_tensor(graph, "O").dims == Dims{2, 6, 5, 8});
  CHECK(named_tensor(graph, "O").strides == Dims{240, 8, 48, 1});
}

TEST_CASE("K is transposed by strides for matmuls, but not for the unified operation", "[builders]") {
  for (const Pattern pattern : {Pattern::sdpa_composite, Pattern::mha, Pattern::two_matmul}) {
    const OpGraph graph = build::build_graph(spec_of(pattern), {91900}).graph;
    CHECK(named_tensor(graph, "K^T").dims == Dims{2, 3, 16, 7});
    CHECK(named_tensor(graph, "K^T").strides == Dims{336, 16, 1, 48});
  }
  const OpGraph graph = build::build_graph(spec_of(Pattern::sdpa_unified), {91900}).graph;
  CHECK(named_tensor(graph, "K").dims == Dims{2, 3, 7, 16});
  CHECK(named_tensor(graph, "K").strides == Dims{336, 16, 48, 1});
}

TEST_CASE("O has its own type", "[builders]") {
  AttentionSpec spec = spec_of();
  spec.o_dtype = DataType::f32;
  const OpGraph graph = build::build_graph(spec, {91900}).graph;
  CHECK(named_tensor(graph, "O").data_type == DataType::f32);
  CHECK(named_tensor(graph, "Q").data_type == DataType::f16);
}

TEST_CASE("Scores are virtual f32, and P has the io type", "[builders]") {
  AttentionSpec spec = spec_of();
  spec.dtype = DataType::bf16;
  const OpGraph graph = build::build_graph(spec, {91900}).graph;
  const Tensor& s = named_tensor(graph, "S");
  CHECK(s.is_virtual);
  CHECK(s.data_type == DataType::f32);
  CHECK(s.dims == Dims{2, 6, 5, 7});
  CHECK(s.strides == Dims{210, 35, 7, 1});
  const Tensor& p = named_tensor(graph, "P");
  CHECK(p.is_virtual);
  CHECK(p.data_type == DataType::bf16);
  CHECK(operation<Matmul>(graph, count(graph) - 1).a == p.uid);
}

TEST_CASE("Statistics are virtual for inference and real for training", "[builders]") {
  AttentionSpec spec = spec_of();
  CHECK(named_tensor(build::build_graph(spec, {91900}).graph, "Stats").is_virtual);
  spec.pass = Pass::fprop_train;
  const OpGraph graph = build::build_graph(spec, {91900}).graph;
  const Tensor& stats = named_tensor(graph, "Stats");
  CHECK_FALSE(stats.is_virtual);
  CHECK(stats.data_type == DataType::f32);
  CHECK(stats.dims == Dims{2, 6, 5, 1});
  CHECK(stats.strides == Dims{30, 5, 1, 1});
}

TEST_CASE("The unified operation has statistics for training only", "[builders]") {
  AttentionSpec spec = spec_of(Pattern::sdpa_unified);
  CHECK_FALSE(has_tensor(build::build_graph(spec, {91900}).graph, "Stats"));
  spec.pass = Pass::fprop_train;
  const OpGraph graph = build::build_graph(spec, {91900}).graph;
  CHECK(operation<SdpaForward>(graph, 0).stats == named_tensor(graph, "Stats").uid);
  CHECK_FALSE(named_tensor(graph, "Stats").is_virtual);
}

TEST_CASE("Sequence lengths are INT32, one per batch entry, and bound both matmuls", "[builders]") {
  for (const OpGraph& graph : {composite(named("padding")), mha("padding")}) {
    const Tensor &q = named_tensor(graph, "seq_len_q"), &kv = named_tensor(graph, "seq_len_kv");
    for (const Tensor& t : {q, kv}) {
      CHECK(t.data_type == DataType::i32);
      CHECK(t.dims == Dims{2, 1, 1, 1});
      CHECK(t.strides == Dims{1, 1, 1, 1});
      CHECK_FALSE(t.is_virtual);
      CHECK_FALSE(t.by_value);
    }
    std::vector<Matmul> matmuls;
    for (const auto& op : graph.operations)
      if (const auto* matmul = std::get_if<Matmul>(&op)) matmuls.push_back(*matmul);
    REQUIRE(matmuls.size() == 2);
    CHECK(matmuls[0].m_override == q.uid);
    CHECK(matmuls[0].n_override == kv.uid);
    CHECK_FALSE(matmuls[0].k_override);
    CHECK(matmuls[1].m_override == q.uid);
    CHECK_FALSE(matmuls[1].n_override);
    CHECK(matmuls[1].k_override == kv.uid);
  }
  CHECK_FALSE(has_tensor(composite(named("causal")), "seq_len_q"));
}

TEST_CASE("The unified operation reads the sequence lengths itself", "[builders]") {
  AttentionSpec spec = spec_of(Pattern::sdpa_unified);
  spec.mask = named("padding");
  const OpGraph graph = build::build_graph(spec, {91900}).graph;
  CHECK(operation<SdpaForward>(graph, 0).seq_len_q == named_tensor(graph, "seq_len_q").uid);
  CHECK(operation<SdpaForward>(graph, 0).seq_len_kv == named_tensor(graph, "seq_len_kv").uid);
}

TEST_CASE("Bare matmuls and legacy P are 16-bit in F16x16 reordering", "[builders]") {
  const OpGraph bare = build::build_graph(spec_of(Pattern::two_matmul), {91900}).graph;
  CHECK(named_tensor(bare, "S").data_type == DataType::f16);
  CHECK(named_tensor(bare, "S").reordering == Reordering::F16x16);
  CHECK(named_tensor(bare, "S").is_virtual);
  CHECK(named_tensor(mha("none"), "P").data_type == DataType::f16);
  CHECK(named_tensor(mha("none"), "P").reordering == Reordering::F16x16);
  CHECK(named_tensor(composite(), "P").reordering == Reordering::NONE);
}

// ---- features, forward (docs/how-it-works.md, "Composite, forward" to "Legacy pattern")

// cudnn-frontend 1.32, node/softmax.h and node/reduction.h; its own log with cuDNN 9.20 shows these dimensions.
TEST_CASE("The maximum before a sink has the scores' dimensions, as in cudnn-frontend", "[builders][features]") {
  const auto maximum = [](const OpGraph& graph) {
    for (const auto& operation : graph.operations)
      if (const auto* reduction = std::get_if<graph::Reduction>(&operation))
        return std::pair(tensor(graph, reduction->x), tensor(graph, reduction->y));
    throw std::runtime_error("no reduction");
  };
  const OpGraph graph = graph_of(R"("sink": true)");
  const auto [scores, largest] = maximum(graph);
  const auto& dims = scores.dims;
  CHECK(largest.dims == dims);
  CHECK(largest.strides == std::vector<int64_t>{dims[1] * dims[3] * dims[2], 1, dims[1] * dims[3], dims[1]});
  // The reference reduces to a number a row.
  CHECK(maximum(build::expand(graph)).second.dims == std::vector<int64_t>{dims[0], dims[1], dims[2], 1});
}

TEST_CASE("Each feature adds its own operations to the composite graph", "[builders][features]") {
  const std::pair<const char*, size_t> counts[] = {
      {"", 10},
      {R"("scale": "none")", 9},
      {R"("scale": "tensor")", 10},
      {R"("stats": true)", 10},
      {R"("max_logit": true)", 8},
      {R"("sum_exp": true)", 8},
      {R"("max_logit": true, "sum_exp": true)", 8},
      {R"("max_logit": true, "stats": true)", 10},
      {R"("bias": "1hss")", 11},
      {R"("alibi": true)", 15},
      {R"("alibi": true, "mask": "causal")", 19},
      {R"("softcap": 30)", 13},
      {R"("sink": true)", 14},
      {R"("sink": true, "max_logit": true, "sum_exp": true)", 12},
      {R"("dropout": 0.5)", 13},
      {R"("dropout": {"probability": 0.5, "dump": true})", 13},
      {R"("dropout": {"probability": 0.5, "form": "mask"})", 12},
      {R"("layout": "thd")", 10},
      {R"("layout": "thd", "mask": "padding")", 16},
      {R"("paged": 4)", 12},
      {R"("paged": {"block_size": 4, "v": false})", 11},
      {R"("paged": {"block_size": 4, "k": false}, "mask": "padding")", 17},
      {R"("dtype": "fp8_e4m3")", 18},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16")", 18},
      {R"("dtype": "fp8_e4m3", "mask": "padding_causal", "sink": true)", 32},
      {R"("dtype": "fp8_e4m3", "dropout": 0.5)", 21},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8")", 14},
      {R"("dtype": "f32")", 10},
      {R"("score_mod": "causal")", 14},
      {R"("score_mod": "arrow")", 21},
      {R"("score_mod": "document")", 16},
      {R"("score_mod": "relative_position")", 14},
      {R"("score_mod": "mask_i32")", 11},
      {R"("score_mod": "relu", "softcap": 30)", 14},
      {R"("pattern": "mha", "scale": "none")", 7},
      {R"("pattern": "mha", "bias": "1hss")", 9},
      {R"("pattern": "mha", "pass": "fprop_train")", 8},
      {R"("pattern": "mha", "dropout": 0.5, "pass": "fprop_train")", 11},
      {R"("pattern": "mha", "softmax": false)", 3},
      {R"("pattern": "mha", "softmax": false, "bias": "1hss", "mask": "padding")", 10}};
  for (const auto& [members, operations] : counts) {
    INFO(members);
    CHECK(count(graph_of(members)) == operations);
  }
  for (const char* kind : {"head_factor", "score_factor", "mask_boolean", "mask_i8", "relu", "tanh", "sigmoid", "gelu",
                           "swish", "abs", "sqrt", "sin", "exp", "pow", "max"}) {
    INFO(kind);
    CHECK(count(graph_of(R"("score_mod": ")" + std::string(kind) + "\"")) == 11);
  }
}

TEST_CASE("Operations of a feature come in cudnn-frontend's order", "[builders][features]") {
  const std::pair<const char*, Words> cases[] = {
      {R"("scale": "none", "softcap": 30, "bias": "1hss", "alibi": true)",
       {"matmul", "div", "tanh_fwd", "mul", "add", "gen_index", "gen_index", "sub", "mul", "add", "reduce_max", "sub",
        "exp", "reduce_add", "log", "add", "div", "matmul"}},
      {R"("sink": true)",
       {"matmul", "mul", "reduce_max", "max", "sub", "exp", "sub", "exp", "reduce_add", "add", "log", "add", "div",
        "matmul"}},
      {R"("max_logit": true, "sum_exp": true)",
       {"matmul", "mul", "reduce_max", "sub", "exp", "reduce_add", "div", "matmul"}},
      {R"("dropout": 0.5)",
       {"matmul", "mul", "reduce_max", "sub", "exp", "reduce_add", "log", "add", "div", "rng", "mul", "mul", "matmul"}},
      {R"("paged": 4)",
       {"paged_cache_load", "matmul", "mul", "reduce_max", "sub", "exp", "reduce_add", "log", "add", "div",
        "paged_cache_load", "matmul"}},
      {R"("dtype": "fp8_e4m3")",
       {"matmul", "mul", "mul", "mul", "reduce_max", "sub", "exp", "reduce_add", "log", "add", "div", "reduce_amax",
        "mul", "matmul", "mul", "mul", "mul", "reduce_amax"}},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8")",
       {"block_scale_dequantize", "block_scale_dequantize", "matmul", "mul", "reduce_max", "sub", "exp", "reduce_add",
        "log", "add", "div", "block_scale_dequantize", "matmul", "reduce_amax"}},
      {R"("score_mod": "arrow", "scale": "none", "max_logit": true)",
       {"matmul", "gen_index", "gen_index", "cmp_lt", "cmp_lt", "sub", "cmp_ge", "cmp_le", "logical_and", "logical_or",
        "logical_or", "binary_select", "reduce_max", "sub", "exp", "reduce_add", "div", "matmul"}},
      {R"("pattern": "mha", "bias": "1hss", "mask": "causal", "dropout": 0.5)",
       {"mul", "matmul", "add", "gen_index", "gen_index", "cmp_ge", "binary_select", "reduce_max", "sub", "exp",
        "reduce_add", "div", "rng", "mul", "mul", "matmul"}}};
  for (const auto& [members, words] : cases) {
    INFO(members);
    CHECK(operations(graph_of(members)) == words);
  }
}

TEST_CASE("From 9.21 softmax and diagonals are one operation each", "[builders][features]") {
  const std::pair<const char*, Words> cases[] = {
      {"", {"matmul", "mul", "softmax", "matmul"}},
      {R"("mask": "causal")", {"matmul", "mul", "diagonal_band_mask", "softmax", "matmul"}},
      {R"("mask": {"window_left": 2, "window_right": 1})",
       {"matmul", "mul", "diagonal_band_mask", "diagonal_band_mask", "softmax", "matmul"}},
      {R"("mask": "padding_causal", "sink": true)",
       {"matmul", "mul", "gen_index", "gen_index", "cmp_lt", "cmp_lt", "logical_and", "binary_select",
        "diagonal_band_mask", "softmax", "matmul"}},
      {R"("dropout": 0.5)", {"matmul", "mul", "softmax", "rng", "mul", "mul", "matmul"}}};
  for (const auto& [members, words] : cases) {
    INFO(members);
    CHECK(operations(graph_of(members, 92100)) == words);
    const Words older = operations(graph_of(members, 92099));
    CHECK(std::count(older.begin(), older.end(), "softmax") == 0);
    CHECK(std::count(older.begin(), older.end(), "diagonal_band_mask") == 0);
  }
}

TEST_CASE("The softmax operation has the requested outputs", "[builders][features]") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "x y!"},
      {R"("stats": true)", "x y! stats!"},
      {R"("sink": true)", "x sink y!"},
      {R"("max_logit": true)", "x y! max!"},
      {R"("stats": true, "max_logit": true, "sum_exp": true, "sink": true)", "x sink y! stats! max! sum_exp!"}};
  for (const auto& [members, expected] : cases) {
    const OpGraph graph = graph_of(members, 92100);
    CHECK(ports_text(graph.operations.at(2)) == expected);
    CHECK(operation<Softmax>(graph, 2).y == named_tensor(graph, "P").uid);
    for (const char* name : {"Stats", "Max", "Sum_exp"})
      if (has_tensor(graph, name)) CHECK(text(graph, name) == "f32 2x6x5x1 30,5,1,1");
  }
}

TEST_CASE("A diagonal operation has a bound or the lengths, as in cudnn-frontend", "[builders][features]") {
  struct Case {
    const char* mask;
    size_t index;
    PointwiseMode comparison;
    const char *ports, *bound;
  };
  // In "bound": name and description of the by-value scalars among the ports, except the fill value.
  const Case cases[] = {
      {R"("causal")", 2, PointwiseMode::CMP_GE, "x fill y!", ""},
      {R"({"window_right": 2})", 2, PointwiseMode::CMP_GE, "x fill shift_right_bound y!",
       "right_bound i32 1x1x1x1 1,1,1,1 = 2;"},
      {R"("causal_bottom_right")", 2, PointwiseMode::CMP_GE, "x fill seq_len_q seq_len_kv y!",
       "seqlen_q i32 1x1x1x1 1,1,1,1 = 5;seqlen_kv i32 1x1x1x1 1,1,1,1 = 7;"},
      {R"("padding_causal_bottom_right")", 8, PointwiseMode::CMP_GE, "x fill seq_len_q seq_len_kv y!", ""},
      {R"({"window_left": 3})", 2, PointwiseMode::CMP_GT, "x fill left_bound y!",
       "left_bound f32 1x1x1x1 1,1,1,1 = 4;"},
      {R"({"window_left": 3, "window_right": 0})", 3, PointwiseMode::CMP_GT, "x fill left_bound y!",
       "left_bound f32 1x1x1x1 1,1,1,1 = 4;"},
      {R"({"window_left": 3, "alignment": "bottom_right"})", 2, PointwiseMode::CMP_GT, "x fill left_bound y!",
       "left_bound f32 1x1x1x1 1,1,1,1 = 2;"},
      {R"({"window_left": 3, "alignment": "bottom_right", "padding": true})", 8, PointwiseMode::CMP_GT,
       "x fill seq_len_q seq_len_kv left_bound y!", "left_bound i32 1x1x1x1 1,1,1,1 = 4;"}};
  for (const auto& [mask, index, comparison, expected_ports, bound] : cases) {
    INFO(mask);
    const OpGraph graph = graph_of(R"("mask": )" + std::string(mask), 92100);
    const auto& op = operation<DiagonalBandMask>(graph, index);
    CHECK(op.comparison == comparison);
    CHECK(ports_text(op) == expected_ports);
    std::string found;
    for (const auto& port : ports(Operation(op))) {
      const Tensor& t = tensor(graph, port.uid);
      if (t.by_value && port.name != "fill") found += t.name + " " + text(graph, t.name) + ";";
    }
    CHECK(found == bound);
    CHECK(text(graph, "fill") == "f32 1x1x1x1 1,1,1,1 = -inf");
    CHECK(tensor(graph, op.fill).name == "fill");
    if (op.seq_len_q && bound[0] != 's') CHECK(*op.seq_len_q == named_tensor(graph, "seq_len_q").uid);
    if (op.seq_len_kv && bound[0] != 's') CHECK(*op.seq_len_kv == named_tensor(graph, "seq_len_kv").uid);
  }
}

TEST_CASE("The unified operation has a port for each feature", "[builders][features]") {
  struct Case {
    const char* members;
    CudnnVersion version;
    const char* ports;
    Words score_operations;
  };
  const Case cases[] = {
      {"", 91900, "q k v scale o!", {}},
      {"", 92100, "q k v scale o!", {}},
      {R"("scale": "none")", 91900, "q k v o!", {}},
      {R"("stats": true)", 91900, "q k v scale o! stats!", {}},
      {R"("stats": true)", 92100, "q k v scale softmax_x o! stats! softmax_y!", {}},
      {R"("mask": "padding")", 91900, "q k v scale seq_len_q seq_len_kv o!", {}},
      {R"("block_mask": true)", 91900, "q k v scale block_mask o!", {}},
      {R"("paged": 4)", 91900, "q k v scale seq_len_q seq_len_kv page_table_k page_table_v o!", {}},
      {R"("paged": {"k": false})", 91900, "q k v scale seq_len_q seq_len_kv page_table_v o!", {}},
      {R"("paged": {"v": false})", 91900, "q k v scale seq_len_q seq_len_kv page_table_k o!", {}},
      {R"("sink": true)", 91900, "q k v scale sink softmax_x o! softmax_y!", {}},
      {R"("max_logit": true)", 92100, "q k v scale softmax_x o! max! softmax_y!", {}},
      {R"("sum_exp": true, "stats": true)", 92100, "q k v scale softmax_x o! stats! sum_exp! softmax_y!", {}},
      {R"("dropout": 0.25)", 92200, "q k v scale seed offset o!", {}},
      {R"("dropout": {"probability": 0.25, "dump": true})", 92200, "q k v scale seed offset o! rng_dump!", {}},
      {R"("mask": "causal")", 92100, "q k v scale score_output o! score_input!", {"diagonal_band_mask"}},
      // An older cuDNN is also asked with the newer operations, and names those that it lacks.
      {R"("mask": "padding_causal")",
       91900,
       "q k v scale seq_len_q seq_len_kv score_output o! score_input!",
       {"diagonal_band_mask"}},
      {R"("softcap": 30, "bias": "1hss", "alibi": true, "mask": {"window_left": 2, "window_right": 1})",
       92100,
       "q k v scale score_output o! score_input!",
       {"div", "tanh_fwd", "mul", "add", "gen_index", "gen_index", "sub", "mul", "add", "diagonal_band_mask",
        "diagonal_band_mask"}},
      {R"("score_mod": "relative_position")",
       92100,
       "q k v scale score_output o! score_input!",
       {"gen_index", "gen_index", "sub", "add"}}};
  for (const auto& [members, version, expected_ports, score_operations] : cases) {
    INFO(members << " " << version);
    const OpGraph graph =
        graph_of(R"("pattern": "sdpa_unified")" + (*members ? ", " + std::string(members) : ""), version);
    REQUIRE(operations(graph) == Words{"sdpa_forward"});
    CHECK(ports_text(graph.operations[0]) == expected_ports);
    CHECK(names_of_operations(graph.score_operations) == score_operations);
    const auto& op = operation<SdpaForward>(graph, 0);
    if (score_operations.empty()) continue;
    // From the scores that the operation passes to its sub-graph to those that it gets back.
    CHECK(ports(graph.score_operations.front()).front().uid == *op.score_input);
    CHECK(ports(graph.score_operations.back()).back().uid == *op.score_output);
    CHECK(tensor(graph, *op.score_input).dims == Dims{2, 6, 5, 7});
    CHECK(tensor(graph, *op.score_output).is_virtual);
  }
  CHECK(operation<SdpaForward>(graph_of(R"("pattern": "sdpa_unified", "dropout": 0.25)"), 0).dropout_probability ==
        0.25);  // the probability of being dropped
}

TEST_CASE("Tensors of features have cuDNN's shapes, strides and types", "[builders][features]") {
  struct Case {
    const char *members, *tensor, *expected;
  };
  const Case cases[] = {
      // ragged
      {R"("layout": "thd")", "Q", "f16 2x6x5x16 480,16,96,1 at offsets of Q"},
      {R"("layout": "thd")", "K^T", "f16 2x3x16x7 336,16,1,48 at offsets of K"},
      {R"("layout": "thd")", "V", "f16 2x3x7x8 168,8,24,1 at offsets of V"},
      {R"("layout": "thd")", "O", "f16 2x6x5x8 240,8,48,1 at offsets of O"},
      {R"("layout": "thd")", "offsets of Q", "i32 3x1x1x1 1,1,1,1"},
      {R"("layout": "thd", "ragged_offsets": "i64")", "offsets of V", "i64 3x1x1x1 1,1,1,1"},
      {R"("layout": "thd", "stats": true)", "Stats", "f32 2x6x5x1 30,1,6,1 at offsets of Stats"},
      {R"("layout": "thd", "stats": true, "ragged_offsets": "i64")", "offsets of Stats", "i64 3x1x1x1 1,1,1,1"},
      {R"("layout": "thd", "stats": true, "ragged_stats": false)", "Stats", "f32 2x6x5x1 30,5,1,1"},
      {R"("layout": "thd", "max_logit": true)", "row_max", "f32 2x6x5x1 30,1,6,1 at offsets of Stats"},
      {R"("layout": "thd", "sum_exp": true, "max_logit": true)", "row_sum", "f32 2x6x5x1 30,1,6,1 at offsets of Stats"},
      {R"("layout": "thd_bshd_bshd", "stats": true)", "K^T", "f16 2x3x16x7 336,16,1,48"},
      {R"("layout": "thd_bshd_bshd", "stats": true)", "Stats", "f32 2x6x5x1 30,1,6,1 at offsets of Stats"},
      {R"("layout": {"q": "bshd", "k": "thd", "v": "thd"}, "stats": true)", "Stats", "f32 2x6x5x1 30,5,1,1"},
      {R"("layout": {"q": "bshd", "k": "thd", "v": "thd"}, "stats": true)", "O", "f16 2x6x5x8 240,8,48,1"},
      {R"("layout": "thd", "pattern": "sdpa_unified")", "K", "f16 2x3x7x16 336,16,48,1 at offsets of K"},
      // row outputs
      {R"("max_logit": true)", "row_max", "f32 2x6x5x1 30,5,1,1"},
      {R"("max_logit": true)", "row_sum", "f32 2x6x5x1 30,5,1,1 virtual"},
      {R"("sum_exp": true)", "row_max", "f32 2x6x5x1 30,5,1,1 virtual"},
      {R"("sum_exp": true)", "row_sum", "f32 2x6x5x1 30,5,1,1"},
      // paged: 2 blocks of 4 tokens for each of 2 sequences
      {R"("paged": 4)", "K container", "f16 4x3x4x16 192,64,16,1"},
      {R"("paged": {"block_size": 4, "layout": "bshd"})", "K container", "f16 4x3x4x16 192,16,48,1"},
      {R"("paged": {"block_size": 4, "layout": "sbhd"})", "K container", "f16 4x3x4x16 48,16,192,1"},
      {R"("paged": 4)", "V container", "f16 4x3x4x8 96,32,8,1"},
      {R"("paged": 4, "heads_v": 2)", "V container", "f16 4x2x4x8 64,32,8,1"},
      {R"("paged": 4)", "K^T", "f16 2x3x16x7 336,112,1,16 virtual"},
      {R"("paged": 4)", "V", "f16 2x3x7x8 168,56,8,1 virtual"},
      {R"("paged": {"block_size": 4, "v": false})", "V", "f16 2x3x7x8 168,8,24,1"},
      {R"("paged": {"block_size": 4, "k": false})", "K^T", "f16 2x3x16x7 336,16,1,48"},
      {R"("paged": 4)", "page table of K", "i32 2x1x2x1 2,2,1,1"},
      {R"("paged": 1)", "page table of V", "i32 2x1x7x1 7,7,1,1"},
      {R"("paged": {"block_size": 4, "packed_table": true})", "page table of K",
       "i32 2x1x2x1 2,2,1,1 at offsets of page table of K"},
      {R"("paged": {"block_size": 4, "packed_table": true})", "offsets of page table of V", "i32 3x1x1x1 1,1,1,1"},
      {R"("paged": 4)", "seq_len_kv", "i32 2x1x1x1 1,1,1,1"},
      {R"("paged": 4, "layout": "thd")", "Q", "f16 2x6x5x16 480,16,96,1 at offsets of Q"},
      {R"("paged": 4, "pattern": "sdpa_unified")", "K container", "f16 4x3x4x16 192,64,16,1"},
      // per head
      {R"("alibi": true)", "ALiBi slopes", "f32 1x6x1x1 6,1,1,1"},
      {R"("sink": true)", "sink", "f32 1x6x1x1 6,1,1,1"},
      {R"("sink": true, "pattern": "sdpa_unified")", "sink", "f32 1x6x1x1 6,1,1,1"},
      {R"("score_mod": "head_factor")", "head factors", "f32 1x6x1x1 6,1,1,1"},
      // of the scores
      {R"("bias": "bhss")", "bias", "f16 2x6x5x7 210,35,7,1"},
      {R"("bias": "1hss", "dtype": "bf16")", "bias", "bf16 1x6x5x7 210,35,7,1"},
      {R"("bias": {"shape": "11ss", "dtype": "f32"})", "bias", "f32 1x1x5x7 35,35,7,1"},
      {R"("bias": "b11s")", "bias", "f16 2x1x1x7 7,7,7,1"},
      {R"("score_mod": "score_factor")", "score factors", "f16 2x6x5x7 210,35,7,1"},
      {R"("score_mod": "mask_i32")", "mask", "i32 2x1x5x7 35,35,7,1"},
      {R"("score_mod": "mask_boolean")", "mask", "boolean 2x1x5x7 35,35,7,1"},
      {R"("score_mod": "mask_i8")", "mask", "i8 2x1x5x7 35,35,7,1"},
      {R"("score_mod": "document")", "documents of Q", "i32 1x1x5x1 5,5,1,1"},
      {R"("score_mod": "document")", "documents of K", "i32 1x1x1x7 7,7,7,1"},
      // one bit per tile of 128x128: 3 rows of 11 tiles are 3 times 2 bytes
      {R"("pattern": "sdpa_unified", "block_mask": true)", "block mask", "u8 2x6x1x1 6,1,1,1"},
      {R"("pattern": "sdpa_unified", "block_mask": true, "seqlen_q": 300, "seqlen_kv": 1300)", "block mask",
       "u8 2x6x3x2 36,6,2,1"},
      // scale
      {R"("scale": 0.5)", "scale", "f32 1x1x1x1 1,1,1,1 = 0.5"},
      {R"("scale": "tensor")", "scale", "f32 1x1x1x1 1,1,1,1"},
      {R"("scale": "tensor", "pattern": "mha")", "scale", "f16 1x1x1x1 1,1,1,1"},
      {R"("scale": 0.5, "pattern": "mha", "dtype": "bf16")", "scale", "bf16 1x1x1x1 1,1,1,1 = 0.5"},
      {R"("softcap": 30)", "softcap", "f32 1x1x1x1 1,1,1,1 = 30"},
      // dropout
      {R"("dropout": 0.5)", "dropout mask", "f32 2x6x5x7 210,35,7,1 virtual"},
      {R"("dropout": {"probability": 0.5, "dump": true})", "dropout mask", "f32 2x6x5x7 210,35,7,1"},
      {R"("dropout": {"probability": 0.5, "form": "mask"}, "dtype": "bf16")", "dropout mask",
       "bf16 2x6x5x7 210,35,7,1"},
      {R"("dropout": 0.75)", "dropout scale", "f32 1x1x1x1 1,1,1,1 = 4"},
      {R"("dropout": {"probability": 0.5, "form": "mask"})", "dropout scale", "f32 1x1x1x1 1,1,1,1"},
      {R"("dropout": 0.5)", "seed", "i64 1x1x1x1 1,1,1,1"},
      {R"("dropout": 0.5)", "offset", "i64 1x1x1x1 1,1,1,1"},
      {R"("dropout": {"probability": 0.5, "seed": "i32"})", "seed", "i32 1x1x1x1 1,1,1,1"},
      {R"("dropout": {"probability": 0.5, "seed": "i32"})", "offset", "i32 1x1x1x1 1,1,1,1"},
      {R"("pattern": "sdpa_unified", "dropout": {"probability": 0.5, "dump": true})", "dropout mask",
       "f32 2x6x5x7 210,35,7,1"},
      // P ends in the io type, after any last operation
      {"", "P", "f16 2x6x5x7 210,35,7,1 virtual"},
      {R"("dropout": 0.5)", "P", "f32 2x6x5x7 210,35,7,1 virtual"},
      {R"("dtype": "fp8_e4m3")", "P", "f32 2x6x5x7 210,35,7,1 virtual"},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8")", "P", "fp8_e4m3 2x6x5x7 210,35,7,1 virtual"},
      // fp8
      {R"("dtype": "fp8_e5m2")", "Q", "fp8_e5m2 2x6x5x16 480,16,96,1"},
      {R"("dtype": "fp8_e4m3")", "O", "fp8_e4m3 2x6x5x8 240,8,48,1"},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16")", "O", "bf16 2x6x5x8 240,8,48,1"},
      {R"("dtype": "fp8_e4m3")", "descale Q", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3")", "scale S", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3")", "descale S", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3")", "scale O", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16")", "scale O", "f32 1x1x1x1 1,1,1,1 = 1"},
      {R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "delayed")", "scale O", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3")", "amax S", "f32 1x1x1x1 1,1,1,1"},
      {R"("dtype": "fp8_e4m3")", "amax O", "f32 1x1x1x1 1,1,1,1"},
      // legacy
      {R"("pattern": "mha")", "P", "f16 2x6x5x7 210,35,7,1 virtual F16x16"},
      {R"("pattern": "mha", "pass": "fprop_train")", "P", "f16 2x6x5x7 210,35,7,1 F16x16"},
      {R"("pattern": "mha", "dropout": 0.5)", "P", "f32 2x6x5x7 210,35,7,1 virtual F16x16"},
      {R"("pattern": "mha", "dropout": 0.5)", "S output", "f16 2x6x5x7 210,35,7,1 F16x16"},
      // By value for any origin of the mask, because cuDNN would treat a tensor as a mask.
      {R"("pattern": "mha", "dropout": 0.5)", "dropout scale", "f16 1x1x1x1 1,1,1,1 = 2"},
      {R"("pattern": "mha", "dropout": {"probability": 0.5, "form": "mask"})", "dropout scale",
       "f16 1x1x1x1 1,1,1,1 = 2"},
      {R"("pattern": "mha", "dropout": {"probability": 0.5, "form": "mask"})", "dropout mask",
       "f16 2x6x5x7 210,35,7,1"},
      {R"("pattern": "mha", "softmax": false)", "S", "f16 2x6x5x7 210,35,7,1 virtual F16x16"},
      {R"("pattern": "mha", "softmax": false, "mask": "causal")", "S", "f32 2x6x5x7 210,35,7,1 virtual"},
      {R"("pattern": "mha", "softmax": false, "mask": "causal")", "masked", "f16 2x6x5x7 210,35,7,1 virtual F16x16"},
      {R"("pattern": "mha", "mask": "causal")", "fill", "f32 1x1x1x1 1,1,1,1 = -1e+30"}};
  for (const auto& [members, name, expected] : cases) {
    INFO(members << " " << name);
    CHECK(text(graph_of(members), name) == expected);
  }
}

TEST_CASE("MXFP8 scales are padded to tiles of 128x4 and have the layout of their tensor", "[builders][features]") {
  // b 2, h 6/3, s 200/300, d 160/136. Blocks of 32 along d: 5 for Q and K, padded to 8. Along s: 10 for V, padded to
  // 12. The other axis is padded to a multiple of 128. Source: cudnn-frontend's samples/cpp/sdpa/mxfp8_fwd.cpp.
  const OpGraph graph = graph_of(
      R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8", "seqlen_q": 200, "seqlen_kv": 300,
         "head_dim_qk": 160, "head_dim_v": 136)",
      92100);
  CHECK(text(graph, "descale Q") == "fp8_e8m0 2x6x256x8 12288,2048,8,1 F8_128x4");
  CHECK(text(graph, "descale K^T") == "fp8_e8m0 2x3x8x384 9216,3072,1,8 F8_128x4");
  CHECK(text(graph, "descale V") == "fp8_e8m0 2x3x12x256 9216,3072,256,1 F8_128x4");
  CHECK(text(graph, "K^T") == "fp8_e4m3 2x3x160x300 144000,160,1,480");
  CHECK(text(graph, "dequantized K") == "f32 2x3x160x300 144000,160,1,480 virtual");
  CHECK(text(graph, "dequantized Q") == "f32 2x6x200x160 192000,160,960,1 virtual");
  CHECK(text(graph, "amax O") == "f32 1x1x1x1 1,1,1,1");
  CHECK_FALSE(has_tensor(graph, "scale S"));
  for (const auto& op : graph.operations) {
    const auto* dequantize = std::get_if<BlockScaleDequantize>(&op);
    if (dequantize == nullptr) continue;
    CHECK(dequantize->block_size == Dims{1, 32});
    CHECK(dequantize->compute == DataType::f32);
    CHECK_FALSE(dequantize->negative_scale);
  }
}

TEST_CASE("Dropout keeps a value with probability 1 - p and scales after a generated or before a given mask",
          "[builders][features]") {
  const OpGraph drawn = graph_of(R"("dropout": 0.75)");
  const auto& rng = operation<Rng>(drawn, 9);
  CHECK(rng.distribution == RngDistribution::BERNOULLI);
  CHECK(rng.probability == 0.25);
  CHECK_FALSE(rng.constant_seed);
  CHECK(rng.seed == named_tensor(drawn, "seed").uid);
  CHECK(rng.offset == named_tensor(drawn, "offset").uid);
  CHECK(operation<Pointwise>(drawn, 10).x == named_tensor(drawn, "P").uid);
  CHECK(operation<Pointwise>(drawn, 10).b == rng.y);
  CHECK(operation<Pointwise>(drawn, 11).b == named_tensor(drawn, "dropout scale").uid);
  CHECK(tensor(drawn, *operation<Pointwise>(drawn, 11).y).data_type == DataType::f16);
  const OpGraph given = graph_of(R"("dropout": {"probability": 0.75, "form": "mask"})");
  CHECK(operation<Pointwise>(given, 9).b == named_tensor(given, "dropout scale").uid);
  CHECK(operation<Pointwise>(given, 10).b == named_tensor(given, "dropout mask").uid);
  CHECK(tensor(given, *operation<Pointwise>(given, 10).y).data_type == DataType::f16);
  const OpGraph constant = graph_of(R"("dropout": {"probability": 0.75, "seed": "constant"})");
  CHECK(operation<Rng>(constant, 9).constant_seed.value_or(0) != 0);
  CHECK(ports_text(constant.operations.at(9)) == "y!");
  const OpGraph legacy = graph_of(R"("pattern": "mha", "dropout": 0.75)");
  CHECK(operation<Rng>(legacy, 7).constant_seed.value_or(0) != 0);
  // Mask, S in memory, and then the scale, in the io type.
  CHECK(operation<Pointwise>(legacy, 8).y == named_tensor(legacy, "S output").uid);
  const Tensor& scale = tensor(legacy, *operation<Pointwise>(legacy, 9).b);
  CHECK(scale.value == 4.0);
  CHECK(scale.data_type == DataType::f16);
}

TEST_CASE("A paged cache is loaded with its page table and lengths", "[builders][features]") {
  const OpGraph graph = graph_of(R"("paged": 4)");
  const auto &k = operation<PagedCacheLoad>(graph, 0), &v = operation<PagedCacheLoad>(graph, 10);
  CHECK(k.container == named_tensor(graph, "K container").uid);
  CHECK(k.page_table == named_tensor(graph, "page table of K").uid);
  CHECK(v.container == named_tensor(graph, "V container").uid);
  CHECK(v.page_table == named_tensor(graph, "page table of V").uid);
  for (const auto& load : {k, v}) CHECK(load.sequence == named_tensor(graph, "seq_len_kv").uid);
  CHECK(operation<Matmul>(graph, 1).b == k.y);
  CHECK(operation<Matmul>(graph, 11).b == v.y);
}

TEST_CASE("The fp8 scales are where cudnn-frontend puts them", "[builders][features]") {
  const OpGraph graph = graph_of(R"("dtype": "fp8_e4m3")");
  const std::pair<size_t, const char*> factors[] = {{1, "scale"},    {2, "descale Q"},  {3, "descale K"},
                                                    {12, "scale S"}, {14, "descale S"}, {15, "descale V"},
                                                    {16, "scale O"}};
  for (const auto& [index, name] : factors) {
    INFO(name);
    CHECK(operation<Pointwise>(graph, index).b == named_tensor(graph, name).uid);
  }
  CHECK(operation<Reduction>(graph, 11).x == named_tensor(graph, "P").uid);
  CHECK(operation<Reduction>(graph, 11).y == named_tensor(graph, "amax S").uid);
  CHECK(tensor(graph, *operation<Pointwise>(graph, 12).y).data_type == DataType::fp8_e4m3);
  // The absolute maximum of O is computed before the scale.
  CHECK(operation<Reduction>(graph, 17).x == *operation<Pointwise>(graph, 15).y);
  CHECK(operation<Pointwise>(graph, 16).y == named_tensor(graph, "O").uid);
}

TEST_CASE("A softcap divides, applies tanh and multiplies by one scalar", "[builders][features]") {
  const OpGraph graph = graph_of(R"("softcap": 30)");
  CHECK(operation<Pointwise>(graph, 2).b == named_tensor(graph, "softcap").uid);
  CHECK(operation<Pointwise>(graph, 4).b == named_tensor(graph, "softcap").uid);
  CHECK(operation<Pointwise>(graph, 3).mode == PointwiseMode::TANH_FWD);
}

TEST_CASE("The arrow's comparisons are integers computed as booleans", "[builders][features]") {
  const OpGraph graph = graph_of(R"("score_mod": "arrow")");
  for (const size_t index : {4U, 5U, 7U, 8U, 9U, 10U, 11U}) {
    INFO(index);
    const auto& op = operation<Pointwise>(graph, index);
    CHECK(op.compute == DataType::boolean);
    CHECK(tensor(graph, *op.y).data_type == DataType::i32);
  }
}

// ---- scale and masks (docs/how-it-works.md, "Masks")

TEST_CASE("The scale multiplies the scores, or K in the legacy graph", "[builders]") {
  CHECK(named_tensor(composite(), "scale").value == 0.25);  // 1/sqrt(16)
  CHECK(named_tensor(composite(), "scale").data_type == DataType::f32);
  CHECK(operation<Pointwise>(composite(), 1).x == named_tensor(composite(), "S").uid);
  CHECK(named_tensor(mha("none"), "scale").data_type == DataType::f16);
  CHECK(operation<Pointwise>(mha("none"), 0).x == named_tensor(mha("none"), "K^T").uid);
  AttentionSpec spec = spec_of(Pattern::sdpa_unified);
  spec.scale = 3.0;
  CHECK(named_tensor(build::build_graph(spec, {91900}).graph, "scale").value == 3.0);
}

TEST_CASE("Masked scores are minus infinity from 9.10, and the lowest float before", "[builders]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  CHECK(named_tensor(composite(named("causal"), 91000), "fill").value == -infinity);
  CHECK(named_tensor(composite(named("causal"), 90900), "fill").value == lowest);
  CHECK(named_tensor(composite(named("causal")), "fill").data_type == DataType::f32);
}

TEST_CASE("Padding compares INT32 indices computed in INT32", "[builders]") {
  const OpGraph graph = composite(named("padding"));
  const auto &row = operation<Pointwise>(graph, 2), &column = operation<Pointwise>(graph, 3),
             &less = operation<Pointwise>(graph, 4);
  CHECK(row.axis == 2);
  CHECK(column.axis == 3);
  CHECK(row.compute == DataType::i32);
  CHECK(tensor(graph, *row.y).data_type == DataType::i32);
  CHECK(less.x == row.y);
  CHECK(less.b == named_tensor(graph, "seq_len_q").uid);
  CHECK(less.compute == DataType::boolean);
  CHECK(tensor(graph, *less.y).data_type == DataType::boolean);
}

TEST_CASE("Causal keeps row >= column, with INT32 indices computed in FLOAT", "[builders]") {
  const OpGraph graph = composite(named("causal"));
  const auto &row = operation<Pointwise>(graph, 2), &column = operation<Pointwise>(graph, 3),
             &keep = operation<Pointwise>(graph, 4);
  CHECK(row.compute == DataType::f32);
  CHECK(tensor(graph, *row.y).data_type == DataType::i32);
  CHECK(keep.mode == PointwiseMode::CMP_GE);
  CHECK(keep.x == row.y);
  CHECK(keep.b == column.y);
  const auto& select = operation<Pointwise>(graph, 5);
  CHECK(select.t == keep.y);
  CHECK(select.b == named_tensor(graph, "fill").uid);
}

TEST_CASE("Legacy masks compare FLOAT indices", "[builders]") {
  const OpGraph graph = mha("padding");
  CHECK(operation<Pointwise>(graph, 2).compute == DataType::f32);
  CHECK(tensor(graph, *operation<Pointwise>(graph, 2).y).data_type == DataType::f32);
  CHECK(operation<Pointwise>(graph, 4).compute == DataType::f32);
}

TEST_CASE("Bottom-right shifts the row by fixed lengths, or by the lengths of the batch", "[builders]") {
  const OpGraph fixed = composite(named("causal_bottom_right"));
  CHECK(named_tensor(fixed, "seqlen_kv").value == 7.0);
  CHECK(named_tensor(fixed, "seqlen_q").value == 5.0);
  CHECK(named_tensor(fixed, "seqlen_q").data_type == DataType::i32);
  CHECK(operation<Pointwise>(fixed, 4).b == named_tensor(fixed, "seqlen_kv").uid);
  CHECK(operation<Pointwise>(fixed, 5).mode == PointwiseMode::SUB);
  const OpGraph padded = composite(named("padding_causal_bottom_right"));
  CHECK_FALSE(has_tensor(padded, "seqlen_kv"));
  CHECK(operation<Pointwise>(padded, 10).b == named_tensor(padded, "seq_len_kv").uid);
  CHECK(operation<Pointwise>(padded, 11).b == named_tensor(padded, "seq_len_q").uid);
}

TEST_CASE("The left bound includes the diagonal: a window of 4 tokens is 3 to the left", "[builders]") {
  const OpGraph graph = composite(window({}, 3, {}));
  const auto &add = operation<Pointwise>(graph, 4), &keep = operation<Pointwise>(graph, 5);
  CHECK(scalars_read_by(graph, "add") == std::vector<double>{4.0});
  CHECK(tensor(graph, *add.y).data_type == DataType::f32);
  CHECK(add.x == operation<Pointwise>(graph, 3).y);  // the column
  CHECK(keep.mode == PointwiseMode::CMP_GT);
  CHECK(keep.x == add.y);
  CHECK(keep.b == operation<Pointwise>(graph, 2).y);  // the row
}

TEST_CASE("A left bound at the bottom right is shifted by the lengths", "[builders]") {
  Mask mask = window({}, 3, {});
  mask.alignment = Alignment::bottom_right;
  CHECK(scalars_read_by(composite(mask), "add") == std::vector<double>{4.0 - 7.0 + 5.0});
}

TEST_CASE("A right bound is added to the row", "[builders]") {
  const OpGraph graph = composite(window({}, {}, 2));
  CHECK(named_tensor(graph, "right_bound").value == 2.0);
  CHECK(named_tensor(graph, "right_bound").data_type == DataType::i32);
  CHECK(operation<Pointwise>(graph, 4).compute == DataType::i32);
}

// ---- the choice of `sdpa` (docs/how-it-works.md, "Which form cudnn-frontend builds")

TEST_CASE("sdpa becomes the graph that cudnn-frontend builds for this cuDNN", "[builders][choice]") {
  struct Choice {
    const char* members;
    CudnnVersion last_composite, first_unified;  // 0: there is none
    const char* reason;                          // why it was composite at last_composite
  };
  constexpr const char* mask_given = "the unified form of cudnn-frontend 1.32 has no caller's dropout mask";
  const Choice choices[] = {
      {"", 91300, 91301, "the unified SDPA operation needs cuDNN 9.13.1"},
      {R"("pass": "fprop_train")", 91300, 91301, "the unified SDPA operation needs cuDNN 9.13.1"},
      {R"("scale": "tensor")", 91300, 91301, "the unified SDPA operation needs cuDNN 9.13.1"},
      {R"("block_mask": true)", 91301, 91400, "the unified SDPA operation supports a block mask only from cuDNN 9.14"},
      {R"("mask": "padding")", 91400, 91500,
       "the unified SDPA operation supports sequence lengths only from cuDNN 9.15"},
      {R"("layout": "thd", "mask": "padding")", 91400, 91500,
       "the unified SDPA operation supports sequence lengths only from cuDNN 9.15"},
      {R"("paged": 16, "mask": "padding")", 91400, 91500,
       "the unified SDPA operation supports a paged cache only from cuDNN 9.15"},
      {R"("mask": "causal")", 92099, 92100, "the unified SDPA operation supports diagonal masks only from cuDNN 9.21"},
      {R"("mask": "causal_bottom_right")", 91900, 92100,
       "the unified SDPA operation supports diagonal masks only from cuDNN 9.21"},
      {R"("mask": {"window_left": 3})", 91900, 92100,
       "the unified SDPA operation supports diagonal masks only from cuDNN 9.21"},
      {R"("mask": "padding_causal")", 91900, 92100,
       "the unified SDPA operation supports diagonal masks only from cuDNN 9.21"},
      {R"("mask": {"alignment": "bottom_right"})", 91900, 92100,
       "the unified SDPA operation supports a bottom-right diagonal only from cuDNN 9.21"},
      {R"("bias": "1hss")", 91900, 92100, "the unified SDPA operation supports a bias only from cuDNN 9.21"},
      {R"("alibi": true)", 91900, 92100, "the unified SDPA operation supports ALiBi only from cuDNN 9.21"},
      {R"("sink": true)", 91900, 92100, "the unified SDPA operation supports a sink only from cuDNN 9.21"},
      {R"("max_logit": true)", 91900, 92100,
       "the unified SDPA operation supports maxima or sums as outputs only from cuDNN 9.21"},
      {R"("sum_exp": true)", 91900, 92100,
       "the unified SDPA operation supports maxima or sums as outputs only from cuDNN 9.21"},
      {R"("softcap": 30)", 91900, 92100, "the unified SDPA operation supports a score modifier only from cuDNN 9.21"},
      {R"("score_mod": "arrow")", 91900, 92100,
       "the unified SDPA operation supports a score modifier only from cuDNN 9.21"},
      {R"("dropout": 0.5)", 92100, 92200, "the unified SDPA operation supports dropout only from cuDNN 9.22"},
      {R"("dropout": 0.5, "pass": "fprop_train")", 92300, 0,
       "the unified form of cudnn-frontend 1.32 has no dropout together with statistics"},
      {R"("dropout": {"probability": 0.5, "form": "mask"})", 92300, 0, mask_given},
      {R"("dtype": "fp8_e4m3")", 92300, 0, "the unified SDPA operation supports fp8 only from cuDNN 9.25"},
      {R"("dtype": "f32")", 91301, 0, "the unified form of cudnn-frontend 1.32 has no f32"},
      // An older cudnn-frontend restricts no type except fp8; cuDNN decides about the others.
      {R"("dtype": "f32", "frontend": "1.23")", 91300, 91301, "the unified SDPA operation needs cuDNN 9.13.1"},
      {R"("dtype": "fp8_e4m3", "frontend": "1.23")", 92800, 0, "the unified form of cudnn-frontend 1.23 has no fp8"},
      {R"("o_dtype": "f32")", 91300, 91301, "the unified SDPA operation needs cuDNN 9.13.1"}};
  for (const auto& [members, last_composite, first_unified, reason] : choices) {
    const AttentionSpec spec = sdpa_with(members);
    INFO(members);
    const BuiltGraph before = build::build_graph(spec, {last_composite});
    CHECK(before.pattern == Pattern::sdpa_composite);
    CHECK(before.choice == std::string("composite: ") + reason);
    if (!first_unified.is_known()) continue;
    for (const CudnnVersion version : {first_unified, CudnnVersion{9, 23, 0}}) {
      const BuiltGraph after = build::build_graph(spec, {version});
      CHECK(after.pattern == Pattern::sdpa_unified);
      CHECK(after.choice == "unified: cudnn-frontend uses the unified SDPA operation if it can");
      CHECK(operations(after.graph) == Words{"sdpa_forward"});
    }
  }
}

TEST_CASE("The first of several reasons is cudnn-frontend's first", "[builders][choice]") {
  auto choice = [](const char* members, CudnnVersion version) {
    const AttentionSpec spec = sdpa_with(members);
    return build::build_graph(spec, {version}).choice;
  };
  CHECK(choice(R"("mask": "padding_causal")", 91400) ==
        "composite: the unified SDPA operation supports sequence lengths only from cuDNN 9.15");
  CHECK(choice(R"("mask": "causal", "bias": "1hss")", 91900) ==
        "composite: the unified SDPA operation supports a bias only from cuDNN 9.21");
  CHECK(choice(R"("dtype": "fp8_e4m3", "dropout": 0.5)", 91300) ==
        "composite: the unified SDPA operation needs cuDNN 9.13.1");
}

TEST_CASE("A requested pattern is built without a reason", "[builders][choice]") {
  for (const Pattern pattern : {Pattern::sdpa_composite, Pattern::sdpa_unified, Pattern::mha, Pattern::two_matmul}) {
    const BuiltGraph built = build::build_graph(spec_of(pattern), {91900});
    CHECK(built.pattern == pattern);
    CHECK(built.choice.empty());
  }
}

}  // namespace attnprobe::test::builders_test
