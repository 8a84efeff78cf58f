// `attnprobe explain` with every kind of input.
#include <algorithm>
#include <fstream>
#include <set>

#include "base/json.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::explain_test {

namespace {

const std::string gate = "UserWarning: cuDNN dropout probability resolution is limited to 1/16\n";

}  // namespace

TEST_CASE("explain accepts an argument, several words, a file or standard input", "[explain]") {
  const TemporaryFolder folder;
  const std::string file = folder.file("my log.txt", "step 1\n" + gate).string();
  for (const Run& run : {run_attnprobe("explain -", {}, gate), run_attnprobe("explain '" + file + "'"),
                         run_attnprobe("explain 'cuDNN dropout probability resolution is limited to 1/16'"),
                         run_attnprobe("explain cuDNN dropout probability resolution is limited to 1/16")}) {
    INFO(run.err);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, StartsWith("PyTorch's gate refused, before cuDNN was asked"));
  }
  CHECK_THAT(run_attnprobe("explain 'No valid engine configs for Matmul_'").out,
             StartsWith("cuDNN's heuristics gave no engine config"));
  CHECK_THAT(run_attnprobe("explain CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH").out,
             StartsWith("One process loaded parts of two cuDNN versions"));
}

TEST_CASE("explain reports what it did not find", "[explain]") {
  const std::pair<const char*, const char*> cases[] = {
      {"/nowhere/cudnn.log", "/nowhere/cudnn.log: cannot be opened: No such file or directory"},
      {"cudnn.log", "cudnn.log: cannot be opened"},
      {"'loss is nan'", "\"loss is nan\" is not a file, and as a text: nothing known"},
      {"''", "TEXT is missing"},
      {"' '", "TEXT is missing"},
      {"tests/fixtures/forum-318288.txt tests/fixtures/forum-318288.txt", "one file, or one text"}};
  for (const auto& [argument, message] : cases) {
    const Run run = run_attnprobe(std::string("explain ") + argument, {}, "epoch 1\n");
    INFO(argument);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK_THAT(run.err, ContainsSubstring(message));
  }
  const Run other = run_attnprobe("explain -", {}, "epoch 1\n");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.out, StartsWith("Not known: the text speaks neither of attention nor of cuDNN"));
  // Facts about attention were read, but nothing is established.
  const Run vague = run_attnprobe("explain 'my cudnn attention on an H100 with cuDNN 9.19 is odd'");
  CHECK(vague.exit_code == 2);
  CHECK_THAT(vague.out, StartsWith("Not known: nothing in the text establishes who refused, or why"));
  CHECK_THAT(vague.out, ContainsSubstring("GPU h100 (line 1)"));
  CHECK_THAT(vague.out, ContainsSubstring("missing"));
}

TEST_CASE("explain asks about a call in source code next to a message", "[explain]") {
  const std::string source =
      "import torch.nn.functional as F\n"
      "q = torch.randn(2, 16, 4096, HEAD, device=\"cuda\", dtype=torch.bfloat16)\n"
      "out = F.scaled_dot_product_attention(q, q, q, is_causal=True)\n\n"
      "RuntimeError: No available kernel. Aborting execution.\ntorch 2.9.1, RTX 4090\n";
  const auto of_head = [&](const std::string& head) {
    std::string text = source;
    text.replace(text.find("HEAD"), 4, head);
    return run_attnprobe("explain -", {}, text);
  };
  const Run refused = of_head("320");
  CHECK(refused.exit_code == 0);
  CHECK_THAT(refused.out, StartsWith("PyTorch 2.9.1 refuses head dimensions 320/320 on sm_89"));
  CHECK_THAT(refused.out, ContainsSubstring("a head dimension of at most 128"));
  CHECK_THAT(refused.out, ContainsSubstring("line 5: RuntimeError: No available kernel"));
  CHECK_THAT(of_head("128").out, ContainsSubstring("the cause is not one of them"));
}

TEST_CASE("explain: the innermost of several problems comes first", "[explain]") {
  const Run run = run_attnprobe(
      "explain -", {},
      "Could not load library libnvrtc.so.12. Error: libnvrtc.so.12: cannot open shared object file\n"
      "Traceback (most recent call last):\n"
      "  File \"/home/me/sdpa.py\", line 22, in <module>\n"
      "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.\n");
  CHECK_THAT(run.out, StartsWith("NVRTC, CUDA's compiler at run time, cannot be found"));
  CHECK_THAT(run.out, ContainsSubstring("pip install nvidia-cuda-nvrtc"));
  CHECK_THAT(run.out, ContainsSubstring("next: attnprobe doctor"));
  CHECK(run.out.find("next: ") == run.out.rfind("next: "));
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') <= 15);
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
  CHECK_THAT(json["next"].get<std::string>(), StartsWith("attnprobe "));
  const std::string told = json["told"].dump();
  for (const char* part :
       {"compute capability 8.9 (sm_89)", "engine 1", "forward attention with statistics", "head_dim_qk 144"})
    CHECK_THAT(told, ContainsSubstring(part));
}

