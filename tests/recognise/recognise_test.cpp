// Recognises graphs without names, values and order: random configs, the shipped ones, real logs.
#include "recognise/recognise.hpp"
#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "attention/random_config.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "graph/same_graph.hpp"
#include "graph_edits.hpp"
#include "sanitizers.hpp"
#include "support.hpp"
#include "told_by_graph.hpp"

namespace attnprobe::test::recognise_test {

using namespace attnprobe::graph;
using namespace attnprobe::recognise;
using attention::AttentionSpec;
using attnprobe::test::contains;
using attnprobe::test::disguised;
using attnprobe::test::told_by_graph;

namespace {

const CudnnVersion versions[] = {90800, 91400, 91900, 92100};

AttentionSpec spec_of(const std::string& config) {
  return attention::parse_configs(config, "test").at(0).spec;
}

struct Rate {
  int total = 0, exact = 0, equal = 0;
};

void recognise_again(const AttentionSpec& spec, uint64_t seed, Rate& rate) {
  for (const CudnnVersion version : versions) {
    const build::BuildContext context{version, 90};
    const OpGraph log = disguised(build::build_graph(spec, context).graph, seed);
    const Recognised result = recognise_graph(log, context);
    INFO(describe(spec) << ", cuDNN " << version << ": " << result.description);
    ++rate.total;
    rate.exact += result.exact ? 1 : 0;
    CHECK(result.exact);
    if (!result.exact) continue;
    const Json told = told_by_graph(spec, context), found = told_by_graph(*result.spec, context);
    INFO(told.dump() << "\n" << found.dump());
    CHECK(told == found);
    rate.equal += told == found ? 1 : 0;
    // The same graph, with names.
    REQUIRE(result.named);
    CHECK(result.built_for == version);
    CHECK(same_graph(*result.named, log));
    for (size_t i = 0; i < log.tensors.size(); ++i) {
      CHECK(result.named->tensors[i].uid == log.tensors[i].uid);
      CHECK((!log.tensors[i].by_value || result.named->tensors[i].value.has_value()));
    }
  }
}

void check_all(const char* what, const Rate& rate) {
  CAPTURE(what, rate.total, rate.exact, rate.equal);
  WARN(what << ": " << rate.exact << " of " << rate.total << " exact, " << rate.equal
            << " with everything that the graph tells");
  CHECK(rate.exact == rate.total);
  CHECK(rate.equal == rate.total);
}

OpGraph fixture(const std::string& name) {
  std::ifstream file(std::string(ATTNPROBE_SOURCE_DIR) + "/tests/fixtures/" + name);
  REQUIRE(file);
  return from_json(Json::parse(file));
}

std::string description(const std::string& config_file, size_t index, CudnnVersion version = 91900) {
  const auto configs = attention::load_configs(std::string(ATTNPROBE_SOURCE_DIR) + "/configs/" + config_file);
  const build::BuildContext context{version, 90};
  return recognise_graph(disguised(build::build_graph(configs.at(index).spec, context).graph, 5), context).description;
}

Recognised recognise_edited(const std::string& config, const std::string& edit) {
  OpGraph graph = build::build_graph(spec_of(config), {91900, 90}).graph;
  test::edit_graph(graph, edit);
  return recognise_graph(disguised(graph, 9), {91900, 90});
}

std::string shape(const std::string& more) {
  return R"({"batch": 2, "heads": 8, "seqlen": 512, "head_dim": 64, )" + more + "}";
}

}  // namespace

TEST_CASE("recognise: all random configs exactly", "[recognise]") {
  Rate rate;
  const uint64_t configs = under_sanitizers() ? 50 : 200;
  for (uint64_t seed = 1; seed <= configs; ++seed)
    recognise_again(spec_of(attention::random_config(seed).dump()), seed, rate);
  check_all("random configs", rate);
}

TEST_CASE("recognise: all shipped configs exactly", "[recognise]") {
  Rate rate;
  for (const char* folder : {"configs", "configs/features"})
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(ATTNPROBE_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".json")
        for (const auto& config : attention::load_configs(entry.path())) recognise_again(config.spec, 3, rate);
  CHECK(rate.total > 400);
  check_all("shipped configs", rate);
}

TEST_CASE("recognise: values in the graph are read", "[recognise]") {
  auto found = [](const std::string& config, CudnnVersion version) {
    const build::BuildContext context{version, 90};
    const auto result =
        recognise_graph(disguised(build::build_graph(spec_of(config), context).graph, 4, true), context);
    CHECK(result.exact);
    CHECK(result.notes.empty());
    return result.spec.value_or(AttentionSpec());
  };
  for (const CudnnVersion version : std::initializer_list<CudnnVersion>{91900, 92100}) {
    auto spec = found(shape(R"("pattern": "sdpa_composite", "scale": 0.3, "softcap": 30)"), version);
    CHECK(spec.scale == 0.3);
    CHECK(spec.softcap == 30);
    spec = found(shape(R"("mask": {"window_left": 100, "window_right": 20})"), version);
    CHECK(spec.mask.window_left == 100);
    CHECK(spec.mask.window_right == 20);
    CHECK_FALSE(spec.scale);  // the value is the default
    // Without length tensors, the bound includes the lengths.
    spec = found(
        R"({"batch": 2, "heads": 8, "seqlen_q": 100, "seqlen_kv": 300, "head_dim": 64,
            "mask": {"window_left": 60, "causal": true, "alignment": "bottom_right"}})",
        version);
    CHECK(spec.mask.window_left == 60);
    CHECK(spec.mask.window_right == 0);
    CHECK(spec.mask.alignment == attention::Alignment::bottom_right);
    spec = found(shape(R"("mask": {"window_left": 9, "padding": true, "alignment": "bottom_right"})"), version);
    CHECK(spec.mask.window_left == 9);
    CHECK(spec.mask.alignment == attention::Alignment::bottom_right);
  }
}

