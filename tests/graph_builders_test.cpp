// The graphs that builders make: operations, tensors and wiring, and which pattern `sdpa` becomes. Counts and
// rules follow shared/graphs.md, sections 1.1 to 1.4, 2 and 5; what cuDNN says of the graphs is tested
// elsewhere.
#include "attnprobe/graph/build.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "attnprobe/attention/fields.hpp"
#include "catch.hpp"

using namespace attnprobe;
using namespace attnprobe::attention;
using namespace attnprobe::graph;

namespace {

using Dims = std::vector<int64_t>;
using Words = std::vector<std::string>;

// Every extent differs, so that a mixed-up one shows.
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

OpGraph composite(const Mask& mask = {}, int64_t version = 91900) {
  AttentionSpec spec = spec_of();
  spec.mask = mask;
  return build(spec, {version}).graph;
}

OpGraph mha(const std::string& mask) {
  AttentionSpec spec = spec_of(Pattern::mha);
  spec.mask = named(mask);
  return build(spec, {91900}).graph;
}

Words operations(const OpGraph& graph) {
  Words names;
  for (const auto& operation : graph.operations) names.push_back(operation_name(operation));
  return names;
}

size_t count(const OpGraph& graph) {
  return graph.operations.size();
}

const Tensor& named_tensor(const OpGraph& graph, const std::string& name) {
  const auto found = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                                  [&](const Tensor& t) { return t.name == name; });
  if (found == graph.tensors.end()) throw std::runtime_error("no tensor " + name);
  return *found;
}

bool has_tensor(const OpGraph& graph, const std::string& name) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [&](const Tensor& t) { return t.name == name; });
}

template <class Op>
const Op& operation(const OpGraph& graph, size_t index) {
  return std::get<Op>(graph.operations.at(index));
}

// Values of the by-value scalars that operations of this mode read.
std::vector<double> scalars_read_by(const OpGraph& graph, const std::string& name) {
  std::vector<double> values;
  for (const auto& op : graph.operations)
    for (const auto& port : ports(op))
      if (operation_name(op) == name && tensor(graph, port.uid).by_value)
        values.push_back(tensor(graph, port.uid).value.value());
  return values;
}

std::string auto_choice(int64_t version, const std::string& mask, Pattern expected,
                        std::optional<DataType> o_dtype = {}) {
  AttentionSpec spec = spec_of(Pattern::sdpa);
  spec.mask = named(mask);
  spec.o_dtype = o_dtype;
  const BuiltGraph built = build(spec, {version});
  CHECK(built.pattern == expected);
  return built.choice;
}

}  // namespace

// ---- operations (graphs.md 1.2, "Operation counts, for checking")

TEST_CASE("The composite graph has the ten operations of flash attention", "[builders]") {
  CHECK(operations(composite()) ==
        Words{"matmul", "mul", "reduce_max", "sub", "exp", "reduce_add", "log", "add", "div", "matmul"});
}

TEST_CASE("Each mask adds its own operations to the composite graph", "[builders]") {
  const Mask none, causal = named("causal"), bottom_right = named("causal_bottom_right"),
                   padding = named("padding"), padded_bottom_right = named("padding_causal_bottom_right");
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
  CHECK(count(build(spec, {91900}).graph) == 10);
}

TEST_CASE("Masks come in cudnn-frontend's order, each with indices of its own", "[builders]") {
  const Words all = operations(composite(window(named("padding_causal"), 3, 0)));
  CHECK(Words(all.begin() + 2, all.end() - 8) ==
        Words{"gen_index", "gen_index", "cmp_lt", "cmp_lt", "logical_and", "binary_select",  // padding
              "gen_index", "gen_index", "cmp_ge", "binary_select",                           // right bound
              "gen_index", "gen_index", "add", "cmp_gt", "binary_select"});                  // left bound
}

TEST_CASE("The legacy graph has 14 operations with padding, 16 with padding and causal", "[builders]") {
  CHECK(operations(mha("padding")) == Words{"mul", "matmul", "gen_index", "gen_index", "cmp_lt", "cmp_lt",
                                            "logical_and", "binary_select", "reduce_max", "sub", "exp",
                                            "reduce_add", "div", "matmul"});
  CHECK(count(mha("padding_causal")) == 16);
  CHECK(count(mha("causal")) == 12);
  CHECK(count(mha("none")) == 8);
}

TEST_CASE("The legacy graph has no statistics: that is what tells it from flash attention", "[builders]") {
  const Words all = operations(mha("padding_causal"));
  CHECK(std::count(all.begin(), all.end(), "log") == 0);
  CHECK(std::count(all.begin(), all.end(), "add") == 0);
}

TEST_CASE("The unified graph is one operation, the bare one two matmuls", "[builders]") {
  CHECK(operations(build(spec_of(Pattern::sdpa_unified), {91900}).graph) == Words{"sdpa_forward"});
  CHECK(operations(build(spec_of(Pattern::two_matmul), {91900}).graph) == Words{"matmul", "matmul"});
}

