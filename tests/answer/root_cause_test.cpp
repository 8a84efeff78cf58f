// The meaning of cuDNN's reasons, the choice of the root cause, and fixes.
#include <algorithm>

#include "answer/reasons.hpp"
#include "answer/root_cause.hpp"
#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "catch.hpp"
#include "log/log_parse.hpp"

namespace attnprobe::test::root_cause_test {

using namespace attnprobe::answer;

using probe::EngineConfigFindings;
using probe::Reason;
using probe::WalkFindings;

namespace {

const Reason shared_memory{"CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
                           "Kernel request for shared memory is exceeding the shared memory in the GPU at: x > y"};
const Reason architecture{"CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
                          "only Hopper is supported for this engine at: true"};
const Reason pattern{"CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN",
                     "the chosen engine does not support this graph pattern at: true"};
const Reason head_dim{"CUDNN_STATUS_NOT_SUPPORTED_SHAPE",
                      "MHA needs hidden dims to be 64 at: aTensor->getDimA()[3] != 64"};
const Reason outer{"CUDNN_STATUS_NOT_SUPPORTED", "ptr->isSupported()"};

// An engine config that failed the support check; mode "" if it was found outside the heuristics.
EngineConfigFindings fallen(const std::string& mode, int64_t rank, int64_t engine, const Reason& reason) {
  EngineConfigFindings config;
  if (!mode.empty()) {
    config.modes = {mode};
    config.rank = {{mode, rank}};
  }
  config.engine = engine;
  config.check = {false, "CUDNN_STATUS_NOT_SUPPORTED"};
  config.reasons = {reason, outer};
  return config;
}

// An engine config that passed the check, but failed to build its plan.
EngineConfigFindings failed_plan(int64_t engine, const std::string& status, const std::vector<Reason>& reasons) {
  EngineConfigFindings config;
  config.modes = {"A"};
  config.rank = {{"A", 0}};
  config.engine = engine;
  config.check = {true, "CUDNN_STATUS_SUCCESS"};
  config.plan = probe::PlanFindings{status, 1.0, {}, false, reasons, {}};
  return config;
}

WalkFindings findings_of(const std::vector<EngineConfigFindings>& configs) {
  WalkFindings findings;
  findings.engine_configs = configs;
  findings.plans_built = std::any_of(configs.begin(), configs.end(), [](const auto& c) { return c.plan.has_value(); });
  return findings;
}

RootCause cause_of(const std::vector<EngineConfigFindings>& configs) {
  return root_cause(findings_of(configs));
}

// The findings from the support checks of a mode in a captured log.
void add_captured(WalkFindings& findings, const std::string& mode, const std::string& log) {
  const auto configs = log::parse_engine_configs(log);
  for (size_t i = 0; i < configs.size(); ++i) {
    findings.engine_configs.push_back(fallen(mode, static_cast<int64_t>(i), configs[i].engine, {}));
    findings.engine_configs.back().reasons = configs[i].reasons;
  }
}

// The forum's two matmuls on an L40S.
WalkFindings forum_case() {
  WalkFindings findings;
  add_captured(findings, "A", fixture("support-checks-l40s-two-matmul-mode-a.txt"));
  add_captured(findings, "FALLBACK", fixture("support-checks-l40s-two-matmul-fallback.txt"));
  return findings;
}

std::string category(const std::string& status, const std::string& reason) {
  return std::string(name_of(cause_of({fallen("A", 0, 1, {"CUDNN_STATUS_" + status, reason})}).category));
}

}  // namespace

// ---- root cause

TEST_CASE("The two matmuls of the forum post fail because of shared memory", "[diagnose]") {
  const RootCause cause = root_cause(forum_case());
  CHECK(cause.category == Category::shared_memory);
  CHECK(cause.status == "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT");
  CHECK_THAT(
      cause.reason,
      StartsWith("Kernel request for shared memory is exceeding the shared memory in the GPU at: requested_smem"));
  CHECK(cause.engine == 0);
  CHECK(cause.mode == "A");
  CHECK_THAT(cause.explanation, ContainsSubstring("needs more shared memory per block than this GPU has"));
  CHECK_FALSE(cause.in_general.empty());
  CHECK(cause.advice.empty());  // advice is confirmed by probes, and nothing was probed
}

TEST_CASE("The order of findings does not matter", "[diagnose]") {
  WalkFindings findings = forum_case();
  std::reverse(findings.engine_configs.begin(), findings.engine_configs.end());
  CHECK(root_cause(findings).category == Category::shared_memory);
  CHECK(root_cause(findings).mode == "A");
}

TEST_CASE("The engine that got furthest determines the cause", "[diagnose]") {
  CHECK(cause_of({fallen("FALLBACK", 0, 2, architecture), fallen("FALLBACK", 1, 7, pattern),
                  fallen("FALLBACK", 2, 0, shared_memory)})
            .category == Category::shared_memory);
  CHECK(cause_of({fallen("A", 0, 2, architecture), fallen("A", 1, 7, pattern)}).category == Category::graph_pattern);
  CHECK(cause_of({fallen("A", 0, 7, pattern), fallen("A", 1, 0, head_dim)}).category == Category::head_dim);
}

TEST_CASE("Between equals, mode A's engine takes precedence over FALLBACK's", "[diagnose]") {
  const RootCause cause = cause_of({fallen("FALLBACK", 0, 5, shared_memory), fallen("A", 3, 6, shared_memory)});
  CHECK(cause.engine == 6);
  CHECK(cause.mode == "A");
}

TEST_CASE("Between equals, the better rank takes precedence", "[diagnose]") {
  CHECK(cause_of({fallen("A", 2, 5, shared_memory), fallen("A", 1, 6, shared_memory)}).engine == 6);
}

TEST_CASE("Proposals of a heuristic take precedence over those of a sweep", "[diagnose]") {
  const RootCause cause = cause_of({fallen("", 0, 5, shared_memory), fallen("FALLBACK", 4, 6, shared_memory)});
  CHECK(cause.engine == 6);
  CHECK_FALSE(cause_of({fallen("", 0, 5, shared_memory)}).mode);
}

TEST_CASE("An unknown text is shown verbatim", "[diagnose]") {
  const RootCause cause =
      cause_of({fallen("A", 0, 3, {"CUDNN_STATUS_NOT_SUPPORTED", "the moon is full at: moon == 1"})});
  CHECK(cause.category == Category::unknown);
  CHECK(cause.status == "CUDNN_STATUS_NOT_SUPPORTED");
  CHECK(cause.reason == "the moon is full at: moon == 1");
  CHECK(cause.explanation == "This message of cuDNN is not in attnprobe's catalogue.");
  CHECK(cause.in_general.empty());
}

TEST_CASE("A config without knobs is not an error of cuDNN", "[diagnose]") {
  // FALLBACK proposes every engine; an engine without a kernel for the graph gives this reason.
  const Reason no_knob{"CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE",
                       "No knob was found for this mode for fused attention in SM120."};
  const Reason entrance{
      "CUDNN_STATUS_NOT_SUPPORTED",
      "The matmul should either be an entrance node or occur after the softmax and only allowed 2 at: true"};
  const RootCause cause = cause_of({fallen("FALLBACK", 0, 4, no_knob), fallen("FALLBACK", 1, 0, entrance)});
  CHECK(cause.engine == 0);
  CHECK(cause.category == Category::graph_pattern);
}

TEST_CASE("A plan that does not compile after a passed check is the cause", "[diagnose]") {
  const auto reasons = log::parse_reasons(fixture("plan-compilation-failed.txt"));
  const RootCause cause = cause_of(
      {fallen("A", 0, 1, shared_memory), failed_plan(2, "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED", reasons)});
  CHECK(cause.category == Category::compilation);
  CHECK(cause.engine == 2);
  CHECK_THAT(cause.reason, StartsWith("Encountered runtime kernel compilation failure"));
}

TEST_CASE("A config that works is not a cause", "[diagnose]") {
  auto works =
      failed_plan(2, "CUDNN_STATUS_SUCCESS", {{"CUDNN_STATUS_SUCCESS", "library configuration is set to AUTO"}});
  CHECK(cause_of({works, fallen("A", 1, 1, pattern)}).engine == 1);
}

TEST_CASE("A failed plan without reason lines keeps its status", "[diagnose]") {
  const RootCause cause = cause_of({failed_plan(2, "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED", {})});
  CHECK(cause.category == Category::compilation);
  CHECK(cause.status == "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED");
  CHECK(cause.engine == 2);
}

TEST_CASE("A config that was rejected without reason lines is still a candidate", "[diagnose]") {
  auto config = fallen("A", 0, 3, {});
  config.check.status = "CUDNN_STATUS_NOT_SUPPORTED_SHAPE";
  config.reasons.clear();
  const RootCause cause = cause_of({config});
  CHECK(cause.category == Category::shape);
  CHECK(cause.status == "CUDNN_STATUS_NOT_SUPPORTED_SHAPE");
  CHECK(cause.engine == 3);
}

TEST_CASE("An insufficient GPU takes precedence over an engine that never supports the graph", "[diagnose]") {
  auto only = [](const std::string& what, const std::string& bound) {
    return Reason{"CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH",
                  "only " + what + " is supported for this engine at: !(" + bound + " <= deviceVer)"};
  };
  const WalkFindings findings = findings_of(
      {fallen("FALLBACK", 0, 0, pattern), fallen("FALLBACK", 1, 1, only("Ampere or above", "800")),
       fallen("FALLBACK", 2, 2, only("Hopper", "900")), fallen("FALLBACK", 3, 3, only("Blackwell", "1000"))});
  auto engine_to_blame = [&](const std::string& config, int sm) {
    const auto spec = attention::parse_configs(config, "test").at(0).spec;
    const RootCause cause = root_cause(findings, spec, 91900, sm);
    CHECK(cause.category == (cause.engine == 0 ? Category::graph_pattern : Category::arch_mismatch));
    return cause.engine.value();
  };
  const std::string plain = R"({"pattern": "sdpa_composite", "heads": 2, "seqlen": 128, "head_dim": 128})";
  CHECK(engine_to_blame(plain, 75) == 1);
  CHECK(engine_to_blame(plain, 80) == 0);
  std::string fp8 = plain, mxfp8 = plain;
  fp8.insert(1, R"("dtype": "fp8_e4m3", )");
  mxfp8.insert(1, R"("dtype": "fp8_e4m3", "fp8": "mxfp8", )");
  CHECK(engine_to_blame(fp8, 80) == 2);
  CHECK(engine_to_blame(fp8, 90) == 0);
  CHECK(engine_to_blame(mxfp8, 80) == 3);
  CHECK(engine_to_blame(mxfp8, 90) == 3);
}

TEST_CASE("If nothing was proposed, that is the cause", "[diagnose]") {
  WalkFindings findings;
  findings.modes = {{"A", "CUDNN_STATUS_SUCCESS", 0, 0, {}, {}}};
  CHECK(root_cause(findings).category == Category::no_candidates);
  findings.engines.resize(2);
  findings.engines[1].engine = 1;
  findings.engines[1].reasons = {architecture};
  CHECK(root_cause(findings).reason == architecture.reason);
  CHECK(root_cause(findings).engine == 1);
}

TEST_CASE("A failed mode query is the cause", "[diagnose]") {
  WalkFindings findings;
  findings.modes = {{"A", "CUDNN_STATUS_SUCCESS", 0, 0, {}, {}},
                    {"B", "CUDNN_STATUS_NOT_SUPPORTED", 0, 0, {}, {pattern, outer}}};
  const RootCause cause = root_cause(findings);
  CHECK(cause.category == Category::graph_pattern);
  CHECK(cause.mode == "B");
  CHECK(cause.reason == pattern.reason);
}

TEST_CASE("An invalid graph is the cause", "[diagnose]") {
  WalkFindings findings = forum_case();
  findings.failure = probe::Failure{"operation graph", "finalizing the matmul", {}};
  findings.failure->cudnn.status = "CUDNN_STATUS_BAD_PARAM";
  findings.failure->cudnn.last_error = "aDesc != bDesc";
  const RootCause cause = root_cause(findings);
  CHECK(cause.category == Category::invalid_graph);
  CHECK(cause.status == "CUDNN_STATUS_BAD_PARAM");
  CHECK(cause.reason == "aDesc != bDesc");
  CHECK(cause.explanation == "cuDNN refuses the graph itself, at operation graph: finalizing the matmul");
  findings.failure->cudnn.last_error.clear();
  CHECK(root_cause(findings).reason == "finalizing the matmul");
}

// ---- the environment

TEST_CASE("Reasons about the machine are distinguished from reasons about the graph", "[diagnose]") {
  CHECK(category("NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", "this->libcuda == nullptr") == "environment");
  CHECK(category("NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", "Could not open libnvrtc.so.12") == "environment");
  CHECK(category("NOT_SUPPORTED", "Could not open libnvrtc.so.12") == "environment");
  CHECK(category("NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER", "anything") == "environment");
  CHECK(category("NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE", "anything") == "environment");
}

TEST_CASE("A missing driver takes precedence over all other reasons", "[diagnose]") {
  WalkFindings findings;
  add_captured(findings, "A", fixture("support-checks-no-driver.txt"));
  REQUIRE(findings.engine_configs.size() == 5);
  const RootCause cause = root_cause(findings);
  CHECK(cause.category == Category::environment);
  CHECK(cause.reason == "this->libcuda == nullptr");
  CHECK(speaks_of_environment(findings));
}

TEST_CASE("A reason about the graph never counts as one about the machine, even with a machine status", "[diagnose]") {
  // cuDNN 9.8 to 9.10 on a simulated A100: fp8, backward.
  const std::string status = "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART";
  EngineConfigFindings config = fallen(
      "A", 0, 1,
      {status, "FP8 Flash Attention is not supported for sm_80 instructions or cuda TK < 12.0 at: this->is_fp8"});
  config.reasons.insert(config.reasons.begin() + 1, {status, "a call that nobody knows()"});
  CHECK_FALSE(speaks_of_environment(findings_of({config})));
  CHECK(cause_of({config}).category == Category::arch_mismatch);
  config.reasons = {{status, "a text that nobody knows"}};
  CHECK(speaks_of_environment(findings_of({config})));
}

TEST_CASE("An environment reason is found wherever it occurs", "[diagnose]") {
  const Reason nvrtc{"CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", "Could not open libnvrtc.so"};
  CHECK_FALSE(speaks_of_environment(forum_case()));
  CHECK(speaks_of_environment(findings_of({failed_plan(1, nvrtc.status, {nvrtc})})));
  WalkFindings of_mode;
  of_mode.modes = {{"A", nvrtc.status, 0, 0, {}, {nvrtc}}};
  CHECK(speaks_of_environment(of_mode));
  WalkFindings of_graph;
  of_graph.failure = probe::Failure{"operation graph", "", {}};
  of_graph.failure->cudnn.status = "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED";
  CHECK(speaks_of_environment(of_graph));
  of_graph.failure->cudnn.status = "CUDNN_STATUS_BAD_PARAM";
  CHECK_FALSE(speaks_of_environment(of_graph));
}

}  // namespace attnprobe::test::root_cause_test
