// The user's constraints: the remaining choice, the choice without them, and the message if nothing remains.
#include "probe/constraints.hpp"

#include <fmt/format.h>

#include "probe/determinism.hpp"
#include "support.hpp"

namespace attnprobe::test::constraints_test {

namespace {

// On a Hopper GPU engine 6 (its own kernels, a few bytes of workspace) comes before engine 7 (megabytes).
const std::string backward =
    "--pass bprop --heads 12 --seqlen 1024 --head-dim 128 --target h200 --mode A --plans none --quick ";

probe::EngineConfigFindings config_with(std::optional<int64_t> workspace, std::vector<std::string> notes) {
  probe::EngineConfigFindings config;
  config.modes = {"A"};
  config.check.supported = true;
  config.workspace_bytes = workspace;
  config.numerical_notes = std::move(notes);
  return config;
}

}  // namespace

TEST_CASE("each constraint excludes engine configs, with their value and the allowed values", "[constraints]") {
  probe::WalkFindings findings;
  findings.engine_configs = {config_with(int64_t{512} << 20, {}), config_with({}, {}),
                             config_with(1024, {"NONDETERMINISTIC"}), config_with(1024, {"TENSOR_CORE"})};
  auto left_out = [&](const probe::Constraints& constraints) {
    probe::leave_out(findings, constraints);
    std::vector<std::string> why;
    for (const auto& config : findings.engine_configs) why.push_back(config.left_out.value_or(""));
    return why;
  };
  probe::Constraints workspace, deterministic, note;
  workspace.max_workspace_bytes = int64_t{256} << 20;
  deterministic.deterministic = true;
  note.notes = {"TENSOR_CORE"};
  using Words = std::vector<std::string>;
  CHECK(left_out(workspace) ==
        Words{"its workspace of 512 MiB is above the 256 MiB allowed", "its workspace is not known", "", ""});
  CHECK(probe::displaced_choice(findings) == &findings.engine_configs[0]);
  CHECK(left_out(deterministic) == Words{"", "", "cuDNN notes that it is NONDETERMINISTIC", ""});
  CHECK(probe::displaced_choice(findings) == nullptr);
  CHECK(left_out(note)[0] == "it does not have the note TENSOR_CORE");
  CHECK(left_out(note)[3].empty());
}

TEST_CASE("deterministic means requested by the graph or measured, not without a note", "[constraints]") {
  const auto spec = [](const std::string& members) {
    return attention::parse_configs(R"({"heads": 8, "seqlen": 512, "head_dim": 64, )" + members + "}", "test")
        .front()
        .spec;
  };
  const auto why = [&](const std::string& members, const probe::EngineConfigFindings& config = {}) {
    return probe::varying_sums(spec(members), {CudnnVersion{91900}, 90}, &config);
  };
  const std::string sums = "sums dQ in a varying order";
  CHECK_THAT(why(R"("pass": "bprop")"), ContainsSubstring(sums));
  CHECK_THAT(why(R"("pass": "bprop", "bias": "1hss")"), ContainsSubstring(sums));
  CHECK(why(R"("pass": "bprop", "deterministic": true)").empty());
  CHECK(why(R"("pass": "bprop", "bias": {"grad": true})").empty());  // its graph also has the deterministic form
  CHECK_THAT(why(R"("pass": "bprop", "deterministic": true, "sink": true)"), ContainsSubstring("gradient of the sink"));
  CHECK_THAT(why(R"("pass": "bprop", "pattern": "mha")"), ContainsSubstring("no form of this graph"));
  CHECK(why(R"("pass": "fprop_train")").empty());
  // A measured kernel: docs/results/README.md.
  probe::EngineConfigFindings split;
  split.engine = 8;
  split.knobs = {{"KERNEL_CFG", 35}};
  CHECK_THAT(why(R"("seqlen_q": 1)", split), ContainsSubstring("differed from run to run on an H100"));
  CHECK(why(R"("pass": "fprop")", split).empty());

  // A run decides, regardless of other knowledge.
  probe::WalkFindings findings;
  findings.engine_configs = {config_with(0, {}), config_with(0, {})};
  findings.engine_configs[0].run.emplace().deterministic = true;
  findings.engine_configs[1].run.emplace().deterministic = false;
  probe::Constraints deterministic;
  deterministic.deterministic = true;
  probe::leave_out(findings, deterministic, [](const auto&) { return "its sums vary"; });
  CHECK_FALSE(findings.engine_configs[0].left_out);
  CHECK(findings.engine_configs[1].left_out == "its results differed from run to run");
}

TEST_CASE("a required deterministic backward pass is a no unless the graph requests it", "[constraints]") {
  const std::string question = "--pass bprop --heads 8 --seqlen 512 --head-dim 64 --require deterministic --quick ";
  for (const char* target : {"a100", "h100", "b200", "rtx4090"}) {
    INFO(target);
    const Run plain = run_attnprobe(question + "--format json --target " + target);
    CHECK(plain.exit_code == 1);
    const Json cause = plain.json()["results"][0]["root_cause"];
    CHECK(cause["category"] == "constraint");
    CHECK_THAT(cause["reason"].get<std::string>(), ContainsSubstring("sums dQ in a varying order"));
    CHECK_THAT(cause["in_general"].get<std::string>(), ContainsSubstring("--deterministic true"));
    // Following the advice works.
    CHECK(run_attnprobe(question + "--deterministic true --target " + target).exit_code == 0);
  }
  // The tried changes also meet the constraint.
  const Run helped = run_attnprobe(question + "--sweep --format json --target h100");
  CHECK(helped.json()["results"][0]["ways_out"][0]["changes"][0] == "in the deterministic form");
}

TEST_CASE("a workspace limit selects another engine and names the heuristics' choice", "[constraints]") {
  const Run all = run_attnprobe(backward + "--format json");
  const Json configs = all.json()["results"][0]["engine_configs"];
  // Between the smallest and the largest workspace of this cuDNN.
  int64_t least = INT64_MAX, most = 0;
  for (const Json& config : configs) {
    if (!config["check"]["supported"].get<bool>()) continue;
    least = std::min(least, config["workspace_bytes"].get<int64_t>());
    most = std::max(most, config["workspace_bytes"].get<int64_t>());
  }
  REQUIRE(least < most);
  const Run limited = run_attnprobe(backward + fmt::format("--max-workspace {} --format json", least));
  const Json result = limited.json()["results"][0];
  CHECK(result["verdict"] == "supported");
  for (const Json& config : result["engine_configs"]) {
    if (!config["check"]["supported"].get<bool>()) continue;
    CHECK(config["left_out"].is_null() == (config["workspace_bytes"] <= least));
  }
  CHECK(contains(result["reproduce"].get<std::string>(), fmt::format("--max-workspace {}", least)));
}

TEST_CASE("if nothing meets the constraints the answer is a no that does not blame cuDNN", "[constraints]") {
  const Run run = run_attnprobe(backward + "--require-note CUBLASLT_DEPENDENCY -v");
  INFO(run.out << run.err);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "root cause: constraint (engine 6, proposed by mode A)"));
  CHECK(contains(run.out, "cuDNN supports this graph, but no engine config meets the constraints."));
  CHECK(contains(run.out, "engine 6 KERNEL_CFG=26: it does not have the note CUBLASLT_DEPENDENCY."));
  CHECK(contains(run.out, "left out: it does not have the note CUBLASLT_DEPENDENCY"));
  CHECK_FALSE(contains(run.out, "the heuristics' first choice"));  // already reported
}

TEST_CASE("invalid constraints are refused by name", "[constraints]") {
  const Run note = run_attnprobe(backward + "--require-note FAST");
  CHECK(note.exit_code == 2);
  CHECK(contains(note.err, "--require-note"));
  CHECK(contains(note.err, "SUPPORTS_CUDA_GRAPH_NATIVE_API"));
  const Run size = run_attnprobe(backward + "--max-workspace much");
  CHECK(size.exit_code == 2);
  CHECK(contains(size.err, "--max-workspace"));
  CHECK(run_attnprobe(backward + "--require speed").exit_code == 2);
}

}  // namespace attnprobe::test::constraints_test
