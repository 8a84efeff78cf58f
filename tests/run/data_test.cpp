#include "run/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attention/config.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "run/problem.hpp"
#include "support.hpp"

namespace attnprobe::test::data_test {

namespace {

struct Planned {
  graph::OpGraph graph;
  run::GraphData data;

  explicit Planned(const char* members, const char* sizes = R"("pattern": "sdpa_unified", "seqlen": 128)") {
    const std::string config = fmt::format(R"({{"batch": 2, "heads": 2, "head_dim": 64, {}, {}}})", sizes, members);
    const auto spec = attention::parse_configs(config, "test").front().spec;
    graph = build::build_graph(spec, {{9, 28, 0}, 100}).graph;
    run::RunOptions options;
    options.seqlens_q = spec.mask.seqlens_q;
    options.seqlens_kv = spec.mask.seqlens_kv;
    data = run::plan_data(graph, options);
  }
  const run::TensorData& of(const char* name) const {
    for (const auto& t : graph.tensors)
      for (const auto& d : data.tensors)
        if (t.name == name && t.uid == d.uid) return d;
    throw std::runtime_error(std::string("no ") + name);
  }
};

}  // namespace

TEST_CASE("Prefix sums of lengths start at 0 and end at the number of tokens, on either side", "[run]") {
  const Planned both(
      R"("cu_seqlens": "both", "mask": {"padding": true, "seqlens_q": [128, 40], "seqlens_kv": [100, 28]})");
  CHECK(both.of("cu_seq_len_q").integers == std::vector<int64_t>{0, 128, 168});
  CHECK(both.of("cu_seq_len_kv").integers == std::vector<int64_t>{0, 100, 128});
  CHECK(both.of("O").rows == std::vector<int32_t>{128, 40});
  const Planned kv(R"("cu_seqlens": "kv", "mask": {"padding": true, "seqlens_q": [128, 40], "seqlens_kv": [100, 28]})");
  CHECK(kv.of("seq_len_q").integers == std::vector<int64_t>{128, 40});
  CHECK(kv.of("cu_seq_len_kv").integers == std::vector<int64_t>{0, 100, 128});
}

TEST_CASE("A sequence of a paged cache is not longer than the scores of its mask or bias", "[run]") {
  for (const char* scores : {R"("mask": "padding_causal_bottom_right")", R"("mask": "padding", "bias": "1hss")"}) {
    INFO(scores);
    const Planned cut(fmt::format(R"("paged": {{"block_size": 256}}, {})", scores).c_str());
    CHECK(cut.of("seq_len_kv").integers.at(0) == 128);
    CHECK(cut.of("seq_len_kv").integers.at(1) <= 128);
  }
  CHECK(Planned(R"("paged": {"block_size": 256}, "mask": "padding")").of("seq_len_kv").integers.at(0) == 256);
}

TEST_CASE("A dense V limits the lengths of a paged K", "[run]") {
  const Planned dense(R"("paged": {"block_size": 256, "v": false}, "mask": "padding")");
  CHECK(dense.of("seq_len_kv").integers.at(0) == 128);
}

TEST_CASE("The tokens of a transposed K are counted along its last axis, even a single one", "[run]") {
  const Planned one(R"("layout": "thd", "mask": {"padding": true, "seqlens_q": [3, 2], "seqlens_kv": [1, 1]})",
                    R"("pattern": "sdpa_composite", "seqlen_q": 3, "seqlen_kv": 1)");
  CHECK(one.of("offsets of K").integers == std::vector<int64_t>{0, 2 * 64, 2 * 2 * 64});
}

TEST_CASE("Ragged tensors whose heads or tokens overlap are refused", "[run]") {
  CHECK_THROWS_WITH(
      Planned(R"("layout": "thd", "stats": true, "stats_layout": "bhsd", "mask": "padding")",
              R"("pattern": "sdpa_unified", "seqlen_q": 1, "seqlen_kv": 128)"),
      ContainsSubstring("tokens of Stats") && ContainsSubstring("their stride is 1, and the heads take 2"));
}

TEST_CASE("Ragged offsets in tokens are the prefix sums, and determine the memory", "[run]") {
  const char* mask = R"("layout": "thd", "mask": {"padding": true, "seqlens_q": [128, 40], "seqlens_kv": [100, 28]})";
  const Planned tokens(fmt::format(R"("ragged_unit": "token", {})", mask).c_str()), elements(mask);
  CHECK(tokens.of("offsets of Q").integers == std::vector<int64_t>{0, 128, 168});
  CHECK(elements.of("offsets of Q").integers == std::vector<int64_t>{0, 128 * 2 * 64, 168 * 2 * 64});
  CHECK(tokens.of("offsets of V").integers == std::vector<int64_t>{0, 100, 128});
  CHECK(tokens.of("Q").elements == elements.of("Q").elements);
  CHECK(tokens.of("V").elements == 128 * 2 * 64);

  graph::OpGraph odd = tokens.graph;
  for (auto& t : odd.tensors)
    if (t.name == "Q") t.ragged_multiplier = 96;
  CHECK_THROWS_WITH(run::plan_data(odd, {}), ContainsSubstring("ragged offsets of Q") &&
                                                 ContainsSubstring("count 96 elements as one") &&
                                                 ContainsSubstring("a token has 128"));
}

TEST_CASE("Ragged statistics by head: each head has the tokens of all sequences, without overlap", "[run]") {
  const char* ragged = R"("layout": "thd", "pass": "fprop_train",
                          "mask": {"padding": true, "seqlens_q": [128, 40], "seqlens_kv": [100, 28]})";
  const auto with = [&](const char* layout) { return fmt::format(R"("stats_layout": {}, {})", layout, ragged); };
  const Planned by_head(with(R"("bhsd")").c_str());
  CHECK(by_head.of("offsets of Stats").integers == std::vector<int64_t>{0, 128, 168});
  CHECK(by_head.of("Stats").elements == 2 * 128 + 168);
  CHECK(Planned(ragged).of("Stats").elements == 168 * 2);
  CHECK(Planned(with(R"({"strides": [400, 168, 1, 1]})").c_str()).of("Stats").elements == 168 + 168);
  CHECK_THROWS_WITH(Planned(with(R"({"strides": [400, 167, 1, 1]})").c_str()),
                    ContainsSubstring("heads of Stats") && ContainsSubstring("their stride is 167") &&
                        ContainsSubstring("take 168 elements"));
}