TEST_CASE("explain: a loader error is fixed by a package and a path", "[explain]") {
  const Run missing =
      run_attnprobe("explain 'ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory'");
  CHECK_THAT(missing.out, StartsWith("cuDNN, or a library that it needs, was not found"));
  CHECK_THAT(missing.out, ContainsSubstring("LD_LIBRARY_PATH"));
  CHECK_FALSE(contains(missing.out, "undefined symbol"));
  const Run symbol = run_attnprobe("explain 'ImportError: libcudnn_ops.so.9: undefined symbol: cudnnGetLibConfig'");
  CHECK_THAT(symbol.out, StartsWith("Parts of two versions are mixed"));
}

TEST_CASE("explain: the fix comes before the message, however long that is", "[explain]") {
  const std::string path(1500, 'x');
  const Run run = run_attnprobe("explain 'RuntimeError: /te/" + path +
                                ".cu:412: [cudnn_frontend] Error: No valid execution plans built.. For " +
                                "more information. B200, TE 2.6, head_dim=256, bf16, training, cudnn 9.12'");
  CHECK_THAT(run.out, StartsWith("cuDNN did not build an execution plan"));
  CHECK(run.out.find("  fix      run attnprobe doctor") < run.out.find("  read     line 1"));
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') <= 15);
}

TEST_CASE("explain ID explains a reason, a rule, a known bug or a message", "[explain]") {
  for (const char* id :
       {"fe-no-engine-configs", "bprop_kv_128", "jax:packed_0_6", "page_power_of_two", "boolean-mask"}) {
    const Run run = run_attnprobe(std::string("explain ") + id);
    INFO(run.err);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, StartsWith(std::string(id) + "\n"));
  }
  CHECK_THAT(run_attnprobe("explain jax:packed_0_6").out, ContainsSubstring("packed sequences on sm_… with cuDNN …"));
  CHECK_THAT(run_attnprobe("explain page_power_of_two").out, ContainsSubstring("no cuDNN so far has pages"));
}

TEST_CASE("explain: if a log's graphs work, its rejected candidates are not a refusal", "[explain]") {
  const Json json =
      run_attnprobe("explain --format json tests/fixtures/logs/pytorch-2.11-cudnn-9.19-decode-bf16.log.xz").json();
  CHECK(json["graphs"][0]["verdict"] == "works");
  CHECK(json["refusals"].empty());
}

TEST_CASE("explain: attnprobe asks about a graph that the log only built", "[explain]") {
  const Json json = run_attnprobe("explain --format json tests/fixtures/frontend-host-values.json").json();
  CHECK_FALSE(json["asked"].get<std::string>().empty());
  CHECK_THAT(json["next"].get<std::string>(), StartsWith("attnprobe "));
}

TEST_CASE("Every command that explain prints for the test texts runs", "[explain][slow]") {
  std::set<std::string> commands;
  for (const char* file : {"texts/texts.json", "texts/refused-calls.json"}) {
    const Json texts = Json::parse(fixture(file))["texts"];
    for (const Json& text : texts) {
      const Run run = run_attnprobe("explain --format json -", {}, text["text"].get<std::string>());
      if (run.out.empty()) continue;
      const std::string next = run.json()["next"];
      if (!next.empty()) commands.insert(next);
    }
  }
  CHECK(commands.size() > 20);
  for (const auto& command : commands) {
    INFO(command);
    REQUIRE_THAT(command, StartsWith("attnprobe "));
    CHECK(run_attnprobe(command.substr(std::string("attnprobe ").size())).exit_code != 2);
  }
}

TEST_CASE("Without a terminal, COLUMNS sets the width of answers", "[app][explain]") {
  const std::string text =
      run_attnprobe("explain 'RuntimeError: No available kernel. Aborting execution.'", {{"COLUMNS", "60"}}).out;
  for (const auto& line : split(text, '\n'))
    if (!line.starts_with("next: ")) CHECK(line.size() <= 60);
}

}  // namespace attnprobe::test::explain_test
