// Answers for a cuDNN before 9.8, which cannot be asked about a GPU that is not there.
#include "campaign/by_rule.hpp"

#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"

namespace attnprobe::test::by_rule_test {

using campaign::Result;
using campaign::Usable;
using campaign::Verdict;

namespace {

Result answer(const std::string& config, const std::string& target, const std::string& cudnn) {
  const auto targets = gpu::simulated_targets(target);
  const auto version = campaign::version_by_rule(cudnn, targets);
  REQUIRE(version);
  return campaign::answer_by_rule(campaign::questions_of(attention::parse_configs(config, "test")), targets, *version,
                                  {})
      .results.at(0);
}

const char* const plain = R"({"heads": 8, "seqlen": 1024, "head_dim": 64, "dtype": "bf16"})";

}  // namespace

TEST_CASE("a cuDNN that cannot be asked is one before 9.8, where no GPU is a real one", "[by_rule]") {
  const auto simulated = gpu::simulated_targets("h100");
  CHECK(campaign::version_by_rule("9.1", simulated) == CudnnVersion{9, 1, 0});
  CHECK(campaign::version_by_rule("8.9.7", simulated) == CudnnVersion{8, 9, 7});
  CHECK_FALSE(campaign::version_by_rule("9.8", simulated));
  CHECK_FALSE(campaign::version_by_rule("", simulated));
  CHECK_FALSE(campaign::version_by_rule("/opt/cudnn", simulated));
  gpu::Target device = simulated.front();
  device.kind = gpu::Kind::device;
  CHECK_FALSE(campaign::version_by_rule("9.1", {device}));
}

TEST_CASE("the version rules answer in its place, and say so", "[by_rule]") {
  const Result yes = answer(plain, "h100", "9.1");
  CHECK(yes.by_rule);
  CHECK(yes.verdict == Verdict::supported);
  CHECK(yes.usable == Usable::yes);
  CHECK(yes.findings.engine_configs.empty());
  CHECK_THAT(yes.reproduce, EndsWith("--target h100 --cudnn 9.1.0"));

  const Result no = answer(plain, "b200", "9.1");
  CHECK(no.usable == Usable::no);
  REQUIRE(no.root_cause);
  CHECK(no.root_cause->category == diagnose::Category::version);
  CHECK(no.root_cause->reason == "fused attention on Blackwell needs cuDNN 9.7.0; this is 9.1.0");
  CHECK_THAT(no.root_cause->explanation, StartsWith("By rule: cuDNN 9.1.0 was not asked"));
  CHECK(answer(plain, "t4", "9.1").root_cause->category == diagnose::Category::arch_mismatch);
}

TEST_CASE("by rule a demand is kept or refused, never dropped", "[by_rule]") {
  const std::string question = "--pass bprop --heads 8 --seqlen 512 --head-dim 64 --target h100 --cudnn 9.5 --quick ";
  const Run varies = run_attnprobe(question + "--require deterministic --format json");
  CHECK(varies.exit_code == 1);
  const Json result = varies.json()["results"][0];
  CHECK(result["root_cause"]["category"] == "constraint");
  CHECK_THAT(result["root_cause"]["reason"].get<std::string>(), ContainsSubstring("sums dQ in an order that varies"));
  CHECK_THAT(run_attnprobe(question + "--require deterministic").out, !ContainsSubstring("none speaks against it"));
  CHECK(run_attnprobe(question + "--require deterministic --deterministic true").exit_code == 0);
  const Run workspace = run_attnprobe(question + "--max-workspace 0");
  CHECK(workspace.exit_code == 2);
  CHECK_THAT(workspace.err, ContainsSubstring("the rules know neither workspaces nor notes of engine configs"));
}

TEST_CASE("the command line says by rule, in every format that people read", "[by_rule]") {
  const std::string question =
      "--heads 8 --seqlen 512 --head-dim 64 --paged 16 --mask padding --target h200 --cudnn 9.4";
  const Run run = run_attnprobe(question);
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.out, ContainsSubstring("no, by rule, version: paged K/V needs cuDNN 9.5.0; this is 9.4.0"));
  CHECK_THAT(run.out, ContainsSubstring("By rule: cuDNN 9.4.0 cannot be asked about a GPU that is not there"));
  CHECK(run_attnprobe(question + " --format json").json()["results"][0]["by_rule"] == true);
  CHECK_THAT(run_attnprobe(question + " --format csv").out, ContainsSubstring("By rule: cuDNN was not asked."));
}

}  // namespace attnprobe::test::by_rule_test
