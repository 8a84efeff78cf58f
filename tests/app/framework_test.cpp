// --framework for a user: the first line, every format, the matrix, and the command that repeats the question.
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::framework_test {

namespace {

const std::string call =
    "--batch 2 --heads-q 32 --heads-kv 8 --seqlen 4096 --head-dim 96 --dtype bf16 --mask causal --quick ";
const std::string refused = "PyTorch 2.15.0 refuses dropout 0.1 (not a multiple of 1/16), since 2.12.0";

std::string first_line(const Run& run) {
  return run.out.substr(0, run.out.find('\n'));
}

}  // namespace

TEST_CASE("the first line says why PyTorch refuses", "[framework]") {
  for (const char* pass : {"fprop_train", "bprop"}) {
    const Run run =
        run_attnprobe("--framework torch --target 4090,h100,b200 --dropout 0.1 --pass " + (pass + (" " + call)));
    INFO(run.out << run.err);
    CHECK(run.exit_code == 0);
    CHECK(first_line(run) == refused + "; flash, memory-efficient or math attention runs instead");
    CHECK_THAT(run.out, ContainsSubstring("but on rtx4090, h100, b200: " + refused));
    CHECK_THAT(run.out, ContainsSubstring("fix    use a dropout in steps of 1/16, such as 0.125 (by rule)"));
    CHECK_THAT(run.out, ContainsSubstring("note   pass enable_gqa=True"));
  }
}

TEST_CASE("details have the framework's own words and the rule's location", "[framework]") {
  const Run run = run_attnprobe("-v --framework torch --target 4090 --dropout 0.1 " + call);
  INFO(run.out << run.err);
  std::string text;  // regardless of line breaks
  for (const char c : run.out)
    if (c != '\n' && c != ' ') text += c;
  CHECK_THAT(text, ContainsSubstring("itswords:\"cuDNNdropoutprobabilityresolutionislimitedto1/16."));
  CHECK_THAT(text, ContainsSubstring("source:PyTorch2.15.0,sdp_utils.cpp,check_cudnn_dropout"));
}

TEST_CASE("with dropout 0.125 forward and backward work, on Ada if cuDNN is selected", "[framework]") {
  const Run run = run_attnprobe(
      "--framework torch --target 4090,h100,b200 --dropout 0.125 --pass fprop_train,bprop --cudnn 9.19 " + call);
  INFO(run.out << run.err);
  CHECK(run.exit_code == 0);
  CHECK(first_line(run) ==
        "PyTorch 2.15.0 uses cuDNN on sm_89 with cuDNN 9.19.0 only if you select it: "
        "sdpa_kernel(SDPBackend.CUDNN_ATTENTION) (on rtx4090)");
  CHECK_THAT(run.out, ContainsSubstring("4 yes, 2 but."));
}

TEST_CASE("training counts as both passes, also in the gate", "[framework]") {
  const std::string call =
      "--heads 16 --seqlen 4096 --head-dim-qk 192 --head-dim-v 128 --dtype bf16 --layout thd --mask padding_causal "
      "--target a800 --framework te --quick ";
  const Run both = run_attnprobe(call + "--pass training --format json");
  CHECK(both.exit_code == 1);
  const Json results = both.json()["results"];
  REQUIRE(results.size() == 2);
  CHECK(results[0]["config"]["pass"] == "fprop_train");
  CHECK(results[1]["config"]["pass"] == "bprop");
  CHECK(results[1]["usable"] == "no");
  CHECK(results[1]["root_cause"]["category"] == "head_dim");
  // Transformer Engine asks about the graphs of both passes.
  const Json gate = results[0]["frameworks"][0];
  CHECK(gate["takes"] == "refused");
  CHECK_THAT(gate["text"].get<std::string>(), ContainsSubstring("the backward pass is refused"));
  const Run table = run_attnprobe(call + "--pass training");
  CHECK_THAT(table.out, ContainsSubstring("\n1 no; training is one answer, the worse of its two passes."));
  CHECK_THAT(table.out, !ContainsSubstring("no longer refuses it"));
  // Another GPU can train it, and inference needs no backward pass.
  const std::string there =
      call.substr(0, call.find("--target")) + "--framework te --quick --target h100 --pass training";
  CHECK_THAT(run_attnprobe(there).out, ContainsSubstring("\n1 yes; training is one answer"));
  CHECK_THAT(run_attnprobe(call + "--pass fprop").out, !ContainsSubstring("the backward pass is refused"));
}

TEST_CASE("a refusal by cuDNN includes the framework's answer", "[framework]") {
  const Run run =
      run_attnprobe("--framework torch,jax --target t4 --heads 8 --seqlen 512 --head-dim 64 --quick --format json");
  REQUIRE(run.exit_code == 1);
  const Json result = run.json()["results"][0];
  CHECK(result["usable"] == "no");
  REQUIRE(result["frameworks"].size() == 2);
  CHECK(result["frameworks"][0]["takes"] == "refused");
  CHECK(result["frameworks"][0]["refusals"][0]["id"] == "gpu");
  CHECK(result["frameworks"][1]["title"] == "JAX 0.12.0.1");
  CHECK(result["frameworks"][1]["takes"] == "by_name");
}

TEST_CASE("every format has the framework's answer", "[framework]") {
  const std::string question = "--framework torch==2.15 --target h100 --dropout 0.1 " + call;
  for (const char* format : {"table", "json", "jsonl", "csv", "junit", "md", "html"}) {
    INFO(format);
    const Run run = run_attnprobe(question + "--format " + format);
    INFO(run.err);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, ContainsSubstring("PyTorch 2.15.0 refuses dropout 0.1"));
  }
  const Json result = run_attnprobe(question + "--format json").json()["results"][0];
  CHECK(result["but"][0]["kind"] == "framework");
  CHECK(result["but"][0]["text"] == refused);
  CHECK_THAT(result["but"][0]["source"].get<std::string>(), ContainsSubstring("sdp_utils.cpp#L699"));
  const Json framework = result["frameworks"][0];
  CHECK(framework["framework"] == "torch");
  CHECK(framework["release"] == "2.15.0");
  CHECK(framework["cudnn"] == "9.26.0.51");
  CHECK(framework["refusals"][0]["since"] == "2.12.0");
  CHECK(
      framework["refusals"][0]["message"] ==
      "cuDNN dropout probability resolution is limited to 1/16.Use a dropout probability that is a multiple of 1/16 to select "
      "the cuDNN backend");
  CHECK_THAT(result["reproduce"].get<std::string>(), ContainsSubstring(" --framework torch==2.15.0 --target h100"));
  const Run junit = run_attnprobe(question + "--expect yes --format junit");
  CHECK(junit.exit_code == 1);
  CHECK_THAT(junit.out, ContainsSubstring("workaround, by PyTorch 2.15.0's rules: use a dropout in steps of 1/16"));
}