TEST_CASE("Angles of a rotary embedding are equal for both halves, and rotated K is as long as K", "[run]") {
  const Planned rope(
      R"("rope": {"dim": 32}, "seqlen_kv": 96, "mask": {"padding": true, "seqlens_q": [128, 40], "seqlens_kv": [96, 28]})");
  const auto& angles = rope.of("angles of K").reals;
  REQUIRE(angles.size() == 96 * 32);
  CHECK(angles[0] == 0);
  CHECK(angles[5 * 32] == 5);
  CHECK(angles[5 * 32 + 16] == 5);
  CHECK(angles[32 + 15] == Approx(std::pow(10000, -30.0 / 32)));
  CHECK(rope.of("rotated Q").rows == std::vector<int32_t>{128, 40});
  CHECK(rope.of("rotated K").rows == std::vector<int32_t>{96, 28});
  CHECK(rope.of("rotated K").use == run::Use::output);
}

TEST_CASE("fp8 in the unified operation: scales cancel each other, MXFP8's are 1", "[run]") {
  const Planned one(R"("dtype": "fp8_e4m3")");
  CHECK(one.of("scale S").fill.a * one.of("descale S").fill.a == 1);
  CHECK(one.of("scale O").fill.a == 32);
  CHECK(one.of("amax S").use == run::Use::output);
  const Planned blocks(R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "mxfp8")");
  CHECK(blocks.of("descale K").fill.a == 1);
  CHECK(blocks.of("descale K").elements == 2 * 2 * 128 * 4);
}

TEST_CASE("fp8: unused queries have larger values, so that an amax which counts them is wrong", "[run]") {
  run::RunOptions options;
  options.seqlens_q = options.seqlens_kv = {16, 7};
  const auto spec =
      attention::parse_configs(
          R"({"batch": 2, "heads": 1, "seqlen": 16, "head_dim": 64, "dtype": "fp8_e4m3", "mask": "padding"})", "test")
          .at(0)
          .spec;
  const auto built = build::build_graph(spec, {92500, 90});
  const auto device = run::cpu_device();
  run::Problem problem(*device, built.graph, options, 92500);
  const auto q = std::find_if(built.graph.tensors.begin(), built.graph.tensors.end(),
                              [](const auto& t) { return t.role == graph::Role::q; });
  const auto* bytes = static_cast<const uint8_t*>(problem.pointers().at(q->uid));
  // The largest exponent of e4m3 in the rows of the second entry: a normal value is below 4.5, so below 2^3.
  const auto exponent = [&](size_t first, size_t last) {
    int largest = 0;
    for (size_t i = first * 64; i < last * 64; ++i) largest = std::max(largest, (bytes[i] >> 3) & 15);
    return largest - 7;
  };
  CHECK(exponent(0, 16 + 7) < 3);
  CHECK(exponent(16 + 7, 32) >= 3);
}

}  // namespace attnprobe::test::data_test
