// The bill of real plans on simulated GPUs: predictions from a few compiled plans match all plans.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "ask/named_targets.hpp"
#include "base/text.hpp"
#include "gpu/catalogue.hpp"
#include "studies/plans/bill_text.hpp"
#include "support.hpp"

namespace attnprobe::test::bill_test {

size_t longest_line(const std::string& text) {
  size_t longest = 0;
  for (const auto& line : split(text, '\n')) longest = std::max(longest, line.size());
  return longest;
}

Json bill_of(const std::string& words) {
  const Run run = run_attnprobe("plans " + words + " -f json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return Json::parse(run.out)["results"][0];
}

TEST_CASE("a decode loop builds a plan for each length but few kernels", "[plans_bill][slow]") {
  const std::string words =
      "--heads 8 --heads-kv 2 --seqlen-q 1 --seqlen-kv 64 --head-dim 64 --dtype bf16 -t h100 --lengths 100:160";
  const Json few = bill_of(words)["bill"], all = bill_of(words + " --all")["bill"];
  CHECK(all["compiled"] == 61);
  CHECK(few["plans"] == 61);
  CHECK(few["compiled"] < 61);
  // Every kernel and its share match the result of compiling all plans.
  std::map<std::string, int> foretold, compiled;
  for (const auto& kernel : few["kernels"]) foretold[kernel["identity"]] = kernel["plans"];
  for (const auto& kernel : all["kernels"]) compiled[kernel["identity"]] = kernel["plans"];
  CHECK(foretold == compiled);
  CHECK((compiled.size() >= 2 && compiled.size() <= 6));
}

TEST_CASE("the bill shows plans, kernels, build time and savings from rounding up on one screen", "[plans_bill]") {
  const Run run = run_attnprobe("plans --heads 8 --seqlen 512 --head-dim 64 --causal -t h100 --lengths 500:504");
  INFO(run.out << run.err);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "5 shapes on h100, cuDNN "));
  CHECK(contains(run.out, "(simulated): 5 plans, "));
  CHECK(contains(run.out, "each compiled"));
  CHECK(contains(run.out, "multiples of 64"));
  CHECK(contains(run.out, " on the host, workspace up to "));
  // cuDNN itself answers whether one plan suffices; override_shapes needs 9.21.
  CHECK(contains(run.out, "\noverride_shapes: refused: "));
  CHECK(contains(run.out, "\ndynamic_shapes: "));
  const auto lines = std::count(run.out.begin(), run.out.end(), '\n');
  CHECK(lines <= 24);
  CHECK(longest_line(run.out) <= 80);
}

TEST_CASE("a shape that cuDNN refuses has no plan, and the reason is shown", "[plans_bill]") {
  const Run run = run_attnprobe("plans --heads 8 --head-dim 20 --causal -t h100 --lengths 500,512");
  INFO(run.out << run.err);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "2 shapes without a plan"));
  CHECK(contains(run.out, "multiple of 8"));
}

TEST_CASE("a log's bill covers the graphs that ran and the log's seconds", "[plans_bill]") {
  const std::string log = "tests/fixtures/logs/pytorch-2.11-cudnn-9.19-decode-bf16.log.xz";
  const Run run = run_attnprobe("plans " + log + " -f json");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json found = run.json()["results"][0];
  CHECK(found["target"] == "h200");  // the log's
  CHECK(found["config"] == log);
  CHECK(found["built"]["plans"] == 1);
  CHECK(found["built"]["seconds"] == Approx(0.302858).epsilon(0.001));
  CHECK(found["bill"]["plans"] == 1);
  CHECK(found["bill"]["kernels"].size() == 1);
  for (const char* words : {" --heads 4", " --lengths 5"}) {
    const Run refused = run_attnprobe("plans " + log + words);
    CHECK(refused.exit_code == 2);
    CHECK(contains(refused.err, log + ": a log has its own shapes; use --lengths and fields only with configs"));
  }
}

TEST_CASE("no shape is asked twice, even if several bucketings round up to it", "[plans_bill]") {
  const auto targets = asking::named_targets("h100", 60);
  const auto spec =
      attention::parse_configs(R"({"heads": 8, "seqlen": 64, "head_dim": 20, "mask": "causal"})", "test").at(0).spec;
  const plans::Workload workload{"refused", plans::shapes_of(spec, plans::read_lengths("60:70")), {}, {}};
  std::map<std::string, int> asked;
  std::mutex mutex;
  const auto bills = plans::bills_of({workload}, targets.front(), {}, {}, false, [&](const answer::Answer& answer) {
    const std::lock_guard lock(mutex);
    const auto& of = answer.config.spec;
    ++asked[fmt::format("{} {} {}", of.seqlen_kv, of.override_shapes, of.dynamic_shapes)];
  });
  REQUIRE(bills.size() == 1);
  CHECK(bills[0].exact.refused.size() == 11);
  CHECK(bills[0].bucketed.size() >= 4);
  // 60 to 70, then 128, 256 and 512; the longest with each way to a single plan.
  CHECK(asked.size() == 11 + 3 + 2);
  for (const auto& [shape, times] : asked) CHECK(times == 1);
}

TEST_CASE("the build time is reported as the measured range", "[plans_bill]") {
  plans::WorkloadBill found;
  found.target = *gpu::find("h100");
  found.exact.shapes = found.exact.plans = 200;
  found.exact.kernels.resize(3);
  const Json bill = plans::bill_json(found)["bill"];
  // 3 first plans and 197 siblings, 11.2 s; PyTorch took 0.92 to 1.71 times as long.
  CHECK(bill["estimated_seconds_on_gpu"] == Approx(3 * 0.65 + 197 * 0.047));
  CHECK(bill["estimated_seconds_range"][0] == Approx(0.9 * 11.209));
  CHECK(bill["estimated_seconds_range"][1] == Approx(1.75 * 11.209));
  CHECK(contains(plans::bill_text(found), "building  10 to 20 s in a program on a GPU"));
}

TEST_CASE("the named padding has the fewest plans for at most a tenth more work", "[plans_bill]") {
  plans::WorkloadBill found;
  const auto add = [&](const char* name, size_t count, double work) {
    plans::BucketedBill& one = found.bucketed.emplace_back();
    one.bucketing.name = name;
    one.bucketing.work = work;
    one.bill.plans = count;
  };
  CHECK(plans::cheapest_of(found) == nullptr);
  add("much", 1, 1.5);
  add("less", 3, 1.3);
  CHECK(plans::cheapest_of(found)->bucketing.name == "less");
  add("some", 8, 1.05);
  add("few", 4, 1.09);
  CHECK(plans::cheapest_of(found)->bucketing.name == "few");
}

TEST_CASE("invalid lengths are refused with the allowed values", "[plans_bill]") {
  const Run run = run_attnprobe("plans --heads 8 --seqlen 512 --head-dim 64 -t h100 --lengths 12x");
  CHECK(run.exit_code == 2);
  CHECK(contains(run.err, "--lengths 12x: neither lengths (512, 101:220, 64:8192:64) nor a file that can be read"));
}

}  // namespace attnprobe::test::bill_test
