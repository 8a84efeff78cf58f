// Parsing cuDNN's log: real texts of cuDNN 9.19 (fixtures/README.md), and broken ones.
#include <fmt/format.h>

#include "log/log_parse.hpp"

#include <algorithm>

#include "catch.hpp"
#include "log/status.hpp"

namespace attnprobe::test::log_parse_test {

using namespace attnprobe::log;

namespace {

constexpr const char* checks =
    "CuDNN (v91900 56) function "
    "cudnnBackendGetAttribute_CUDNN_ATTR_ENGINEHEUR_RESULTS_engine_config_support_checks() called:\n";
constexpr const char* other_call = "CuDNN (v91900 56) function cudnnBackendSetAttribute() called:\n";
constexpr const char* visualize = "CuDNN (v91900 56) function cudnnBackendFinalizeEngineCfgVisualize() called:\n";

std::string block(int engine, const std::string& reason) {
  return "    engineConfig: type=json; val={\"engineId\":" + std::to_string(engine) +
         ",\"smVersion\":890,\"knobChoices\":{}};\n    Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: " + reason + "\n";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::vector<int64_t> engines(const std::vector<EngineConfigLog>& configs) {
  std::vector<int64_t> result;
  for (const auto& c : configs) result.push_back(c.engine);
  return result;
}

std::vector<std::string> texts(const std::vector<Reason>& reasons) {
  std::vector<std::string> result;
  for (const auto& r : reasons) result.push_back(r.reason);
  return result;
}

using Ids = std::vector<int64_t>;
using Texts = std::vector<std::string>;

void check_forum_case(const std::vector<EngineConfigLog>& configs) {
  REQUIRE(configs.size() == 1);
  CHECK(configs[0].engine == 0);
  CHECK(configs[0].sm_version == 890);
  CHECK(configs[0].knobs == Knobs{{"KERNEL_CFG", 0}});
  REQUIRE(configs[0].reasons.size() == 5);
  CHECK(configs[0].reasons[0] ==
        Reason{"CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
               "Kernel request for shared memory is exceeding the shared memory in the GPU at: "
               "requested_smem_exceed_arch_limit(this->getDeviceProp(), this->shared_mem_size[kernelNumRunning])"});
  CHECK(configs[0].reasons[1].reason == "kernelGeneration()");
  CHECK(configs[0].reasons[4] == Reason{"CUDNN_STATUS_NOT_SUPPORTED", "finalize_internal()"});
}

}  // namespace

// ---- engine configs that were rejected

TEST_CASE("An error stack gives each engine config once, with its reasons innermost first", "[log]") {
  check_forum_case(parse_engine_configs(fixture("support-checks-l40s-two-matmul-mode-a.txt")));
}

TEST_CASE("FALLBACK's engine configs come in order, with unset knobs as -1", "[log]") {
  const auto configs = parse_engine_configs(fixture("support-checks-l40s-two-matmul-fallback.txt"));
  CHECK(engines(configs) == Ids{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(configs.at(1).knobs == Knobs{{"KERNEL_CFG", -1}});
  CHECK(configs.at(5).knobs == Knobs{{"KERNEL_CFG", -1}, {"STAGES", -1}});
  CHECK(configs.at(1).reasons.at(0) ==
        Reason{"CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE", "The mode for fused attention was not found."});
  CHECK(configs.at(2).reasons.at(0).reason ==
        "only Hopper is supported for this engine at: !(900 <= deviceVer && deviceVer < 1000)");
  CHECK(configs.at(7).reasons.at(0).status == "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN");
}

TEST_CASE("Among viable candidates only the rejected ones have a block", "[log]") {
  const auto configs = parse_engine_configs(fixture("support-checks-h200-sdpa-mode-a.txt"));
  REQUIRE(configs.size() == 1);
  CHECK(configs[0].engine == 2);
  CHECK(configs[0].knobs == Knobs{{"KERNEL_CFG", 32}});
  CHECK(configs[0].sm_version == 900);
  CHECK(configs[0].reasons.size() == 5);
}

TEST_CASE("Markers of log file lines are ignored", "[log]") {
  const auto configs = parse_engine_configs(fixture("log-file-pytorch-h200.txt"));
  REQUIRE(configs.size() == 1);
  CHECK(configs[0].engine == 2);
  CHECK(configs[0].reasons.size() == 5);
  CHECK(configs[0].reasons[0].status == "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT");
}

TEST_CASE("Warning and error markers are ignored", "[log]") {
  for (const char* marker : {"i! ", "w! ", "e! "}) {
    INFO(marker);
    const std::string text = replaced(fixture("forum-318288.txt"), "i! ", marker);
    CHECK(engines(parse_engine_configs(text)) == Ids{7});
    CHECK(parse_reasons(text).size() == 7);
  }
}

TEST_CASE("Lines quoted in a forum post are understood without their call", "[log]") {
  const auto configs = parse_engine_configs(fixture("forum-318288.txt"));
  REQUIRE(configs.size() == 1);
  CHECK(configs[0].engine == 7);
  CHECK(configs[0].knobs == Knobs{{"KERNEL_CFG", 25}, {"SPLIT_K_SLC", -1}});
  REQUIRE(configs[0].reasons.size() == 7);
  CHECK(configs[0].reasons[0] ==
        Reason{"CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN",
               "Multi-GEMM is only supported on Hopper at: receive_op_->target != fort_device::SM90"});
}

TEST_CASE("CRLF line ends are ignored", "[log]") {
  check_forum_case(parse_engine_configs(replaced(fixture("support-checks-l40s-two-matmul-mode-a.txt"), "\n", "\r\n")));
}

TEST_CASE("NUL bytes end lines, as in the callback's message", "[log]") {
  check_forum_case(
      parse_engine_configs(replaced(fixture("support-checks-l40s-two-matmul-mode-a.txt"), "\n", std::string("\0", 1))));
  check_forum_case(parse_engine_configs(
      replaced(fixture("support-checks-l40s-two-matmul-mode-a.txt"), "\n", std::string("\n\0", 2))));
}

TEST_CASE("A truncated block is omitted with its reasons", "[log]") {
  const std::string whole = fixture("support-checks-l40s-two-matmul-mode-a.txt");
  const std::string cut = replaced(whole, "\"CUDNN_KNOB_TYPE_KERNEL_CFG\":0}};", "\"CUDNN_KNOB_TY");
  CHECK(parse_engine_configs(cut).empty());
  CHECK(engines(parse_engine_configs(checks + block(3, "whole") +
                                     "    engineConfig: type=json; val={\"engineId\":4,")) == Ids{3});
  const auto configs =
      parse_engine_configs(checks + block(3, "whole") + "    engineConfig: type=json; val={\"engineId\":4,\n" +
                           "    Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: of the cut one\n");
  CHECK(texts(configs.at(0).reasons) == Texts{"whole"});
}

TEST_CASE("A text truncated anywhere is read safely", "[log]") {
  const std::string whole = fixture("support-checks-l40s-two-matmul-fallback.txt");
  size_t most = 0;
  for (size_t length = 0; length < whole.size(); length += 37) {
    const auto configs = parse_engine_configs(whole.substr(0, length));
    CHECK(configs.size() >= most);
    most = configs.size();
  }
  CHECK(parse_engine_configs("").empty());
}

TEST_CASE("Entries that are not an engine config are omitted", "[log]") {
  for (const char* json : {"{}", "[]", "3", "{\"engineId\":\"2\"}", "not json", "{\"engineId\":2", ""}) {
    INFO(json);
    CHECK(parse_engine_configs(fmt::format("{}    engineConfig: type=json; val={};\n", checks, json)).empty());
  }
}

TEST_CASE("A brace in a string does not end the JSON", "[log]") {
  const auto configs = parse_engine_configs(
      R"(engineConfig: type=json; val={"note":"a } \" {","engineId":9,"knobChoices":{"CUDNN_KNOB_TYPE_STAGES":2,"odd":1,"text":"x"}};)");
  REQUIRE(engines(configs) == Ids{9});
  CHECK(configs[0].knobs == Knobs{{"STAGES", 2}, {"odd", 1}});
}

TEST_CASE("Reasons of the next call are not attributed to the engine config", "[log]") {
  const auto configs = parse_engine_configs(checks + block(1, "its own") + other_call +
                                            "    Warning: CUDNN_STATUS_BAD_PARAM; Reason: of another call\n" + checks +
                                            block(2, "second"));
  REQUIRE(engines(configs) == Ids{1, 2});
  CHECK(texts(configs[0].reasons) == Texts{"its own"});
  CHECK(texts(configs[1].reasons) == Texts{"second"});
}

TEST_CASE("Engine configs that differ in a knob are two", "[log]") {
  const std::string text = fixture("support-checks-l40s-two-matmul-mode-a.txt");
  CHECK(parse_engine_configs(text + replaced(text, "KERNEL_CFG\":0", "KERNEL_CFG\":1")).size() == 2);
}

// ---- candidates

TEST_CASE("Candidates are the heuristic's list in its order", "[log]") {
  const auto candidates = parse_candidates(fixture("support-checks-h200-sdpa-mode-a.txt"));
  CHECK(engines(candidates) == Ids{2, 2, 1, 1, 1});
  std::vector<int64_t> kernels;
  for (const auto& c : candidates) kernels.push_back(c.knobs.at("KERNEL_CFG"));
  CHECK(kernels == Ids{32, 7, 6, 5, 3});
  CHECK(candidates[0].sm_version == 900);
}

TEST_CASE("Candidates are found in a log file too", "[log]") {
  CHECK(engines(parse_candidates(fixture("log-file-pytorch-h200.txt"))) == Ids{2, 2, 1, 1, 1});
}

TEST_CASE("FALLBACK's candidates are all engines", "[log]") {
  CHECK(engines(parse_candidates(fixture("support-checks-l40s-two-matmul-fallback.txt"))) ==
        Ids{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("Engines that other calls name are not candidates", "[log]") {
  const std::string line =
      "    apiLog: type=json; val={\"operationGraph\":{},\"engine\":{\"engineId\":5,\"knobChoices\":{}}};\n";
  CHECK(parse_candidates(other_call + line).empty());
  CHECK(parse_candidates(line).empty());
  CHECK(engines(parse_candidates(visualize + line + other_call + line)) == Ids{5});
}

TEST_CASE("A truncated candidate is omitted", "[log]") {
  CHECK(parse_candidates(std::string(visualize) +
                         "    apiLog: type=json; val={\"operationGraph\":{},\"engine\":{\"engineId\":5,")
            .empty());
}

// ---- reasons and notes

TEST_CASE("A failed plan's traceback is read as its errors, innermost first", "[log]") {
  const auto reasons = parse_reasons(fixture("plan-compilation-failed.txt"));
  REQUIRE(reasons.size() == 7);
  CHECK(reasons.front() ==
        Reason{"CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED",
               "Encountered runtime kernel compilation failure at: compilationResult != NVRTC_SUCCESS"});
  CHECK(reasons.back().reason == "ptrDesc->finalize()");
}

TEST_CASE("Info lines and free warnings are not reasons", "[log]") {
  CHECK(parse_reasons("    Info: Traceback contains 1 message(s)\n    Warning: No viable engine configs "
                      "among (1) heuristics result(s). \n"
                      "    Info: CUDNN_STATUS_SUCCESS; Reason: all is well\n    Warning: CUDNN_STATUS_X "
                      "without a reason\n")
            .empty());
}

TEST_CASE("A redirection is reported once, without the label", "[log]") {
  const std::string text = fixture("mode-b-redirect.txt");
  const Texts note{"CUDNN_HEUR_MODE_B does not support this use case, redirecting to CUDNN_HEUR_MODE_A"};
  CHECK(parse_notes(text) == note);
  CHECK(parse_notes(text + text) == note);
  CHECK(parse_notes("i! " + note[0]) == note);
}

TEST_CASE("Texts without a redirection have no notes", "[log]") {
  CHECK(parse_notes(fixture("support-checks-l40s-two-matmul-fallback.txt")).empty());
  CHECK(parse_notes("    attributeName: type=cudnnBackendHeurMode_t; val=CUDNN_HEUR_MODE_A (2);").empty());
}

// ---- statuses

TEST_CASE("A status belongs to one family, by number and by name", "[status]") {
  const std::pair<int, const char*> statuses[] = {
      {0, "CUDNN_STATUS_SUCCESS"},
      {1001, "CUDNN_STATUS_NOT_INITIALIZED"},
      {1002, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"},
      {1003, "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH"},
      {1004, "CUDNN_STATUS_DEPRECATED"},
      {1005, "CUDNN_STATUS_LICENSE_ERROR"},
      {1006, "CUDNN_STATUS_RUNTIME_IN_PROGRESS"},
      {1007, "CUDNN_STATUS_RUNTIME_FP_OVERFLOW"},
      {1008, "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"},
      {2000, "CUDNN_STATUS_BAD_PARAM"},
      {2008, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"},
      {3000, "CUDNN_STATUS_NOT_SUPPORTED"},
      {3009, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE"},
      {3010, "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT"},
      {4000, "CUDNN_STATUS_INTERNAL_ERROR"},
      {4001, "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED"},
      {5000, "CUDNN_STATUS_EXECUTION_FAILED"},
      {5001, "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER"},
  };
  for (const auto& [number, name] : statuses) {
    INFO(name);
    CHECK(family_of(number) == family_of(std::string(name)));
  }
}

TEST_CASE("Only statuses from 3000 to 3999 mean unsupported", "[status]") {
  CHECK(family_of(3010) == StatusFamily::not_supported);
  CHECK(family_of(2000) == StatusFamily::bad_param);
  CHECK(family_of(4002) == StatusFamily::internal_error);
  CHECK(family_of(1001) == StatusFamily::not_ready);
  CHECK(family_of(5000) == StatusFamily::execution_failed);
  CHECK(family_of(std::string("CUDNN_STATUS_FROM_THE_FUTURE")) == StatusFamily::internal_error);
}

}  // namespace attnprobe::test::log_parse_test
