// The reference, the data and the checks on the CPU. A stand-in for a plan computes plain attention, so that a verdict
// "ok" means that the interpreter of graphs and the definition of attention agree.
#include <fmt/format.h>

#include "attention/config.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "plain_attention.hpp"
#include "run/device/cuda.hpp"
#include "run/problem.hpp"
#include "small_random_config.hpp"
#include "variable.hpp"

namespace attnprobe::test::problem_test {

namespace {

bool kept(int64_t b, int64_t h, int64_t i, int64_t j) {
  return run::kernels::uniform(77, static_cast<uint64_t>(((b * 64 + h) * 4096 + i) * 4096 + j)) < 0.8;
}

// A config as a problem on the CPU.
struct Case {
  attention::AttentionSpec spec;
  build::BuiltGraph built;
  std::unique_ptr<run::Device> device = run::cpu_device();
  std::unique_ptr<run::Problem> problem;

  explicit Case(const std::string& config, run::RunOptions options = {}, CudnnVersion version = 91900) {
    spec = attention::parse_configs(config, "test").at(0).spec;
    options.seqlens_q = spec.mask.seqlens_q;
    options.seqlens_kv = spec.mask.seqlens_kv;
    built = build::build_graph(spec, {version, 90});
    problem = std::make_unique<run::Problem>(*device, built.graph, options, version);
  }
  void compute() const { plain_attention(spec, built.graph, problem->pointers(), problem->data().lengths, kept); }
  probe::RunFindings verify() {
    return problem->verify([this] { compute(); }, 1);
  }
  char* memory(const char* name) const {
    for (const auto& t : built.graph.tensors)
      if (t.name == name && !t.is_virtual) return static_cast<char*>(problem->pointers().at(t.uid));
    throw std::runtime_error(std::string("no ") + name);
  }
};

const char* const small = R"("batch": 2, "heads_q": 4, "heads_kv": 2, "seqlen_q": 21, "seqlen_kv": 32, "head_dim": 8)";
const char* const square = R"("batch": 2, "heads_q": 4, "heads_kv": 2, "seqlen": 24, "head_dim": 8)";

void check_config(const std::string& config, CudnnVersion version = 91900) {
  INFO(config);
  Case c(config, {}, version);
  const auto found = c.verify();
  INFO(found.message);
  for (const auto& output : found.outputs) INFO(Json(output).dump());
  CHECK(found.status == probe::RunStatus::ok);
  CHECK(found.deterministic == true);
  CHECK(found.outputs.size() >= 1);
  for (const auto& output : found.outputs)
    if (output.tensor != "dropout mask" && output.tensor != "S output") CHECK(output.elements > 0);
}

}  // namespace

TEST_CASE("the interpreter of graphs computes attention: forward", "[run]") {
  for (const char* features :
       {R"("mask": "none")",
        R"("mask": "causal")",
        R"("mask": "causal_bottom_right")",
        R"("mask": {"causal": true, "window_left": 9})",
        R"("mask": {"window_left": 9, "window_right": 5, "alignment": "bottom_right"})",
        R"("mask": "padding")",
        R"("mask": "padding_causal")",
        R"("mask": {"causal": true, "padding": true, "alignment": "bottom_right", "window_left": 11})",
        R"("mask": {"padding": true, "seqlens_q": [21, 5], "seqlens_kv": [32, 11]})",
        R"("bias": "1hss")",
        R"("bias": "b1ss", "mask": "causal")",
        R"("bias": "bh11")",
        R"("alibi": true, "mask": "causal")",
        R"("softcap": 2.0)",
        R"("sink": true)",
        R"("sink": true, "mask": "causal")",
        R"("scale": 0.3)",
        R"("layout": "bhsd")",
        R"("layout": "sbhd", "o_layout": "bhsd")",
        R"("layout": "thd", "mask": "padding")",
        R"("layout": "thd", "mask": "padding_causal")",
        R"("max_logit": true, "sum_exp": true)",
        R"("paged": {"block_size": 16}, "mask": "padding")",
        R"("dropout": 0.2)",
        R"("dropout": 0.2, "mask": "causal")",
        R"("dtype": "bf16", "o_dtype": "f32")",
        R"("head_dim_v": 24)",
        R"("score_mod": "gelu")",
        R"("score_mod": "arrow")",
        R"("score_mod": "document")",
        R"("score_mod": "head_factor")",
        R"("score_mod": "mask_i32")",
        R"("score_mod": "relative_position")"})
    for (const char* pass : {"fprop", "fprop_train"})
      check_config(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "{}", {}, {}}})", pass, small, features));
}

