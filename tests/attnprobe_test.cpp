// The library as a program uses it: one header, one call.
#include "attnprobe.hpp"

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::attnprobe_test {

TEST_CASE("ask() gives an answer for each config on each target, with or without a callback", "[api]") {
  const auto configs = attention::parse_configs(
      R"([{"name": "a", "heads": 8, "seqlen": 256, "head_dim": 64}, {"name": "b", "heads": 8, "seqlen": 256, "head_dim": 128}])",
      "test");
  Options options;
  options.walk.sweep_where_none = false;
  const auto answers = ask(configs, find_targets("h200,t4"), options);
  REQUIRE(answers.size() == 4);
  CHECK(answers[0].config == "a");
  CHECK(answers[0].target == "h200");
  CHECK(answers[0].verdict == Verdict::supported);
  CHECK_FALSE(answers[0].engine_configs.empty());
  CHECK(answers[0].met);
  CHECK(answers[1].target == "t4");
  CHECK(answers[1].verdict == Verdict::unsupported);
  CHECK(answers[1].root_cause->category == answer::Category::arch_mismatch);
  CHECK(answers[3].config == "b");
  std::vector<std::string> told;
  options.on_answer = [&](const attnprobe::Answer& answer) { told.push_back(answer.reproduce); };
  CHECK(ask(configs, find_targets("h200"), options).size() == 2);
  CHECK(told.size() == 2);
  options.on_answer = [](const attnprobe::Answer&) { throw Error(ErrorKind::usage, "enough"); };
  CHECK_THROWS_WITH(ask(configs, find_targets("h200,t4"), options), "enough");
  CHECK_THROWS_AS(find_targets("h300"), Error);
}

TEST_CASE("ask() tells what a framework refuses before cuDNN", "[api][frameworks]") {
  const auto configs = attention::parse_configs(
      R"({"heads": 8, "seqlen": 256, "head_dim": 64, "dtype": "bf16", "pass": "fprop_train", "dropout": 0.1})", "test");
  Options options;
  options.walk.sweep_where_none = false;
  options.frameworks = "torch==2.15, jax";
  const auto answers = ask(configs, find_targets("h100"), options);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].verdict == Verdict::supported);
  CHECK(answers[0].usable == Usable::but);
  REQUIRE_FALSE(answers[0].but.empty());
  CHECK(answers[0].but[0].kind == answer::ObstacleKind::framework);
  CHECK(contains(answers[0].but[0].text, "PyTorch 2.15.0 refuses dropout 0.1"));
  options.frameworks = "torch==1.0";
  CHECK(contains(ask(configs, find_targets("h100"), options)[0].but[0].text, "PyTorch 1.0: its rules are not known"));
  options.frameworks = "tensorflow";
  CHECK_THROWS_AS(ask(configs, find_targets("h100"), options), Error);
}

}  // namespace attnprobe::test::attnprobe_test