TEST_CASE("recognise: assumptions are reported, but are not in the description", "[recognise]") {
  const build::BuildContext context{91900, 90};
  auto result = [&](const std::string& more) {
    return recognise_graph(disguised(build::build_graph(spec_of(shape(more)), context).graph, 4), context);
  };
  auto notes = [](const Recognised& recognised) {
    std::string text;
    for (const auto& note : recognised.notes) text += note + "\n";
    return text;
  };
  const auto window = result(R"("mask": {"window_left": 100, "window_right": 20}, "softcap": 30)");
  CHECK(window.exact);
  CHECK(window.description ==
        "sdpa_composite fprop b2 h8 s512 d64 f16 bshd softcap, left window of unknown size, right window of unknown "
        "size");
  CHECK(notes(window) ==
        "scale: the graph does not contain its value; 1/sqrt(head_dim_qk) is assumed\n"
        "softcap: the graph does not contain its value; 50 is assumed\n"
        "window_right: the graph does not contain its value; 512, which masks nothing, is assumed\n"
        "window_left: the graph does not contain its value; 512, which masks nothing, is assumed\n");
  CHECK(contains(notes(result(R"("dropout": {"probability": 0.3, "form": "mask"})")), "dropout: your own mask"));
  CHECK(notes(result(R"("scale": "tensor")")).empty());
  const auto dropout = result(R"("dropout": 0.3, "pass": "fprop_train")");
  CHECK(dropout.spec->dropout->probability == 0.3);
}

TEST_CASE("recognise: layouts have a name if a name matches", "[recognise]") {
  for (const char* layout : {"bshd", "bhsd", "sbhd", "bs3hd", "bsh3d", "sb3hd", "sbh3d", "bshd_bs2hd", "bshd_bsh2d",
                             "sbhd_sb2hd", "thd", "t3hd", "th3d", "thd_t2hd", "bshd_bhsd_bhsd"}) {
    const std::string mask = std::string(layout).front() == 't' ? R"(, "mask": "padding")" : "";
    const auto spec = spec_of(shape("\"pass\": \"bprop\", \"layout\": \"" + std::string(layout) + "\"" + mask));
    const auto result = recognise_graph(disguised(build::build_graph(spec, {91900, 90}).graph, 6), {91900, 90});
    INFO(layout);
    CHECK(result.exact);
    REQUIRE(result.spec);
    CHECK(to_json(*result.spec)["layout"] == to_json(spec)["layout"]);
    CHECK(to_json(*result.spec)["o_layout"] == to_json(spec)["o_layout"]);
    CHECK_FALSE(result.spec->dq);
  }
}

