// Answers for a cuDNN that cannot be asked: before 9.8, or not installed.
#include "ask/by_rule.hpp"

#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"

namespace attnprobe::test::by_rule_test {

using answer::Answer;
using answer::Usable;
using answer::Verdict;

namespace {

Answer answer(const std::string& config, const std::string& target, const std::string& cudnn) {
  const auto targets = gpu::simulated_targets(target);
  const auto version = asking::version_by_rule(cudnn, targets);
  REQUIRE(version);
  return asking::answer_by_rule(asking::questions_of(attention::parse_configs(config, "test")), targets, *version, {})
      .results.at(0);
}

const char* const plain = R"({"heads": 8, "seqlen": 1024, "head_dim": 64, "dtype": "bf16"})";

}  // namespace

TEST_CASE("a cuDNN cannot be asked if it is older than 9.8 and no GPU is real", "[by_rule]") {
  const auto simulated = gpu::simulated_targets("h100");
  CHECK(asking::version_by_rule("9.1", simulated) == CudnnVersion{9, 1, 1});
  CHECK(asking::version_by_rule("9.1.0", simulated) == CudnnVersion{9, 1, 0});
  CHECK(asking::version_by_rule("8.9.7", simulated) == CudnnVersion{8, 9, 7});
  CHECK_FALSE(asking::version_by_rule("9.8", simulated));
  CHECK_FALSE(asking::version_by_rule("", simulated));
  CHECK_FALSE(asking::version_by_rule("/opt/cudnn", simulated));
  gpu::Target device = simulated.front();
  device.kind = gpu::Kind::device;
  CHECK_FALSE(asking::version_by_rule("9.1", {device}));
}

TEST_CASE("the version rules answer instead, and say so", "[by_rule]") {
  const Answer yes = answer(plain, "h100", "9.1");
  CHECK(yes.by_rule);
  CHECK(yes.verdict == Verdict::supported);
  CHECK(yes.usable == Usable::yes);
  CHECK(yes.findings.engine_configs.empty());
  CHECK_THAT(yes.reproduce, EndsWith("--target h100 --cudnn 9.1.1"));

  const Answer no = answer(plain, "b200", "9.1");
  CHECK(no.usable == Usable::no);
  REQUIRE(no.root_cause);
  CHECK(no.root_cause->category == answer::Category::version);
  CHECK(no.root_cause->reason == "fused attention on Blackwell needs cuDNN 9.7.0; this is 9.1.1");
  CHECK_THAT(no.root_cause->explanation, StartsWith("By rule: cuDNN 9.1.1 was not asked"));
  const Answer old_gpu = answer(plain, "t4", "9.1");
  CHECK(old_gpu.root_cause->category == answer::Category::arch_mismatch);
  CHECK(old_gpu.root_cause->in_general == "Use Ampere (sm_80) or newer.");
}

TEST_CASE("the rule with the newest cuDNN is reported, and its version is the advice", "[by_rule]") {
  const char* const odd = R"({"heads": 8, "seqlen": 100, "head_dim": 64})";
  const Answer no = answer(odd, "a100", "8.9.4");
  REQUIRE(no.root_cause);
  CHECK(no.requirements.size() == 2);
  CHECK(no.root_cause->reason == "a number of keys that is not a multiple of 64 needs cuDNN 8.9.6; this is 8.9.4");
  CHECK(no.root_cause->in_general == "Use cuDNN 8.9.6 or newer.");
  CHECK(answer(odd, "a100", "8.9.5").usable == Usable::no);
  CHECK(answer(odd, "a100", "8.9.6").usable == Usable::yes);
  const Answer never = answer(R"({"heads": 8, "seqlen": 128, "head_dim": 100, "dtype": "bf16"})", "b200", "9.1");
  REQUIRE(never.root_cause);
  CHECK_THAT(never.root_cause->reason, StartsWith("no cuDNN so far has a head dimension"));
  CHECK_THAT(never.root_cause->in_general, StartsWith("Pad the head dimension with zeros"));
}

TEST_CASE("a refusal by cudnn-frontend alone is a but by rule, too", "[by_rule]") {
  const Answer refused = answer(R"({"heads": 8, "seqlen": 512, "head_dim": 64, "alibi": true})", "h100", "9.7.0");
  REQUIRE(refused.usable == Usable::but);
  CHECK(refused.but.front().kind == answer::ObstacleKind::frontend);
  CHECK_THAT(refused.but.front().text, StartsWith("cudnn-frontend 1.23.0 refuses it"));
}

TEST_CASE("by rule a requirement is met or refused, never dropped", "[by_rule]") {
  const std::string question = "--pass bprop --heads 8 --seqlen 512 --head-dim 64 --target h100 --cudnn 9.5 --quick ";
  const Run varies = run_attnprobe(question + "--require deterministic --format json");
  CHECK(varies.exit_code == 1);
  const Json result = varies.json()["results"][0];
  CHECK(result["root_cause"]["category"] == "constraint");
  CHECK_THAT(result["root_cause"]["reason"].get<std::string>(), ContainsSubstring("sums dQ in a varying order"));
  CHECK_THAT(run_attnprobe(question + "--require deterministic").out, !ContainsSubstring("nothing refuses it"));
  CHECK(run_attnprobe(question + "--require deterministic --deterministic true").exit_code == 0);
  const Run workspace = run_attnprobe(question + "--max-workspace 0");
  CHECK(workspace.exit_code == 2);
  CHECK_THAT(workspace.err, ContainsSubstring("rules cannot check --max-workspace and --require-note"));
}

TEST_CASE("every text format marks answers by rule", "[by_rule]") {
  const std::string question =
      "--heads 8 --seqlen 512 --head-dim 64 --paged 16 --mask padding --target h200 --cudnn 9.4";
  const Run run = run_attnprobe(question);
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.out, ContainsSubstring("no: by rule, paged K/V needs cuDNN 9.5.0; this is 9.4.0"));
  CHECK_THAT(run.out, ContainsSubstring("since  from cuDNN 9.5.0 by rule"));
  CHECK_THAT(run.out, ContainsSubstring("By rule: cuDNN 9.4.0 cannot simulate a GPU"));
  CHECK(run_attnprobe(question + " --format json").json()["results"][0]["by_rule"] == true);
  CHECK_THAT(run_attnprobe(question + " --format csv").out, ContainsSubstring("By rule: cuDNN was not asked."));
}