TEST_CASE("a report with frameworks is valid, and can be compared", "[framework]") {
  const TemporaryFolder folder;
  const std::string schema = (folder.path() / "schema.json").string(), a = (folder.path() / "a.json").string(),
                    b = (folder.path() / "b.json").string();
  REQUIRE(run_attnprobe("schema report > " + schema).exit_code == 0);
  REQUIRE(run_attnprobe("--framework all --target h100 --dropout 0.1 " + call + "--format json -o " + a).exit_code ==
          0);
  REQUIRE(run_attnprobe("--target h100 --dropout 0.1 " + call + "--format json -o " + b).exit_code == 0);
  CHECK(validate(schema, a).exit_code == 0);
  const Run diff = run_attnprobe("diff " + a + " " + b);
  INFO(diff.out << diff.err);
  CHECK(diff.exit_code == 0);
}

TEST_CASE("a matrix asks the frameworks that its document or command line names", "[framework]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "m.json").string(), out = (folder.path() / "out").string();
  REQUIRE(shell("cat > " + file, {}, R"({"framework": ["torch==2.15", "jax"], "targets": "h100", "configs": [
    {"name": "dropped", "heads": 8, "seqlen": 512, "head_dim": 64, "dropout": 0.1, "pass": "fprop_train"}]})")
              .exit_code == 0);
  const Run run = run_attnprobe("matrix " + file + " --no-cache --out " + out);
  INFO(run.out << run.err);
  REQUIRE(run.exit_code == 0);
  const std::string page = shell("cat " + out + "/index.html").out;
  CHECK_THAT(page, ContainsSubstring("PyTorch 2.15.0 refuses dropout 0.1"));
  CHECK_THAT(page, ContainsSubstring("--framework torch==2.15.0,jax==0.12.0.1"));
  CHECK_THAT(shell("cat " + out + "/report.md").out, ContainsSubstring("Frameworks"));
  CHECK_THAT(shell("cat " + out + "/report.csv").out,
             ContainsSubstring("flash, memory-efficient or math attention runs instead"));
  // Another framework makes a different matrix.
  const Run other = run_attnprobe("matrix " + file + " --framework keras --resume --no-cache --out " + out);
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, ContainsSubstring("--framework keras==3.15.1"));
  const Run bad = run_attnprobe("matrix " + file + " --framework kera --no-cache --out " + out + "2");
  CHECK(bad.exit_code == 2);
  CHECK_THAT(bad.err, ContainsSubstring("--framework: \"kera\" is an unknown framework (did you mean \"keras\"?)"));
}

}  // namespace attnprobe::test::framework_test