TEST_CASE("recognise: an edited graph is never exact", "[recognise]") {
  const std::string causal = shape(R"("pattern": "sdpa_composite", "pass": "fprop_train", "mask": "causal")");
  const std::string legacy = shape(R"("pattern": "mha", "mask": "padding")");
  const std::pair<std::string, std::string> edits[] = {
      {"drop_stats", causal},
      {"reciprocal", causal},
      {"no_max", causal},
      {"p_f32", causal},
      {"s_f16", causal},
      {"k_bf16", causal},
      {"v_bf16", causal},
      {"scale_q", causal},
      {"scale_k", causal},
      {"drop_mask", legacy},
      {"no_reordering", legacy},
      {"no_reordering", shape(R"("pattern": "two_matmul")")},
      {"s_f32", shape(R"("pattern": "two_matmul")")},
      {"k_io", shape(R"("pattern": "sdpa_composite", "pass": "bprop")")},
      {"scale_after_bias", shape(R"("pattern": "sdpa_composite", "bias": "1hss")")}};
  for (const auto& [edit, config] : edits) {
    const auto result = recognise_edited(config, edit);
    INFO(edit << ": " << result.description);
    CHECK_FALSE(result.exact);
    CHECK_FALSE(result.named);
    CHECK((contains(result.description, "The graph is similar, but not the same") ||
           contains(result.description, "no attention that attnprobe knows")));
  }
  const auto near = recognise_edited(causal, "v_bf16");
  CHECK(near.description ==
        "sdpa_composite fprop_train b2 h8 s512 d64 f16 bshd causal? The graph is similar, but not the same");
  REQUIRE(near.notes.size() == 1);
  CHECK(contains(near.notes.front(), "(V): data type bf16 instead of f16"));
  CHECK(recognise_edited(causal, "reverse").exact);
}

TEST_CASE("recognise: the wiring of another cuDNN version is named", "[recognise]") {
  const OpGraph graph = disguised(build::build_graph(spec_of(shape(R"("mask": "causal")")), {91900, 90}).graph, 8);
  const auto result = recognise_graph(graph, {92100, 90});
  CHECK_FALSE(result.exact);
  CHECK(result.built_for == CudnnVersion(91900));
  CHECK(result.named);
  REQUIRE_FALSE(result.notes.empty());
  CHECK(result.notes.back() == "built as cudnn-frontend builds it for cuDNN 9.19, not for 9.21");
  CHECK(recognise_graph(graph, {0, 0}).exact);  // a log without a version
}

TEST_CASE("recognise: graphs that PyTorch and JAX built", "[recognise]") {
  const build::BuildContext context{91900, 90};
  const auto pytorch = recognise_graph(fixture("graph-pytorch-fprop-causal.json"), context);
  CHECK(pytorch.exact);
  CHECK(pytorch.description == "sdpa_composite fprop b4 h12 s1024 d64 f16 bshd causal");
  CHECK(pytorch.notes ==
        std::vector<std::string>{"scale: the graph does not contain its value; 1/sqrt(head_dim_qk) is assumed"});
  REQUIRE(pytorch.named);
  CHECK(tensor(*pytorch.named, 1).name == "K^T");
  CHECK(tensor(*pytorch.named, 1).role == graph::Role::k_transposed);
  CHECK(tensor(*pytorch.named, 5).value == 0.125);

  const auto jax = recognise_graph(fixture("graph-jax-fprop-causal-values.json"), context);
  CHECK(jax.exact);
  CHECK(jax.description == pytorch.description);
  CHECK(jax.notes.empty());  // logged at execution, so it has values

  const auto decode = recognise_graph(fixture("graph-pytorch-decode.json"), context);
  CHECK(decode.exact);
  CHECK(decode.description == "sdpa_unified fprop b8 h32 s1/4096 d128 bf16 bshd");
}