TEST_CASE("a dumped dropout mask may lack invisible tiles, while other gaps leave O unverified", "[run]") {
  const std::string config = fmt::format(R"({{"pattern": "sdpa_composite", {}, "mask": "causal",
      "dropout": {{"probability": 0.2, "dump": true}}}})",
                                         square);
  Case c(config);
  auto* mask = c.memory("dropout mask");
  const int64_t length = c.spec.seqlen_kv;
  auto leave_out = [&](int64_t first_key, int64_t query) {
    float nan = 0;
    std::memset(&nan, 0xff, sizeof nan);
    for (int64_t j = first_key; j < length; ++j)
      std::memcpy(mask + (query * length + j) * static_cast<int64_t>(sizeof nan), &nan, sizeof nan);
  };
  const auto unseen = c.problem->verify(
      [&] {
        c.compute();
        leave_out(8, 3);
      },
      0);
  INFO(unseen.message);
  CHECK(unseen.status == probe::RunStatus::ok);
  const auto seen = c.problem->verify(
      [&] {
        c.compute();
        leave_out(0, 3);
      },
      0);
  CHECK(seen.status == probe::RunStatus::not_verified);
  CHECK_THAT(seen.message, ContainsSubstring("24 elements of the dropout mask, which is an output, were not written"));
  CHECK(seen.reference.empty());
}

TEST_CASE("a dropout mask is not derived from probabilities that no input makes equal", "[run]") {
  Case c(
      fmt::format(R"({{"pattern": "sdpa_composite", {}, "score_mod": "relative_position", "dropout": 0.2}})", square));
  const auto found = c.verify();
  CHECK(found.status == probe::RunStatus::not_verified);
  CHECK_THAT(found.message, ContainsSubstring("the dropout mask cannot be derived from"));
  check_config(fmt::format(
      R"({{"pattern": "sdpa_composite", {}, "alibi": true, "mask": "causal_bottom_right", "dropout": 0.2}})", square));
}

