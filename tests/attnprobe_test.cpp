// The library as a program uses it: one header, one call.
#include "attnprobe.hpp"

#include <algorithm>
#include <numeric>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::attnprobe_test {

TEST_CASE("ask() returns an answer for each config on each target, with or without a callback", "[api]") {
  const char* const configs =
      R"([{"name": "a", "heads": 8, "seqlen": 256, "head_dim": 64}, {"name": "b", "heads": 8, "seqlen": 256, "head_dim": 128}])";
  Options options;
  options.quick = true;
  const auto answers = ask(configs, {"h200", "t4"}, options);
  REQUIRE(answers.size() == 4);
  CHECK(answers[0].config == "a");
  CHECK(answers[0].target == "h200");
  CHECK(answers[0].verdict == Verdict::supported);
  const auto working = std::ranges::find_if(answers[0].engine_configs, &EngineConfig::works);
  REQUIRE(working != answers[0].engine_configs.end());
  CHECK(working->reason.empty());
  CHECK_FALSE(working->modes.empty());
  CHECK(contains(answers[0].account, "engine"));
  CHECK(answers[0].met);
  CHECK(answers[1].target == "t4");
  CHECK(answers[1].verdict == Verdict::unsupported);
  CHECK(name_of(answers[1].verdict) == "unsupported");
  CHECK(answers[1].root_cause->category == Category::arch_mismatch);
  REQUIRE_FALSE(answers[1].engine_configs.empty());
  CHECK_FALSE(answers[1].engine_configs.front().works);
  CHECK_FALSE(answers[1].engine_configs.front().reason.empty());
  CHECK(answers[3].config == "b");
  std::vector<std::string> told;
  options.on_answer = [&](const attnprobe::Answer& answer) { told.push_back(answer.reproduce); };
  CHECK(ask(configs, {"h200"}, options).size() == 2);
  CHECK(told.size() == 2);
  options.on_answer = [](const attnprobe::Answer&) { throw Error(ErrorKind::usage, "enough"); };
  CHECK_THROWS_WITH(ask(configs, {"h200", "t4"}, options), "enough");
}

TEST_CASE("ask() refuses unknown names and quotes them", "[api]") {
  const char* const config = R"({"heads": 8, "seqlen": 256, "head_dim": 64})";
  CHECK_THROWS_WITH(ask(config, {"h300"}), ContainsSubstring("h300"));
  CHECK_THROWS_WITH(ask(R"({"haeds": 8})", {"h100"}), ContainsSubstring("configs: /haeds"));
  Options options;
  options.modes = {"A", "C"};
  CHECK_THROWS_WITH(ask(config, {"h100"}, options),
                    "Options::modes: \"C\" is not a heuristic mode; allowed: A, B, FALLBACK");
}

TEST_CASE("ask() stops when its stop token is set", "[api]") {
  std::stop_source source;
  Options options;
  options.quick = true;
  options.jobs = 1;
  options.stop = source.get_token();
  options.on_answer = [&](const attnprobe::Answer&) { source.request_stop(); };
  std::vector<int> lengths(300);
  std::iota(lengths.begin(), lengths.end(), 1);
  const Json config{{"heads", 8}, {"seqlen", lengths}, {"head_dim", 64}};
  const auto answers = ask(config.dump(), {"h100"}, options);
  CHECK(answers.size() >= 1);
  CHECK(answers.size() < lengths.size());
}

TEST_CASE("ask() reports a framework's refusals before cuDNN's", "[api][frameworks]") {
  const char* const config =
      R"({"heads": 8, "seqlen": 256, "head_dim": 64, "dtype": "bf16", "pass": "fprop_train", "dropout": 0.1})";
  Options options;
  options.quick = true;
  options.frameworks = {"torch==2.15", "jax"};
  const auto answers = ask(config, {"h100"}, options);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].verdict == Verdict::supported);
  CHECK(answers[0].usable == Usable::but);
  REQUIRE_FALSE(answers[0].but.empty());
  CHECK(answers[0].but[0].kind == ObstacleKind::framework);
  CHECK(contains(answers[0].but[0].text, "PyTorch 2.15.0 refuses dropout 0.1"));
  options.frameworks = {"torch==1.0"};
  CHECK(contains(ask(config, {"h100"}, options)[0].but[0].text, "PyTorch 1.0: its rules are not known"));
  options.frameworks = {"tensorflow"};
  CHECK_THROWS_AS(ask(config, {"h100"}, options), Error);
}

}  // namespace attnprobe::test::attnprobe_test
