// The bill of real plans on simulated GPUs: what is foretold from a few compiled plans is what all of them hold.
#include <algorithm>
#include <map>

#include "base/text.hpp"
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

TEST_CASE("a decode loop builds a plan for each length and few kernels", "[plans_bill][slow]") {
  const std::string words =
      "--heads 8 --heads-kv 2 --seqlen-q 1 --seqlen-kv 64 --head-dim 64 --dtype bf16 -t h100 --lengths 100:160";
  const Json few = bill_of(words)["bill"], all = bill_of(words + " --all")["bill"];
  CHECK(all["compiled"] == 61);
  CHECK(few["plans"] == 61);
  CHECK(few["compiled"] < 61);
  // Every kernel and its share is as compiling all of them shows.
  std::map<std::string, int> foretold, compiled;
  for (const auto& kernel : few["kernels"]) foretold[kernel["identity"]] = kernel["plans"];
  for (const auto& kernel : all["kernels"]) compiled[kernel["identity"]] = kernel["plans"];
  CHECK(foretold == compiled);
  CHECK((compiled.size() >= 2 && compiled.size() <= 6));
}

TEST_CASE("the bill tells plans, kernels, building and what rounding up saves on one screen", "[plans_bill]") {
  const Run run = run_attnprobe("plans --heads 8 --seqlen 512 --head-dim 64 --causal -t h100 --lengths 500:504");
  INFO(run.out << run.err);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "5 shapes on h100, cuDNN "));
  CHECK(contains(run.out, "(simulated): 5 plans, "));
  CHECK(contains(run.out, "each compiled"));
  CHECK(contains(run.out, "multiples of 64"));
  const auto lines = std::count(run.out.begin(), run.out.end(), '\n');
  CHECK(lines <= 24);
  CHECK(longest_line(run.out) <= 80);
}

TEST_CASE("a shape that cuDNN refuses has no plan, and the reason is said", "[plans_bill]") {
  const Run run = run_attnprobe("plans --heads 8 --seqlen 512 --head-dim 20 --causal -t h100 --lengths 500,512");
  INFO(run.out << run.err);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "2 shapes without a plan"));
  CHECK(contains(run.out, "multiple of 8"));
}

TEST_CASE("lengths that are none end with what is allowed", "[plans_bill]") {
  const Run run = run_attnprobe("plans --heads 8 --seqlen 512 --head-dim 64 -t h100 --lengths 12x");
  CHECK(run.exit_code == 2);
  CHECK(contains(run.err, "--lengths 12x: neither lengths (512, 101:220, 64:8192:64) nor a file that can be read"));
}

}  // namespace attnprobe::test::bill_test