TEST_CASE("the interpreter of graphs computes attention: the unified operation", "[run]") {
  for (const char* features : {R"("mask": "none")", R"("mask": "padding")", R"("layout": "thd", "mask": "padding")",
                               R"("paged": {"block_size": 16}, "mask": "padding")"})
    check_config(fmt::format(R"({{"pattern": "sdpa_unified", "pass": "fprop_train", {}, {}}})", small, features));
  // From 9.24: prefix sums, offsets in tokens, rotary embeddings; from 9.25: fp8; from 9.27: statistics to base 2.
  for (
      const char* features :
      {R"("mask": "padding", "cu_seqlens": "both")", R"("mask": "padding_causal", "cu_seqlens": "q")",
       R"("cu_seqlens": "kv", "mask": {"causal": true, "padding": true, "alignment": "bottom_right", "window_left": 11})",
       R"("layout": "thd", "mask": "padding", "cu_seqlens": "both", "ragged_unit": "token", "ragged_offsets": "i64")",
       R"("layout": "thd", "mask": "padding_causal", "ragged_unit": "token")",
       R"("paged": {"block_size": 16}, "mask": "padding", "cu_seqlens": "q")", R"("rope": true)",
       R"("rope": {"dim": 4, "k": false}, "mask": "causal")", R"("rope": {"dim": 4}, "mask": "padding")",
       R"("rope": {"q": false}, "dtype": "bf16", "stats_log2": true)", R"("dtype": "fp8_e4m3")",
       R"("dtype": "fp8_e5m2", "mask": "padding_causal")",
       R"("dtype": "fp8_e4m3", "o_dtype": "bf16", "mask": "padding", "cu_seqlens": "both")",
       R"("dtype": "fp8_e4m3", "o_dtype": "f16", "fp8": "mxfp8", "mask": "causal")", R"("stats_log2": true)",
       R"("stats_log2": true, "sink": true, "max_logit": true, "sum_exp": true, "mask": "padding")"})
    check_config(fmt::format(R"({{"pattern": "sdpa_unified", "pass": "fprop_train", {}, {}}})", small, features),
                 92800);
  check_config(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "fprop_train", {}, "stats_log2": true}})", small),
               92800);
  check_config(fmt::format(R"({{"pattern": "sdpa_composite", {}, "rope": {{"k": false}}}})", small), 92800);
  // From 9.21 masks, modifiers and the softmax's other outputs are inside the operation.
  for (const char* features :
       {R"("mask": "causal")", R"("mask": {"causal": true, "window_left": 9})", R"("mask": "padding_causal")",
        R"("mask": {"causal": true, "padding": true, "alignment": "bottom_right", "window_left": 11})",
        R"("bias": "1hss", "mask": "causal")", R"("softcap": 2.0)", R"("sink": true, "max_logit": true)",
        R"("alibi": true, "mask": "causal")"})
    for (const char* pattern : {"sdpa_unified", "sdpa_composite"})
      check_config(fmt::format(R"({{"pattern": "{}", "pass": "fprop_train", {}, {}}})", pattern, small, features),
                   92300);
}

TEST_CASE("the interpreter of graphs computes attention: backward", "[run][answers]") {
  for (const char* features : {R"("mask": "none")",
                               R"("mask": "causal")",
                               R"("mask": {"causal": true, "window_left": 9})",
                               R"("mask": "padding")",
                               R"("mask": "padding_causal")",
                               R"("bias": {"shape": "1hss", "grad": true})",
                               R"("alibi": true, "mask": "causal")",
                               R"("softcap": 2.0)",
                               R"("sink": true)",
                               R"("dropout": 0.2)",
                               R"("dropout": 0.2, "mask": "causal", "deterministic": true)",
                               R"("deterministic": true)",
                               R"("layout": "thd", "mask": "padding")",
                               R"("layout": "bhsd", "head_dim_v": 24)",
                               R"("score_mod": "gelu")",
                               R"("score_mod": "swish")",
                               R"("score_mod": "sin")",
                               R"("score_mod": "head_factor")",
                               R"("score_mod": "document")",
                               R"("score_mod": "exp")",
                               R"("dtype": "bf16")",
                               R"("bias": {"shape": "b11s", "grad": true})",
                               R"("bias": {"shape": "11s1", "grad": true})",
                               R"("bias": {"shape": "bh11", "grad": true})"})
    check_config(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "bprop", {}, {}}})", square, features));
  check_config(
      fmt::format(R"({{"pattern": "sdpa_composite", "pass": "bprop", {}, "mask": "causal_bottom_right"}})", small));
  for (const char* features :
       {R"("mask": "none")", R"("mask": "padding")", R"("bias": {"shape": "1hss", "grad": true})",
        R"("mask": "padding_causal", "cu_seqlens": "both")",
        R"("layout": "thd", "mask": "padding", "cu_seqlens": "both", "ragged_unit": "token")"})
    check_config(fmt::format(R"({{"pattern": "sdpa_unified", "pass": "bprop", {}, {}}})", square, features), 92800);
}

