// Graphs that are equal up to numbering and order, and the differences between other graphs.
#include "graph/same_graph.hpp"
#include "attention/config.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "graph_edits.hpp"
#include "support.hpp"
#include "told_by_graph.hpp"

namespace attnprobe::test::same_graph_test {

using namespace attnprobe::graph;
using attnprobe::test::contains;
using attnprobe::test::disguised;

namespace {

OpGraph graph_of(const std::string& config) {
  return build::build_graph(attention::parse_configs(config, "test").at(0).spec, {91900, 90}).graph;
}

const std::string causal =
    R"({"pattern": "sdpa_composite", "pass": "fprop_train", "batch": 2, "heads": 8, "seqlen": 512, "head_dim": 64, "mask": "causal"})";

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

Tensor& tensor_named(OpGraph& graph, const std::string& name) {
  for (auto& t : graph.tensors)
    if (t.name == name) return t;
  throw std::runtime_error("no tensor " + name);
}

}  // namespace

TEST_CASE("same_graph: maps every tensor to its counterpart, for any order and numbering", "[graph]") {
  for (const char* pass : {"fprop_train", "bprop"}) {
    const OpGraph graph =
        graph_of(R"({"pattern": "sdpa_composite", "batch": 2, "heads_q": 8, "heads_kv": 2, "seqlen": 512,
      "head_dim": 64, "mask": {"causal": true, "window_left": 7, "padding": true}, "dropout": 0.1, "pass": ")" +
                 std::string(pass) + "\"}");
    OpGraph other = disguised(graph, 7, true);
    const auto uids = same_graph(graph, other);
    REQUIRE(uids);
    CHECK(differences(graph, other).empty());
    CHECK(uids->size() == graph.tensors.size());
    for (const auto& [here, there] : *uids) {
      const Tensor &a = tensor(graph, here), &b = tensor(other, there);
      INFO(a.name);
      CHECK(a.dims == b.dims);
      CHECK(a.value == b.value);  // values are not compared, but they agree
      CHECK(a.ragged_offset.has_value() == b.ragged_offset.has_value());
    }
  }
}

TEST_CASE("same_graph: every edit changes the graph, and reordering does not", "[graph]") {
  const std::string bias =
      R"({"pattern": "sdpa_composite", "batch": 2, "heads": 8, "seqlen": 512, "head_dim": 64, "bias": "1hss"})";
  const std::string legacy =
      R"({"pattern": "mha", "batch": 4, "heads": 12, "seqlen": 512, "head_dim": 64, "mask": "padding"})";
  const std::string backward =
      R"({"pattern": "sdpa_composite", "pass": "bprop", "batch": 2, "heads": 8, "seqlen": 512, "head_dim": 64})";
  const std::pair<std::string, std::string> edits[] = {
      {"drop_stats", causal},   {"reciprocal", causal}, {"no_max", causal}, {"p_f32", causal},
      {"s_f16", causal},        {"k_bf16", causal},     {"v_bf16", causal}, {"scale_q", causal},
      {"scale_k", causal},      {"drop_mask", legacy},  {"k_io", backward}, {"scale_after_bias", bias},
      {"no_reordering", legacy}};
  for (const auto& [edit, config] : edits) {
    INFO(edit);
    const OpGraph original = graph_of(config);
    OpGraph edited = original;
    test::edit_graph(edited, edit);
    CHECK_FALSE(same_graph(original, edited));
    CHECK_FALSE(same_graph(disguised(edited, 3), original));
    CHECK_FALSE(differences(edited, original).empty());
  }
  OpGraph reversed = graph_of(causal);
  test::edit_graph(reversed, "reverse");
  CHECK(same_graph(reversed, graph_of(causal)));
}

TEST_CASE("same_graph: compares every property of a tensor", "[graph]") {
  const OpGraph original = graph_of(causal);
  const std::pair<const char*, void (*)(Tensor&)> changes[] = {
      {"alignment", [](Tensor& t) { t.alignment = 8; }},
      {"strides", [](Tensor& t) { t.strides[0] += 64; }},
      {"data type", [](Tensor& t) { t.data_type = DataType::bf16; }},
      {"virtual", [](Tensor& t) { t.is_virtual = true; }},
      {"reordering", [](Tensor& t) { t.reordering = Reordering::F16x16; }}};
  for (const auto& [what, change] : changes) {
    OpGraph changed = original;
    change(tensor_named(changed, "V"));
    const OpGraph log = disguised(changed, 11);
    CHECK_FALSE(same_graph(log, original));
    const auto lines = differences(log, original);
    INFO(joined(lines));
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines.front(), "(V): " + std::string(what)));
  }
  OpGraph ragged = original;
  tensor_named(ragged, "V").ragged_offset = tensor_named(ragged, "Q").uid;
  CHECK_FALSE(same_graph(ragged, original));
}