TEST_CASE("a missing cuDNN from 9.8 on is answered by rule, while installed versions are asked", "[by_rule]") {
  const std::string question = "--heads 8 --seqlen 512 --head-dim 64 --target b200 --cudnn 9.17.9";
  const Run yes = run_attnprobe(question + " --quick");
  INFO(yes.out << yes.err);
  CHECK(yes.exit_code == 0);
  CHECK_THAT(yes.out, ContainsSubstring("yes: by rule: nothing refuses it"));
  CHECK_THAT(yes.out,
             ContainsSubstring("By rule: cuDNN 9.17.9 is not installed; `attnprobe cudnn fetch 9.17.9` downloads it."));
  CHECK(run_attnprobe(question + " --quick --format json").json()["results"][0]["by_rule"] == true);

  // Needs 9.18.1; the tests' own cuDNN is newer.
  const Run no = run_attnprobe(
      "--pass bprop --heads 8 --seqlen 512 --head-dim 64 --layout thd --mask padding --ragged-stats false "
      "--target a100 --cudnn 9.17.9");
  CHECK(no.exit_code == 1);
  CHECK_THAT(no.out, ContainsSubstring("no: by rule, ") && ContainsSubstring("needs cuDNN 9.18.1"));
  CHECK_THAT(no.out, ContainsSubstring("since  from cuDNN 9.18.1 by rule"));
  CHECK_THAT(no.out, ContainsSubstring(" (installed): supported on a100"));
}

}  // namespace attnprobe::test::by_rule_test