TEST_CASE("the interpreter of graphs computes attention: fp8, legacy and bare matmuls", "[run]") {
  for (const char* type : {"fp8_e4m3", "fp8_e5m2"})
    for (const char* pass : {"fprop", "fprop_train", "bprop"})
      for (const char* mask : {"none", "causal", "padding"})
        check_config(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "{}", "dtype": "{}", {}, "mask": "{}"}})",
                                 pass, type, square, mask));
  check_config(fmt::format(R"({{"pattern": "sdpa_composite", "dtype": "fp8_e4m3", "o_dtype": "bf16", {}}})", square));
  for (const char* features : {R"("mask": "padding")", R"("bias": "1hss")", R"("scale": 0.25)", R"("dropout": 0.2)"})
    check_config(fmt::format(R"({{"pattern": "mha", {}, {}}})", square, features));
  check_config(fmt::format(R"({{"pattern": "two_matmul", {}}})", square));
}

TEST_CASE("random configs: the interpreter and plain attention agree", "[run][slow]") {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 160; ++seed) {
    const auto config = small_random_config(seed);
    if (!config) continue;
    try {
      check_config(config->dump());
      ++checked;
    } catch (const Error&) {
      continue;
    } catch (const NotPlain&) {
      continue;
    }
  }
  CHECK(checked >= 80);
}