TEST_CASE("same_graph: ignores attributes that cuDNN does not read", "[graph]") {
  OpGraph graph = graph_of(causal), other = graph;
  std::get<Pointwise>(other.operations.at(1)).axis = 0;  // the scale's product
  CHECK(same_graph(graph, other));
  for (auto& operation : other.operations)
    if (auto* op = std::get_if<Pointwise>(&operation); op != nullptr && op->mode == PointwiseMode::GEN_INDEX)
      op->axis = 1;
  CHECK_FALSE(same_graph(graph, other));

  graph = other =
      graph_of(R"({"batch": 2, "heads": 8, "seqlen": 512, "head_dim": 64, "dropout": 0.1, "mask": "causal"})");
  auto rng_of = [](OpGraph& g) -> Rng& {
    for (auto& operation : g.operations)
      if (auto* rng = std::get_if<Rng>(&operation)) return *rng;
    throw std::runtime_error("no RNG");
  };
  rng_of(other).constant_seed = 0;
  CHECK(same_graph(graph, other));
  rng_of(other).constant_seed = 5;
  CHECK_FALSE(same_graph(graph, other));
}

TEST_CASE("same_graph: breaks ties, and distinguishes wiring that looks alike", "[graph]") {
  // Rings of products of one kind each: from every node, two rings of three look like one ring of six.
  auto rings = [](const std::vector<size_t>& lengths) {
    OpGraph graph;
    for (const size_t length : lengths) {
      const auto first = static_cast<Uid>(graph.tensors.size());
      for (size_t i = 0; i < length; ++i) {
        Tensor t;
        t.uid = first + static_cast<Uid>(i);
        t.dims = t.strides = {1, 1, 1, 1};
        graph.tensors.push_back(t);
        Pointwise op;
        op.mode = PointwiseMode::ABS;
        op.x = t.uid;
        op.y = first + static_cast<Uid>((i + 1) % length);
        graph.operations.emplace_back(op);
      }
    }
    return graph;
  };
  CHECK_FALSE(same_graph(rings({3, 3}), rings({6})));
  CHECK(joined(differences(rings({3, 3}), rings({6}))) != "");
  const auto uids = same_graph(rings({3, 3, 4}), disguised(rings({4, 3, 3}), 2));
  REQUIRE(uids);
  CHECK(uids->size() == 10);
}

TEST_CASE("differences: lists replaced, missing and extra operations", "[graph]") {
  const OpGraph original = graph_of(causal);
  OpGraph changed = original;
  std::get<Pointwise>(changed.operations.at(1)).mode = PointwiseMode::ADD;
  CHECK(joined(differences(changed, original)) == "operation 1: add instead of mul\n");
  changed = original;
  test::edit_graph(changed, "drop_stats");
  const std::string text = joined(differences(changed, original));
  CHECK(contains(text, "operation log is missing"));
  CHECK(contains(text, "operation add is missing"));
  CHECK(contains(text, "tensor Stats is missing"));
  CHECK(contains(joined(differences(original, changed)), "(log) is one too many"));
}

}  // namespace attnprobe::test::same_graph_test
