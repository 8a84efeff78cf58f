// `attnprobe explain` with every kind of input.
#include <fstream>

#include "base/json.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::explain_test {

namespace {

const std::string gate = "UserWarning: cuDNN dropout probability resolution is limited to 1/16\n";

}  // namespace

TEST_CASE("explain takes an argument, several words, a file or standard input", "[explain][sentences]") {
  const TemporaryFolder folder;
  const std::string file = folder.file("my log.txt", "step 1\n" + gate).string();
  const std::string words = "'No valid engine configs for Matmul_'";
  for (const Run& run : {run_attnprobe("explain -", {}, gate), run_attnprobe("explain '" + file + "'"),
                         run_attnprobe("explain 'cuDNN dropout probability resolution is limited to 1/16'"),
                         run_attnprobe("explain cuDNN dropout probability resolution is limited to 1/16")}) {
    INFO(run.err);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, StartsWith("PyTorch's gate refused, before cuDNN was asked"));
  }
  CHECK(run_attnprobe("explain 'No valid engine configs for Matmul_, see /tmp/cudnn.log'").exit_code == 0);
  CHECK_THAT(run_attnprobe("explain " + words).out, StartsWith("cuDNN's heuristics gave no engine config"));
  CHECK_THAT(run_attnprobe("explain CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH").out,
             StartsWith("Parts of two versions of cuDNN are in one process"));
}

TEST_CASE("explain says what it did not find", "[explain][sentences]") {
  const std::pair<const char*, const char*> cases[] = {
      {"/nowhere/cudnn.log", "/nowhere/cudnn.log: cannot be opened: No such file or directory"},
      {"cudnn.log", "cudnn.log: cannot be opened"},
      {"'my logs/cudnn.log'", "\"my logs/cudnn.log\" is not a file, and as a text: nothing known"},
      {"'loss is nan'", "\"loss is nan\" is not a file, and as a text: nothing known"},
      {"sdpa", "\"sdpa\" is not a file, and as a text: nothing known"},
      {"''", "TEXT: there is none"},
      {"' '", "TEXT: there is none"},
      {"tests/fixtures/forum-318288.txt tests/fixtures/forum-318288.txt", "one file at a time, or one text"},
      {"-", "standard input: nothing known"}};
  for (const auto& [argument, message] : cases) {
    const Run run = run_attnprobe(std::string("explain ") + argument, {}, "epoch 1\n");
    INFO(argument);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK_THAT(run.err, ContainsSubstring(message));
  }
}

TEST_CASE("explain: of several problems the innermost comes first, and what else the text tells helps to ask",
          "[explain][sentences]") {
  const Run run = run_attnprobe(
      "explain -", {},
      "Could not load library libnvrtc.so.12. Error: libnvrtc.so.12: cannot open shared object file\n"
      "Traceback (most recent call last):\n"
      "  File \"/home/me/sdpa.py\", line 22, in <module>\n"
      "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.\n");
  CHECK_THAT(run.out, StartsWith("NVRTC, with which cuDNN compiles its kernels, cannot be found"));
  CHECK_THAT(run.out, ContainsSubstring("the call came from\n    PyTorch SDPA"));
  CHECK_THAT(run.out, ContainsSubstring("- cuDNN's engines refused, at the support check (line 4): The heuristics "
                                        "proposed"));
  // The step of the first problem alone.
  CHECK(run.out.find("next: ") == run.out.rfind("next: "));
  const Json json =
      run_attnprobe(
          "explain --format json -", {},
          "RuntimeError: cuDNN Frontend error: No valid engine configs for "
          "Matmul_MUL_Reduction_SUB_EXP_Reduction_LOG_ADD_DIV_RNG_MUL_Matmul_\n"
          "engineConfig {\"engineId\":1,\"smVersion\":890,\"knobChoices\":{}}\nq.shape = (2, 32, 4096, 144)\n")
          .json();
  CHECK(json["refusals"][0]["id"] == "fe-no-engine-configs");
  CHECK(json["refusals"][0]["layer"] == "cudnn_heuristics");
  CHECK(json["refusals"][0]["first_line"] == 1);
  CHECK(json["refusals"][0]["times"] == 1);
  CHECK(json["refusals"][0]["next"] ==
        "attnprobe probe --pass fprop_train --head-dim 144 --target sm_89 with the rest of the call's shape");
  CHECK(json["next"] == json["refusals"][0]["next"]);
  CHECK(json["callers"] == Json{"PyTorch SDPA"});
  const std::string told = json["told"].dump();
  for (const char* part : {"compute capability 8.9 (sm_89)", "engine 1", "forward attention with statistics",
                           "with dropout", "Q has the sizes 2,32,4096,144"})
    CHECK_THAT(told, ContainsSubstring(part));
}

TEST_CASE("explain: a reason of cuDNN's is explained without its heading, and what is told goes into the command",
          "[explain][sentences]") {
  const Run run = run_attnprobe(
      "explain 'on an RTX 4090: Embedding dim per head for q and k is not less than equal to 128 at: d_qk > 128'");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, StartsWith("cuDNN's engines refused, at the support check"));
  CHECK_THAT(run.out, ContainsSubstring("next: attnprobe probe --target rtx4090 with the shape of the call"));
}

TEST_CASE("explain: where a log's graphs work, its rejected candidates are no refusal", "[explain][sentences]") {
  const Json json =
      run_attnprobe("explain --format json tests/fixtures/logs/pytorch-2.11-cudnn-9.19-decode-bf16.log.xz").json();
  CHECK(json["graphs"][0]["verdict"] == "works");
  CHECK(json["refusals"].empty());
}

}  // namespace attnprobe::test::explain_test