TEST_CASE("a plan with wrong results is detected", "[run]") {
  const std::string config = fmt::format(R"({{"pattern": "sdpa_composite", "pass": "fprop_train", {}}})", small);
  SECTION("one element") {
    Case c(config);
    const auto found = c.problem->verify(
        [&] {
          c.compute();
          // Row 3 of head 2 of batch entry 1, in bshd.
          auto* o = reinterpret_cast<uint16_t*>(c.memory("O"));
          o[((1 * 21 + 3) * 4 + 2) * 8 + 5] ^= 0x4000;
        },
        0);
    CHECK(found.status == probe::RunStatus::wrong_result);
    const auto& output = found.outputs.at(1).tensor == "O" ? found.outputs[1] : found.outputs.at(0);
    CHECK(output.tensor == "O");
    CHECK(output.wrong == 1);
    CHECK(output.first_wrong == std::vector<int64_t>{1, 2, 3, 5});
    CHECK(output.first_wrong_value.has_value());
    CHECK_THAT(found.message, ContainsSubstring("first at [1, 2, 3, 5]"));
  }
  SECTION("zeros instead of the small averages of long rows, within cudnn-frontend's absolute tolerance") {
    Case c(R"({"pattern": "sdpa_composite", "batch": 1, "heads": 1, "seqlen_q": 8, "seqlen_kv": 4096, "head_dim": 8})");
    const auto found = c.problem->verify([&] { std::fill_n(reinterpret_cast<uint16_t*>(c.memory("O")), 64, 0); }, 0);
    CHECK(found.status == probe::RunStatus::wrong_result);
  }
  SECTION("a NaN") {
    Case c(config);
    const auto found = c.problem->verify(
        [&] {
          c.compute();
          reinterpret_cast<uint16_t*>(c.memory("O"))[0] = 0x7e00;
        },
        0);
    CHECK(found.status == probe::RunStatus::wrong_result);
    CHECK(found.outputs[0].nan + found.outputs[1].nan == 1);
  }
  SECTION("an element that is not written") {
    Case c(config);
    const auto found = c.problem->verify(
        [&] {
          c.compute();
          reinterpret_cast<uint16_t*>(c.memory("O"))[7] = 0xffff;
        },
        0);
    CHECK(found.status == probe::RunStatus::wrong_result);
    CHECK(found.outputs[0].unwritten + found.outputs[1].unwritten == 1);
    CHECK_THAT(found.message, ContainsSubstring("not written"));
  }
  SECTION("a write before the tensor") {
    Case c(config);
    const auto found = c.problem->verify(
        [&] {
          c.compute();
          reinterpret_cast<uint16_t*>(c.memory("O"))[-3] = 1;
        },
        0);
    CHECK(found.status == probe::RunStatus::wrong_result);
    CHECK_THAT(found.message, ContainsSubstring("O: 1 elements outside"));
  }
  SECTION("a write into the gap between rows") {
    Case c(R"({"pattern": "sdpa_composite", "batch": 1, "heads": 2, "seqlen": 8, "head_dim": 8,
               "o_layout": {"strides": [256, 16, 32, 1]}})");
    const auto found = c.problem->verify(
        [&] {
          c.compute();
          reinterpret_cast<uint16_t*>(c.memory("O"))[9] = 1;
        },
        0);
    CHECK(found.status == probe::RunStatus::wrong_result);
    CHECK_THAT(found.message, ContainsSubstring("outside"));
  }
  SECTION("rows of padding may have any values, written or not") {
    Case c(R"({"pattern": "sdpa_composite", "batch": 2, "heads": 2, "seqlen": 16, "head_dim": 8,
               "mask": {"padding": true, "seqlens_q": [16, 4], "seqlens_kv": [16, 4]}})");
    const auto found = c.problem->verify(
        [&] {
          c.compute();
          reinterpret_cast<uint16_t*>(c.memory("O"))[((1 * 16 + 4) * 2) * 8] = 0x7e00;
        },
        0);
    CHECK(found.status == probe::RunStatus::ok);
  }
  SECTION("a different result in each run") {
    Case c(config);
    int run = 0;
    const auto found = c.problem->verify(
        [&] {
          c.compute();
          reinterpret_cast<uint16_t*>(c.memory("O"))[1] ^= static_cast<uint16_t>(run++ > 1 ? 1 : 0);
        },
        3);
    CHECK(found.status == probe::RunStatus::ok);
    CHECK(found.repeats == 3);
    CHECK(found.deterministic == false);
  }
  SECTION("dropout with a mask that differs from its neighbour's is correct for its own mask") {
    Case c(fmt::format(R"({{"pattern": "sdpa_composite", "dropout": 0.2, {}}})", small));
    CHECK(c.verify().status == probe::RunStatus::ok);
    const Keep other = [](int64_t b, int64_t h, int64_t i, int64_t j) { return !kept(b, h, i, j) || j % 3 == 0; };
    CHECK(c.problem
              ->verify(
                  [&] {
                    plain_attention(c.spec, c.built.graph, c.problem->pointers(), c.problem->data().lengths, other);
                  },
                  0)
              .status == probe::RunStatus::ok);
  }
  SECTION("dropout whose mask changes between runs is wrong") {
    Case c(fmt::format(R"({{"pattern": "sdpa_composite", "dropout": 0.2, {}}})", small));
    int64_t run = 0;
    const Keep changing = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return kept(b, h, i + run, j); };
    const auto found = c.problem->verify(
        [&] {
          ++run;
          plain_attention(c.spec, c.built.graph, c.problem->pointers(), c.problem->data().lengths, changing);
        },
        0);
    CHECK(found.status == probe::RunStatus::wrong_result);
  }
}

TEST_CASE("interleaved tensors share one buffer, as in frameworks", "[run]") {
  const Case together(
      R"({"pattern": "sdpa_composite", "batch": 2, "heads": 4, "seqlen": 24, "head_dim": 8, "layout": "bs3hd"})");
  CHECK(together.memory("K^T") - together.memory("Q") == 4 * 8 * 2);
  CHECK(together.memory("V") - together.memory("Q") == 2 * 4 * 8 * 2);
  const Case by_head(
      R"({"pattern": "sdpa_composite", "batch": 2, "heads": 4, "seqlen": 24, "head_dim": 8, "layout": "bsh3d"})");
  CHECK(by_head.memory("K^T") - by_head.memory("Q") == 8 * 2);
  for (const char* layout : {"bs3hd", "bsh3d", "sb3hd", "bshd_bs2hd"})
    for (const char* pass : {"fprop", "bprop"})
      check_config(fmt::format(
          R"({{"pattern": "sdpa_composite", "pass": "{}", "batch": 2, "heads": 4, "seqlen": 24, "head_dim": 8, "layout": "{}"}})",
          pass, layout));
  check_config(R"({"pattern": "mha", "batch": 2, "heads": 4, "seqlen": 24, "head_dim": 8, "layout": "bs3hd"})");
}