// ---- every graph (graphs.md 1.1)

TEST_CASE("Every graph obeys cuDNN's rules for tensors", "[builders]") {
  for (const Pattern pattern :
       {Pattern::sdpa_composite, Pattern::sdpa_unified, Pattern::mha, Pattern::two_matmul}) {
    for (const auto& [name, mask] : named_masks()) {
      AttentionSpec spec = spec_of(pattern);
      spec.mask = mask;
      if (!contradictions(spec).empty()) continue;
      INFO(name_of(pattern) << " " << name);
      const OpGraph graph = build(spec, {91900}).graph;
      std::map<Uid, int> writers, readers;
      for (const auto& op : graph.operations)
        for (const auto& port : ports(op)) ++(port.is_output ? writers : readers)[port.uid];
      std::set<Uid> uids;
      for (const auto& t : graph.tensors) {
        INFO(t.uid << " " << t.name);
        CHECK(t.uid > 0);
        CHECK(uids.insert(t.uid).second);
        CHECK(t.dims.size() == 4);
        CHECK(t.strides.size() == 4);
        CHECK(t.alignment == 16);
        CHECK(writers[t.uid] + readers[t.uid] > 0);
        CHECK(writers[t.uid] == (t.is_virtual || t.name == "O" || t.name == "Stats" ? 1 : 0));
        CHECK(t.by_value == t.value.has_value());
        if (t.by_value) CHECK(t.dims == Dims{1, 1, 1, 1});
      }
    }
  }
}

TEST_CASE("Q, V and O are as the spec gives them", "[builders]") {
  const OpGraph graph = composite();
  CHECK(named_tensor(graph, "Q").dims == Dims{2, 6, 5, 16});
  CHECK(named_tensor(graph, "Q").strides == Dims{480, 16, 96, 1});
  CHECK(named_tensor(graph, "V").dims == Dims{2, 3, 7, 8});
  CHECK(named_tensor(graph, "V").strides == Dims{168, 8, 24, 1});
  CHECK(named_tensor(graph, "O").dims == Dims{2, 6, 5, 8});
  CHECK(named_tensor(graph, "O").strides == Dims{240, 8, 48, 1});
}

TEST_CASE("K is transposed by its strides for matmuls, and plain for the unified operation", "[builders]") {
  for (const Pattern pattern : {Pattern::sdpa_composite, Pattern::mha, Pattern::two_matmul}) {
    const OpGraph graph = build(spec_of(pattern), {91900}).graph;
    CHECK(named_tensor(graph, "K^T").dims == Dims{2, 3, 16, 7});
    CHECK(named_tensor(graph, "K^T").strides == Dims{336, 16, 1, 48});
  }
  const OpGraph graph = build(spec_of(Pattern::sdpa_unified), {91900}).graph;
  CHECK(named_tensor(graph, "K").dims == Dims{2, 3, 7, 16});
  CHECK(named_tensor(graph, "K").strides == Dims{336, 16, 48, 1});
}

TEST_CASE("O has its own type", "[builders]") {
  AttentionSpec spec = spec_of();
  spec.o_dtype = DataType::f32;
  const OpGraph graph = build(spec, {91900}).graph;
  CHECK(named_tensor(graph, "O").data_type == DataType::f32);
  CHECK(named_tensor(graph, "Q").data_type == DataType::f16);
}

TEST_CASE("Scores are virtual f32, and P has the io type", "[builders]") {
  AttentionSpec spec = spec_of();
  spec.dtype = DataType::bf16;
  const OpGraph graph = build(spec, {91900}).graph;
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
  CHECK(named_tensor(build(spec, {91900}).graph, "Stats").is_virtual);
  spec.pass = Pass::fprop_train;
  const OpGraph graph = build(spec, {91900}).graph;
  const Tensor& stats = named_tensor(graph, "Stats");
  CHECK_FALSE(stats.is_virtual);
  CHECK(stats.data_type == DataType::f32);
  CHECK(stats.dims == Dims{2, 6, 5, 1});
  CHECK(stats.strides == Dims{30, 5, 1, 1});
}

TEST_CASE("The unified operation has statistics for training only", "[builders]") {
  AttentionSpec spec = spec_of(Pattern::sdpa_unified);
  CHECK_FALSE(has_tensor(build(spec, {91900}).graph, "Stats"));
  spec.pass = Pass::fprop_train;
  const OpGraph graph = build(spec, {91900}).graph;
  CHECK(operation<SdpaForward>(graph, 0).stats == named_tensor(graph, "Stats").uid);
  CHECK_FALSE(named_tensor(graph, "Stats").is_virtual);
}

