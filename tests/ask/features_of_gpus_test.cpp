// Every feature has a config under configs/features. Each is asked on six simulated GPUs. A supported one must use
// engines of the GPU's own architecture; a refused one must have cuDNN's reason.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "answer/reasons.hpp"
#include "ask/further/ways_out.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "support.hpp"
#include "worker/pool.hpp"

namespace attnprobe::test::features_of_gpus_test {

using answer::Answer;
using answer::Verdict;

namespace {

const std::string targets = "a100,l40s,h200,b200,rtx5090,t4";

// Engines of cuDNN 9.19 for which the check can pass, by architecture (docs/how-it-works.md, "Engines"). Engine 0 is
// legacy, 1 to 4 flash forward, 5 to 7 backward, 8 to 11 the unified operation. 4 and 11 accept other architectures for
// two knob values.
const std::map<std::string, std::set<int64_t>>& engines_of() {
  static const std::map<std::string, std::set<int64_t>> engines{{"a100", {0, 1, 7, 8}},
                                                                {"l40s", {1, 7, 8}},
                                                                {"h200", {0, 1, 2, 4, 6, 7, 8, 9, 11}},
                                                                {"b200", {0, 1, 3, 4, 5, 7, 8, 10, 11}},
                                                                {"rtx5090", {1, 4, 7, 8, 11}}};
  return engines;
}

std::vector<Answer> probe_file(const std::string& name) {
  std::ifstream file(std::filesystem::path(ATTNPROBE_SOURCE_DIR) / "configs/features" / (name + ".json"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return probe_all(text, targets);
}

// The reason that stopped the furthest engine.
struct Refusal {
  const char *file, *config, *target, *category, *reason;
};
const std::vector<Refusal> refusals{
    {"masks", "block mask", "h200", "mask", "Block mask is only supported on Blackwell"},
    {"softmax-outputs", "sums alone", "h200", "graph_pattern", "Dropout set of ops not configured correctly"},
    {"softmax-outputs", "sink with maxima and sums", "b200", "graph_pattern",
     "The matmul should either be an entrance node"},
    {"dropout", "philox, 32-bit seed", "b200", "dropout", "does not support seed tensor of data type != int64"},
    {"heads-and-dims", "head dimension 68", "a100", "head_dim", "is not a multiple of 8"},
    {"backward", "softcap", "l40s", "score_mod", "Backward activations are not supported in Ampere"},
    {"backward", "ragged bias gradient", "a100", "deterministic", "non-atomic bprop thd is not supported"},
    {"backward", "head dimension 256", "b200", "head_dim", "is not less than equal to 128"},
    {"backward", "MLA, 192 and 128", "rtx5090", "head_dim", "is not less than equal to 128"},
    {"backward", "f32", "h200", "data_type", "should be half / bf16 / e4m3 / e5m2"},
    {"fp8", "inference", "a100", "arch_mismatch", "MHA only supports FP16/BF16 I/O"},
    {"fp8", "into bf16, current scaling", "h200", "data_type",
     "FP8 input with F16 output is only supported on Blackwell"},
    {"fp8", "dropout", "rtx5090", "dropout", "Dropout is not supported with sm120 prefill backend"},
    {"fp8", "decode", "h200", "arch_mismatch", "s_q=1 on Hopper should go into sm80"},
    {"fp8", "MLA, 192 and 128", "rtx5090", "head_dim", "is not less than equal to 128"},
    {"fp8", "MXFP8", "b200", "graph_pattern", "Not supported node in flash fprop"},
    {"fp8", "backward", "rtx5090", "arch_mismatch", "FP8 Flash Attention is not supported for sm_80"},
    {"fp8", "backward into bf16", "h200", "data_type", "FP8 input with F16 output is only supported on Blackwell"},
    {"fp8", "backward, 192 and 128", "h200", "head_dim", "Only D=128 for BPROP fp8 FMHA"},
    {"fp8", "backward, MXFP8", "b200", "graph_pattern", "There need to be two matmul without any producers"},
    {"legacy", "padding", "l40s", "shared_memory", "exceeding the shared memory in the GPU"},
    {"legacy", "causal alone", "a100", "graph_pattern", "Mask set of ops not configured correctly"},
    {"legacy", "head dimension 80", "h200", "head_dim", "MHA needs hidden dims to be 64"},
    {"legacy", "length 1024", "h200", "sequence_length", "Seq length > 512 not supported"},
    {"legacy", "backward, no mask", "a100", "layout", "dp should be reordered"},
};

// A confirmed and offered change.
struct ExpectedWay {
  const char *file, *config, *target, *advice;
};
const std::vector<ExpectedWay> expected_ways{
    {"dropout", "philox, 32-bit seed", "b200", "dropout's seed and offset as 64-bit tensors"},
    {"fp8", "inference", "a100", "bf16 instead of fp8"},
    {"fp8", "into bf16, current scaling", "h200", "O in fp8_e4m3, the type of Q, K and V"},
    {"fp8", "MXFP8", "b200", "one scale per tensor instead of MXFP8"},
    {"backward", "ragged bias gradient", "a100", "padded instead of ragged tensors"},
    {"backward", "ragged bias gradient", "b200", "without the bias gradient"},
    {"backward", "f32", "h200", "bf16 instead of f32"},
    {"backward", "softcap", "l40s", "without the softcap"},
    {"softmax-outputs", "sums alone", "h200", "with the row maxima as an output too"},
    {"softmax-outputs", "sink with maxima and sums", "h200", "statistics instead of row maxima and sums"},
    {"legacy", "causal alone", "a100", "with a padding mask"},
    {"legacy", "padding", "l40s", "pattern \"sdpa\" instead of \"mha\""},
};

const Answer& cell(const std::vector<Answer>& results, const std::string& config, const std::string& target) {
  for (const auto& result : results)
    if (result.config.spec.name == config && result.target.id == target) return result;
  throw std::runtime_error("no result of " + config + " on " + target);
}

void check_refusals(const std::string& name, const std::vector<Answer>& results) {
  for (const auto& refusal : refusals) {
    if (refusal.file != name) continue;
    INFO(name << ": " << refusal.config << " on " << refusal.target);
    const Answer& result = cell(results, refusal.config, refusal.target);
    REQUIRE(result.root_cause);
    CHECK(name_of(result.root_cause->category) == refusal.category);
    CHECK(contains(result.root_cause->reason, refusal.reason));
  }
  worker::Pool pool(2);
  asking::PlanOptions options;
  const asking::Session session{.pool = &pool};
  asking::SuggestOptions suggest;
  suggest.most = 40;
  suggest.compile = suggest.two_at_a_time = false;
  for (const auto& expected_way : expected_ways) {
    if (expected_way.file != name) continue;
    INFO(name << ": " << expected_way.config << " on " << expected_way.target);
    Answer refused = cell(results, expected_way.config, expected_way.target);
    advise(refused, options, session, suggest);
    const auto& found = refused.ways_out;
    CHECK(std::any_of(found.begin(), found.end(),
                      [&](const auto& way) { return contains(way.changes[0], expected_way.advice); }));
  }
}

void check_file(const std::string& name) {
  const std::vector<Answer> results = probe_file(name);
  for (const Answer& result : results) {
    if (result.cudnn_version.number() / 100 != 919) {
      WARN("SKIPPED: the expectations are of cuDNN 9.19, this is " << result.cudnn_version);
      return;
    }
    INFO(name << ": " << result.config.spec.name << " on " << result.target.id);
    CHECK(met_expectation(result));
    if (result.verdict == Verdict::supported) {
      for (const auto& config : result.findings.engine_configs)
        if (config.check.supported) CHECK(engines_of().at(result.target.id).count(config.engine) == 1);
      continue;
    }
    REQUIRE(result.verdict == Verdict::unsupported);
    CHECK_FALSE(result.root_cause->reason.empty());
    CHECK(answer::find_reason({result.root_cause->status, result.root_cause->reason}) != nullptr);
  }
  check_refusals(name, results);
}

}  // namespace

TEST_CASE("features on six GPUs: masks", "[features][answers]") {
  check_file("masks");
}
TEST_CASE("features on six GPUs: scores", "[features][answers]") {
  check_file("scores");
}
TEST_CASE("features on six GPUs: softmax outputs", "[features][answers]") {
  check_file("softmax-outputs");
}
TEST_CASE("features on six GPUs: dropout", "[features][answers]") {
  check_file("dropout");
}
TEST_CASE("features on six GPUs: heads and dimensions", "[features][answers]") {
  check_file("heads-and-dims");
}
TEST_CASE("features on six GPUs: ragged, paged, decode", "[features][answers]") {
  check_file("ragged-and-paged");
}
TEST_CASE("features on six GPUs: backward", "[features][answers]") {
  check_file("backward");
}
TEST_CASE("features on six GPUs: fp8", "[features][answers]") {
  check_file("fp8");
}
TEST_CASE("features on six GPUs: legacy", "[features][answers]") {
  check_file("legacy");
}

TEST_CASE("for a malformed graph, the answer names descriptor, operation and cuDNN's condition", "[features]") {
  struct Malformed {
    const char *config, *descriptor, *message, *reason;
  };
  const std::vector<Malformed> cases{
      {R"({"pattern": "sdpa_composite", "heads_q": 8, "heads_kv": 3, "seqlen": 512, "head_dim": 64})",
       "CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR", "operation 0 (matmul)", "aDesc.getDimA()[bIdx] %"},
      {R"({"pattern": "sdpa_composite", "heads": 8, "seqlen": 512, "head_dim": 64, "paged": 48, "mask": "padding"})",
       "CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR", "operation 0 (paged_cache_load)",
       "block size needs to be non-zero and a power of 2"},
      {R"({"pattern": "sdpa_unified", "pass": "bprop", "heads": 8, "seqlen": 512, "head_dim": 64})",
       "CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR", "the operation graph", "outputGraph.buildDAG()"},
  };
  for (const auto& [config, descriptor, message, reason] : cases) {
    INFO(config);
    const Answer result = probe_one(config, "h200");
    if (result.cudnn_version.number() / 100 != 919) return;
    CHECK(result.verdict == Verdict::invalid_graph);
    REQUIRE(result.findings.failure);
    CHECK(result.findings.failure->cudnn.status == "CUDNN_STATUS_BAD_PARAM");
    CHECK(result.findings.failure->cudnn.descriptor == descriptor);
    CHECK(contains(result.findings.failure->message, message));
    CHECK(contains(result.root_cause->reason, reason));
  }
}

TEST_CASE("an operation that needs a newer cuDNN is unsupported, with the version", "[features][answers]") {
  const Answer result =
      probe_one(R"({"pattern": "sdpa_unified", "heads": 8, "seqlen": 512, "head_dim": 64, "mask": "causal"})", "h200");
  if (result.cudnn_version >= 92100) return;
  CHECK(result.verdict == Verdict::unsupported);
  CHECK(result.root_cause->category == answer::Category::version);
  CHECK(contains(result.root_cause->explanation, "CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR"));
  REQUIRE(!result.requirements.empty());
  CHECK(contains(result.requirements.front().text, "need cuDNN 9.21.0"));
}

TEST_CASE("the documented limits of legacy attention are always shown", "[features][answers]") {
  auto warnings = [](const std::string& config) {
    std::vector<std::string> ids;
    for (const auto& warning : probe_one(config, "a100").warnings) ids.push_back(warning.id);
    return ids;
  };
  const std::string mha = R"("pattern": "mha", "heads": 8, "mask": "padding")";
  using Ids = std::vector<std::string>;
  CHECK(warnings("{" + mha + R"(, "seqlen": 512, "head_dim": 80})") == Ids{"legacy_head_dim"});
  CHECK(warnings("{" + mha + R"(, "seqlen": 1024, "head_dim": 64})") == Ids{"legacy_length"});
  // cuDNN 9.19's check passes this one.
  CHECK(warnings("{" + mha + R"(, "seqlen": 100, "head_dim": 64, "pass": "fprop_train"})") ==
        Ids{"legacy_training_length"});
  CHECK(warnings("{" + mha + R"(, "seqlen": 100, "head_dim": 64})").empty());
}

}  // namespace attnprobe::test::features_of_gpus_test