TEST_CASE("data regimes", "[run]") {
  run::RunOptions options;
  const std::string config = fmt::format(R"({{"pattern": "sdpa_composite", "bias": "1hss", {}}})", small);
  for (const auto& [regime, name] : EnumNames<run::DataRegime>::table) {
    INFO(name);
    options.data = regime;
    CHECK(Case(config, options).verify().status == probe::RunStatus::ok);
  }
  CHECK_THROWS_WITH(Json({{"data", "random"}}).at("data").get<run::DataRegime>(),
                    ContainsSubstring("\"random\" is not one of") && ContainsSubstring("negative_scores"));
}

TEST_CASE("small numbers round-trip through their types", "[run]") {
  using namespace run::kernels;
  CHECK(encode(1.0, 5, 10, true, false) == 0x3c00);
  CHECK(encode(65504.0, 5, 10, true, false) == 0x7bff);
  CHECK(encode(70000.0, 5, 10, true, false) == 0x7c00);
  CHECK(encode(5.9604644775390625e-8, 5, 10, true, false) == 1);  // the smallest
  CHECK(encode(-0.333, 8, 7, true, false) == 0xbeaa);
  CHECK(encode(448.0, 4, 3, false, true) == 0x7e);
  CHECK(encode(1000.0, 4, 3, false, true) == 0x7e);
  CHECK(encode(57344.0, 5, 2, true, true) == 0x7b);
  CHECK(encode(1.0625, 4, 3, false, true) == 0x38);  // a tie goes to the even number
  CHECK(encode(1.1875, 4, 3, false, true) == 0x3a);
  for (unsigned bits = 0; bits < 256; ++bits) {
    const float e4m3 = decode(bits, 4, 3, false), e5m2 = decode(bits, 5, 2, true);
    if (e4m3 == e4m3) CHECK(encode(e4m3, 4, 3, false, true) % 128 == bits % 128);
    if (e5m2 - e5m2 == 0) CHECK(encode(e5m2, 5, 2, true, true) % 128 == bits % 128);
  }
  for (unsigned bits = 0; bits < 0x7c00; ++bits) CHECK(encode(decode(bits, 5, 10, true), 5, 10, true, false) == bits);
}

TEST_CASE("compiled kernels are cached for the next process, and only complete ones are trusted", "[run]") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().c_str());
  int compiled = 0;
  const auto kernels = [&] {
    const auto code = run::cached_kernels(90, [&](int sm) {
      const std::string text = fmt::format("code for sm_{}, made {} times", sm, ++compiled);
      return std::vector<char>(text.begin(), text.end());
    });
    return std::string(code.begin(), code.end());
  };
  CHECK(kernels() == "code for sm_90, made 1 times");
  CHECK(kernels() == "code for sm_90, made 1 times");
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "attnprobe/kernels"))
    if (entry.path().extension() == ".cubin") file = entry.path();
  REQUIRE(file.filename().string().starts_with("sm_90-"));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  CHECK(kernels() == "code for sm_90, made 2 times");
  std::filesystem::permissions(file, std::filesystem::perms::all);  // any user may have written it
  CHECK(kernels() == "code for sm_90, made 3 times");
  const Variable no_cache("XDG_CACHE_HOME", nullptr), no_home("HOME", nullptr);
  CHECK(kernels() == "code for sm_90, made 4 times");
}

TEST_CASE("the kernels compile for every architecture that cuDNN's attention runs on", "[run][slow]") {
  for (const int sm : {80, 90, 100, 120}) {
    INFO(sm);
    CHECK(run::compile_kernels(sm).size() > 10'000);
  }
}

}  // namespace attnprobe::test::problem_test