TEST_CASE("recognise: descriptions of real models", "[recognise]") {
  CHECK(description("bert.json", 0) == "sdpa_unified fprop b8 h12 s512 d64 f16 bshd padding");
  CHECK(description("bert.json", 0, 90800) == "sdpa_composite fprop b8 h12 s512 d64 f16 bshd padding");
  CHECK(description("gpt2.json", 1) == "sdpa_composite fprop_train b8 h12 s1024 d64 f16 bshd causal");
  CHECK(description("t5.json", 2) == "sdpa_unified fprop b8 h16 s512 d64 bf16 bshd padding");
  CHECK(description("llama3-8b.json", 0) == "sdpa_composite fprop b1 h32/8 s8192 d128 bf16 bshd causal");
  CHECK(description("llama3-8b.json", 0, 92100) == "sdpa_unified fprop b1 h32/8 s8192 d128 bf16 bshd causal");
  CHECK(description("llama3-70b.json", 1) == "sdpa_unified fprop b8 h64/8 s1/8192 d128 bf16 bshd padding");
  CHECK(description("mistral-7b.json", 0) ==
        "sdpa_composite fprop b1 h32/8 s8192 d128 bf16 bshd causal, left window of unknown size");
  CHECK(description("gemma-7b.json", 0) == "sdpa_composite fprop b1 h16 s8192 d256 bf16 bshd causal");
  CHECK(description("whisper-large-v3.json", 2) == "sdpa_unified fprop b8 h20 s448/1500 d64 f16 bshd");
  CHECK(description("sdxl.json", 1) == "sdpa_unified fprop b2 h10 s4096/77 d64 f16 bshd");
  CHECK(description("mha-bert-legacy.json", 0) == "mha fprop b4 h12 s512 d64 f16 bshd padding");
}

TEST_CASE("recognise: other graphs are not called attention, and broken graphs are handled", "[recognise]") {
  auto parsed = [](const char* text) { return from_json(Json::parse(text)); };
  const auto sum = recognise_graph(parsed(R"({"tensors": [
      {"uid": 1, "data_type": "f16", "dims": [1, 64, 32], "strides": [2048, 32, 1]},
      {"uid": 2, "data_type": "f16", "dims": [1, 32, 16], "strides": [512, 16, 1]},
      {"uid": 3, "data_type": "f32", "dims": [1, 64, 16], "strides": [1024, 16, 1], "virtual": true},
      {"uid": 4, "data_type": "f16", "dims": [1, 64, 16], "strides": [1024, 16, 1]}],
    "operations": [{"kind": "matmul", "compute": "f32", "a": 1, "b": 2, "c": 3},
      {"kind": "pointwise", "mode": "ADD", "compute": "f32", "x": 3, "b": 4, "y": 4}]})"),
                                   {91900, 90});
  CHECK(sum.description == "2 operations: matmul, add; no attention that attnprobe knows");
  CHECK_FALSE(sum.spec);
  CHECK(recognise_graph(OpGraph{}, {91900, 90}).description == "0 operations; no attention that attnprobe knows");

  // With a corrupted attribute, recognition may return any name, but is never exact and never fails.
  for (const char* config : {R"("mask": "causal", "pass": "fprop_train")", R"("pass": "bprop", "bias": "1hss")",
                             R"("pattern": "mha", "pass": "bprop")", R"("paged": 16, "mask": "padding")"}) {
    const OpGraph whole = build::build_graph(spec_of(shape(config)), {91400, 90}).graph;
    for (size_t i = 0; i < whole.tensors.size(); ++i) {
      for (const std::vector<int64_t>& dims : {std::vector<int64_t>{},
                                               {0, 0, 0, 0},
                                               {-1, 8, 512, 64},
                                               {1, 2, 3, 4, 5},
                                               {1LL << 40, 1LL << 40, 1LL << 40, 1LL << 40}}) {
        OpGraph wild = whole;
        wild.tensors[i].dims = wild.tensors[i].strides = dims;
        CHECK_FALSE(recognise_graph(wild, {91400, 90}).exact);
      }
    }
    for (size_t i = 0; i < whole.operations.size(); ++i) {
      OpGraph wild = whole;
      wild.operations.erase(wild.operations.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_FALSE(recognise_graph(wild, {91400, 90}).exact);
      wild = whole;  // a cycle: every operation reads the last one's result
      const Uid last = ports(whole.operations[i]).back().uid;
      for (auto& operation : wild.operations)
        if (auto* op = std::get_if<Pointwise>(&operation)) op->x = last;
      recognise_graph(wild, {91400, 90});
      wild = whole;  // a pointwise operation without its operands
      if (auto* op = std::get_if<Pointwise>(&wild.operations[i])) {
        op->x.reset();
        op->b.reset();
        CHECK_FALSE(recognise_graph(wild, {91400, 90}).exact);
      }
    }
  }
}

}  // namespace attnprobe::test::recognise_test