TEST_CASE("Sequence lengths are INT32, one a batch entry, and bound both matmuls", "[builders]") {
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

TEST_CASE("The unified operation takes the sequence lengths itself", "[builders]") {
  AttentionSpec spec = spec_of(Pattern::sdpa_unified);
  spec.mask = named("padding");
  const OpGraph graph = build(spec, {91900}).graph;
  CHECK(operation<SdpaForward>(graph, 0).seq_len_q == named_tensor(graph, "seq_len_q").uid);
  CHECK(operation<SdpaForward>(graph, 0).seq_len_kv == named_tensor(graph, "seq_len_kv").uid);
}

TEST_CASE("Bare matmuls and legacy P are 16-bit in F16x16 reordering", "[builders]") {
  const OpGraph bare = build(spec_of(Pattern::two_matmul), {91900}).graph;
  CHECK(named_tensor(bare, "S").data_type == DataType::f16);
  CHECK(named_tensor(bare, "S").reordering == Reordering::F16x16);
  CHECK(named_tensor(bare, "S").is_virtual);
  CHECK(named_tensor(mha("none"), "P").data_type == DataType::f16);
  CHECK(named_tensor(mha("none"), "P").reordering == Reordering::F16x16);
  CHECK(named_tensor(composite(), "P").reordering == Reordering::NONE);
}

// ---- scale and masks (graphs.md 1.3)

TEST_CASE("The scale multiplies the scores, in the legacy graph K", "[builders]") {
  CHECK(named_tensor(composite(), "scale").value == 0.25);  // 1/sqrt(16)
  CHECK(named_tensor(composite(), "scale").data_type == DataType::f32);
  CHECK(operation<Pointwise>(composite(), 1).x == named_tensor(composite(), "S").uid);
  CHECK(named_tensor(mha("none"), "scale").data_type == DataType::f16);
  CHECK(operation<Pointwise>(mha("none"), 0).x == named_tensor(mha("none"), "K^T").uid);
  AttentionSpec spec = spec_of(Pattern::sdpa_unified);
  spec.scale = 3.0;
  CHECK(named_tensor(build(spec, {91900}).graph, "scale").value == 3.0);
}

TEST_CASE("Hidden scores are minus infinity from 9.10, before the lowest float", "[builders]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  CHECK(named_tensor(composite(named("causal"), 91000), "hidden").value == -infinity);
  CHECK(named_tensor(composite(named("causal"), 90900), "hidden").value == lowest);
  CHECK(named_tensor(composite(named("causal")), "hidden").data_type == DataType::f32);
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
  CHECK(select.b == named_tensor(graph, "hidden").uid);
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

TEST_CASE("The left bound counts the diagonal itself: a window of 4 tokens is 3 to the left", "[builders]") {
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

// ---- the choice of `sdpa` (graphs.md 2.1, 6.3)

TEST_CASE("sdpa is composite before the single operation exists", "[builders][choice]") {
  CHECK(auto_choice(91300, "none", Pattern::sdpa_composite) ==
        "composite: the single SDPA operation needs cuDNN 9.13.1");
}

TEST_CASE("sdpa is unified where there is no mask", "[builders][choice]") {
  for (const int64_t version : {91301, 91400, 91500, 91900, 92100})
    CHECK(auto_choice(version, "none", Pattern::sdpa_unified) ==
          "unified: cudnn-frontend uses the single SDPA operation where it can");
}

TEST_CASE("sdpa with padding is unified from 9.15", "[builders][choice]") {
  for (const int64_t version : {91301, 91400})
    CHECK(auto_choice(version, "padding", Pattern::sdpa_composite) ==
          "composite: the single SDPA operation takes sequence lengths only from cuDNN 9.15");
  for (const int64_t version : {91500, 91900, 92100}) auto_choice(version, "padding", Pattern::sdpa_unified);
}

TEST_CASE("sdpa with a diagonal mask is composite", "[builders][choice]") {
  for (const char* mask : {"causal", "causal_bottom_right", "padding_causal"}) {
    for (const int64_t version : {91301, 91900})
      CHECK(auto_choice(version, mask, Pattern::sdpa_composite) ==
            "composite: the single SDPA operation takes diagonal masks only from cuDNN 9.21");
    CHECK(auto_choice(92100, mask, Pattern::sdpa_composite) ==
          "composite: from cuDNN 9.21 cudnn-frontend puts this mask into the single SDPA operation, in a "
          "form that this "
          "release does not build");
  }
}

TEST_CASE("sdpa aligned at the bottom right is composite before 9.21, even without a bound",
          "[builders][choice]") {
  AttentionSpec spec = spec_of(Pattern::sdpa);
  spec.mask.alignment = Alignment::bottom_right;
  CHECK(build(spec, {91900}).pattern == Pattern::sdpa_composite);
}

TEST_CASE("sdpa with an f32 output is composite", "[builders][choice]") {
  CHECK(auto_choice(91900, "none", Pattern::sdpa_composite, DataType::f32) ==
        "composite: the single SDPA operation writes 16-bit output only");
}

TEST_CASE("A pattern that was asked for is built, without a reason", "[builders][choice]") {
  for (const Pattern pattern :
       {Pattern::sdpa_composite, Pattern::sdpa_unified, Pattern::mha, Pattern::two_matmul}) {
    const BuiltGraph built = build(spec_of(pattern), {91900});
    CHECK(built.pattern == pattern);
    CHECK(built.choice.empty());
  }
}
