// attnprobe reduce: the removed fields, the reduced sizes, and that the failure remains.
#include "studies/reduce/reduce.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "attention/config.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::reduce_test {

namespace {

attention::AttentionSpec spec(const std::string& json) {
  return attention::parse_configs(json, "test").at(0).spec;
}

reduce::Failure refused(const std::string& reason) {
  reduce::Failure failure;
  failure.verdict = answer::Verdict::unsupported;
  failure.reason = reason;
  return failure;
}

}  // namespace

TEST_CASE("features that the failure does not need are removed, and sizes shrink while it persists", "[reduce]") {
  size_t asked = 0;
  // Refused for its dropout with more than 20 queries; refused for another reason with one head.
  const auto ask = [&](const attention::AttentionSpec& s) {
    ++asked;
    if (s.heads_q == 1) return refused("too few heads");
    return s.dropout && s.seqlen_q > 20 ? refused("too much") : reduce::Failure{};
  };
  const auto reduced = reduce::reduce(
      spec(R"({"name": "big", "pattern": "sdpa_composite", "batch": 32, "heads": 12, "seqlen": 512, "head_dim": 64,
               "mask": "padding_causal", "dropout": {"probability": 0.1, "seed": "i32"}, "dtype": "bf16", "pass": "fprop_train"})"),
      ask);
  const auto& s = reduced.spec;
  CHECK(reduced.ended);
  CHECK(text_of(reduced.failure) == "unsupported: too much");
  CHECK(asked == reduced.trials.size() + 1);
  CHECK(s.name == "big");
  CHECK(s.pattern == attention::Pattern::sdpa_composite);
  CHECK(s.pass == attention::Pass::fprop);
  CHECK(s.dtype == DataType::f16);
  CHECK(s.mask == attention::Mask{});
  REQUIRE(s.dropout);
  CHECK_FALSE(s.dropout->seed);
  CHECK(s.batch == 1);
  CHECK((s.heads_q == 3 && s.heads_kv == 1));
  CHECK((s.seqlen_q == 32 && s.seqlen_kv == 1));
  CHECK((s.head_dim_qk == 1 && s.head_dim_v == 1));
  const auto find = [&](const std::string& what) {
    const auto found = std::find_if(reduced.trials.begin(), reduced.trials.end(),
                                    [&](const auto& trial) { return trial.what == what; });
    REQUIRE(found != reduced.trials.end());
    return *found;
  };
  CHECK(find("without --mask padding_causal").kept);
  CHECK(find("--heads-q 1 --heads-kv 1").answer == "unsupported: too few heads");
  CHECK(find("--batch 1").kept);
}

TEST_CASE("a config that does not fail or could not be asked is not reduced", "[reduce]") {
  const auto config = spec(R"({"heads": 1, "seqlen": 8, "head_dim": 8})");
  CHECK_THAT(usage_error([&] { reduce::reduce(config, [](const auto&) { return reduce::Failure{}; }); }),
             StartsWith("the config is supported here, so there is nothing to reduce"));
  const auto broken = [](const auto&) {
    reduce::Failure failure = refused("no driver");
    failure.asked = false;
    return failure;
  };
  CHECK_THROWS_AS(reduce::reduce(config, broken), Error);
}

TEST_CASE("the number of trials has a limit, which is reported", "[reduce]") {
  const auto always = [](const auto&) { return refused("always"); };
  const auto reduced =
      reduce::reduce(spec(R"({"heads": 512, "seqlen": 4096, "head_dim": 128, "mask": "causal"})"), always, 2);
  CHECK(reduced.trials.size() == 2);
  CHECK_FALSE(reduced.ended);
}

TEST_CASE("attnprobe reduce writes the smallest config that cuDNN refuses for the same reason", "[reduce]") {
  const TemporaryFolder folder;
  const auto file =
      folder.file("odd.json", R"({"name": "odd", "pattern": "sdpa_composite", "batch": 4, "heads": 8, "seqlen": 512,
    "head_dim": 100, "mask": "padding_causal", "dropout": 0.1, "pass": "fprop_train", "dtype": "bf16"})");
  const std::string small = (folder.path() / "small.json").string();
  const Run run = run_attnprobe(fmt::format("reduce --config {} --target h100 -o {}", file.string(), small));
  INFO(run.out << run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out,
             ContainsSubstring("unsupported, head_dim: Embedding dim per head for q and k is not a multiple of 8"));
  CHECK_THAT(run.out, ContainsSubstring("\nis:  sdpa_composite fprop b1 "));
  std::ifstream in(small);
  const auto reduced = attention::parse_configs(std::string(std::istreambuf_iterator<char>(in), {}), small).at(0).spec;
  CHECK(reduced.batch == 1);
  CHECK_FALSE(reduced.dropout);
  CHECK(reduced.mask == attention::Mask{});
  CHECK(reduced.head_dim_qk % 8 != 0);
  // The reduced config is refused for exactly that reason.
  const Run again = run_attnprobe(fmt::format("--config {} --target h100 --quick", small));
  CHECK_THAT(again.out, ContainsSubstring("Embedding dim per head for q and k is not a multiple of 8"));
}

TEST_CASE("attnprobe reduce names input that it cannot reduce", "[reduce]") {
  const std::pair<const char*, const char*> cases[] = {
      {"reduce", "nothing to reduce; allowed: --config FILE with one config, its fields as options, or --log FILE"},
      {"reduce --config configs/bert.json", "4 configs; allowed: one"}};
  for (const auto& [arguments, message] : cases) {
    const Run run = run_attnprobe(arguments);
    INFO(run.err);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, ContainsSubstring(message));
  }
}

}  // namespace attnprobe::test::reduce_test
