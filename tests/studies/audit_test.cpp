#include "studies/audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::audit_test {

namespace {

Json audit_rows(const std::string& config, const std::string& arguments, int exit_code) {
  const TemporaryFolder folder;
  const auto run =
      run_attnprobe(fmt::format("audit {} {} --format json", folder.file("c.json", config).string(), arguments));
  INFO(run.err);
  CHECK(run.exit_code == exit_code);
  return run.json()["rows"];
}

}  // namespace

TEST_CASE("an audit finds a limit that cuDNN does not have, with the rule's location and a command", "[audit][cli]") {
  const auto rows = audit_rows(
      R"({"name": "wide", "batch": 1, "heads": 4, "seqlen": 512, "head_dim": [128, 192, 256], "dtype": "bf16"})",
      "--framework torch==2.15 --target rtx4090", 1);
  REQUIRE(rows.size() == 1);
  const Json& row = rows[0];
  CHECK(row["kind"] == "refuses_what_works");
  CHECK(row["rule"] == "head_dim");
  CHECK(row["title"] == "PyTorch 2.15.0");
  CHECK(contains(row["source"], "check_cudnn_tensor_shapes"));
  CHECK(row["cells"] == 2);
  CHECK(contains(row["taken_values"].dump(), "head_dim_qk 192 to 256 forward on rtx4090"));
  // The rule is one number, and another number is proposed. The first version comes from the other installed versions,
  // if there are any.
  REQUIRE(row["proposed_rule"].size() == 1);
  CHECK(row["proposed_rule"][0]["keys"] == Json{"head_dim_qk", "head_dim_v"});
  CHECK(row["proposed_rule"][0]["now"] == "above 128");
  CHECK(row["proposed_rule"][0]["limit"] == 256);
  CHECK(row["proposed_rule"][0]["end_found"] == false);
  CHECK(row["proposed_rule"][0]["targets"] == Json{"rtx4090"});
  CHECK((row["since"] == "" || contains(row["since"], "from cuDNN 9.")));
  // The smallest is 192, its first choice was compiled, and its command gives the same answer.
  CHECK(row["smallest"]["config"]["head_dim_qk"] == 192);
  CHECK(row["smallest"]["compiled"] == true);
  const std::string command = row["smallest"]["reproduce"];
  const auto again = run_attnprobe(command.substr(std::string("attnprobe ").size()) + " --format json");
  CHECK(again.exit_code == 0);
  CHECK(again.json()["results"][0]["verdict"] == "supported");
  CHECK(again.json()["results"][0]["but"][0]["kind"] == "framework");
}

TEST_CASE("a suggested limit ends where cuDNN refuses, and is omitted if cuDNN refuses in between", "[audit]") {
  const auto& gates = rules::framework_gates();
  const auto torch =
      std::find_if(gates.begin(), gates.end(), [](const auto& gate) { return gate.framework == "torch"; });
  const auto rule =
      std::find_if(torch->rules.begin(), torch->rules.end(), [](const auto& known) { return known.id == "head_dim"; });
  REQUIRE(rule != torch->rules.end());
  const auto at = [](int64_t head_dim) {
    answer::Answer result;
    result.config.spec.head_dim_qk = result.config.spec.head_dim_v = head_dim;
    result.cudnn_version = {9, 19, 0};
    result.target.id = "rtx4090";
    result.target.sm = 89;
    return result;
  };
  studies::RuleValues values;
  values.add(*rule, at(192), true);
  values.add(*rule, at(256), true);
  auto too_large = at(264);
  too_large.root_cause.emplace().category = answer::Category::head_dim;
  values.add(*rule, too_large, false);
  const auto proposals = values.proposals(*rule);
  REQUIRE(proposals.size() == 1);
  CHECK(
      text_of(proposals[0]) ==
      "head_dim_qk and head_dim_v above 256 instead of above 128, forward on rtx4090; cuDNN refused every value asked beyond it");
  CHECK(values.taken().front() == "head_dim_qk 192 to 256 forward on rtx4090");
  // A missing feature of cuDNN proves nothing about the number.
  auto no_fp8 = at(200);
  no_fp8.root_cause.emplace().category = answer::Category::data_type;
  values.add(*rule, no_fp8, false);
  CHECK(values.proposals(*rule).size() == 1);
  no_fp8.root_cause->category = answer::Category::head_dim;
  values.add(*rule, no_fp8, false);
  CHECK(values.proposals(*rule).empty());
}

TEST_CASE("an audit finds calls that a gate accepts and cudnn-frontend refuses", "[audit][cli]") {
  const auto rows = audit_rows(
      R"({"name": "alibi", "batch": 1, "heads": 4, "seqlen": 256, "head_dim": 64, "dtype": "bf16", "alibi": true})",
      "--framework xla --target h100", 1);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["kind"] == "lets_through");
  CHECK(contains(rows[0]["what"], "When alibi mask is used, diagonal_band_right_bound needs to be set to 0"));
  CHECK(rows[0]["smallest"]["compiled"] == false);
}

TEST_CASE("an audit without findings reports its extent and exits with 0", "[audit][cli]") {
  const TemporaryFolder folder;
  const std::string config =
      folder.file("c.json", R"({"heads": 4, "seqlen": 512, "head_dim": 64, "dtype": "bf16", "mask": "causal"})");
  const auto run = run_attnprobe("audit " + config + " --framework torch,jax --target h100");
  CHECK(run.exit_code == 0);
  CHECK(run.out == "nothing found in 1 cell\n");
  const auto broken = run_attnprobe("audit " + config + " --framework torch --target h100 --no-cache",
                                    {{"ATTNPROBE_NULL_DRIVER", "/nowhere"}});
  CHECK(broken.exit_code == 3);
  CHECK(broken.out.empty());  // the missing input is reported before cuDNN is asked
  CHECK(contains(broken.err, "the null driver (libattnprobe_null_driver.so), which simulated GPUs need, is missing"));
  const auto unknown = run_attnprobe("audit " + config + " --framework pytroch");
  CHECK(unknown.exit_code == 2);
  CHECK(contains(unknown.err, "--framework: \"pytroch\""));
}

TEST_CASE("the sweep covers every feature of the gates, without contradictions", "[audit]") {
  const auto configs = studies::audit_sweep();
  CHECK(configs.size() > 500);
  const auto any = [&](auto&& has) {
    return std::any_of(configs.begin(), configs.end(), [&](const auto& c) { return has(c.spec); });
  };
  CHECK(any([](const auto& spec) { return spec.paged.has_value(); }));
  CHECK(any([](const auto& spec) { return spec.sink; }));
  CHECK(any([](const auto& spec) { return spec.dropout.has_value() && is_bprop(spec); }));
  CHECK(any([](const auto& spec) { return spec.bias && spec.bias->grad; }));
  CHECK(any([](const auto& spec) { return spec.seqlen_q == 1 && spec.heads_q != spec.heads_kv; }));
}

}  // namespace attnprobe::test::audit_test
