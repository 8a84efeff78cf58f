// cudnn-frontend's own engines: the data is valid, and each engine supports exactly the expected problems.
#include "rules/frontend_engines.hpp"

#include <map>
#include <set>

#include "rules/flat_problem.hpp"
#include "version_rules.hpp"

namespace attnprobe::test::frontend_engines_test {

using namespace attnprobe::rules;

namespace {

std::vector<std::string> serving(const Json& changes, std::string_view version = "") {
  const Case c = case_of(laid_over(base, changes));
  std::vector<std::string> ids;
  for (const FrontendEngine& engine : frontend_engines(c.spec, c.cudnn, c.sm, version)) ids.push_back(engine.id);
  return ids;
}

std::vector<std::string> serving(const char* changes, std::string_view version = "") {
  return serving(Json::parse(changes), version);
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("The engines of cudnn-frontend are read with sources and messages", "[rules]") {
  const auto& rules = frontend_engine_rules();
  CHECK(rules.size() == 21);
  std::set<std::string> ids;
  size_t by_default = 0;
  for (const FrontendEngineRule& rule : rules) {
    INFO(rule.entry.id);
    CHECK(ids.insert(rule.entry.id).second);
    CHECK(rule.entry.frontend == "1.32.0");
    CHECK(rule.entry.source.url.starts_with("pkg:"));
    CHECK(rule.entry.by_default == rule.entry.switch_on.empty());
    CHECK(rule.declines.size() > 10);
    by_default += rule.entry.by_default ? 1 : 0;
  }
  // From python/cudnn/engines/manifest.py of 1.32.0.
  CHECK(by_default == 8);
}

TEST_CASE("Every engine of cudnn-frontend supports its example but not similar problems", "[rules]") {
  for (const FrontendEngineRule& rule : frontend_engine_rules()) {
    const std::string& id = rule.entry.id;
    INFO(id);
    const auto serves = [&](const Json& changes) {
      const Ids all = serving(changes);
      return std::find(all.begin(), all.end(), id) != all.end();
    };
    CHECK(serves(rule.examples.affected));
    for (const Json& change : rule.examples.unaffected) {
      INFO(change.dump());
      CHECK_FALSE(serves(laid_over(rule.examples.affected, change)));
    }
  }
}

TEST_CASE("An engine of cudnn-frontend can support what cuDNN refuses", "[rules]") {
  CHECK(serving(R"({"pass": "bprop", "sm": 100, "head_dim_qk": 512, "head_dim_v": 512})") == Ids{"sdpa_bwd_sm100"});
  CHECK(serving(R"({"pass": "bprop", "sm": 107, "head_dim_qk": 512, "head_dim_v": 512})") ==
        Ids{"sdpa_bwd_sm107_d512"});
  CHECK(serving(R"({"pass": "bprop", "sm": 90, "head_dim_qk": 512, "head_dim_v": 512})").empty());
  CHECK(serving(R"({"sm": 90, "head_dim_qk": 512, "head_dim_v": 512})") == Ids{"sdpa_fwd_prefill_sm90"});
  // No engine supports dropout, or a GPU below sm_80.
  CHECK(serving(R"({"sm": 100, "dropout": 0.125})").empty());
  CHECK(serving(R"({"sm": 75})").empty());
  CHECK(serving(R"({"sm": 100, "pattern": "two_matmul"})").empty());
  CHECK(serving(R"({"sm": 100, "layout": "thd", "mask": "padding"})") == Ids{"sdpa_fwd_prefill_sm100"});
}

TEST_CASE("Only engines of the selected cudnn-frontend are listed", "[rules]") {
  const char* d512 = R"({"sm": 100, "head_dim_qk": 512, "head_dim_v": 512})";
  CHECK(serving(d512, "1.32") == Ids{"sdpa_fwd_prefill_sm100"});
  CHECK(serving(d512, "1.32.0") == Ids{"sdpa_fwd_prefill_sm100"});
  CHECK(serving(d512, "1.23").empty());
}

TEST_CASE("An engine of cudnn-frontend is listed with its prerequisites", "[rules]") {
  const auto text = [](const char* changes) {
    const Case c = case_of(laid_over(base, Json::parse(changes)));
    std::string all;
    for (const FrontendEngine& engine : frontend_engines(c.spec, c.cudnn, c.sm)) all += text_of(engine) + "\n";
    return all;
  };
  CHECK(text(R"({"pass": "bprop", "sm": 100, "head_dim_qk": 512, "head_dim_v": 512})") ==
        "sm100 bprop, f16 and bf16, head dimensions above 256 (d512) (sdpa_bwd_sm100; enabled by default)\n");
  CHECK(
      text(R"({"sm": 120, "dtype": "fp8_e4m3", "o_dtype": "bf16", "fp8": "current"})") ==
      "sm120 forward, fp8 (sdpa_fwd_prefill_sm120_fp8; with CUDNN_FRONTEND_ENABLE_FROST_ENGINES=1; provided that Amax_S "
      "is not an output)\n");
}

TEST_CASE("If cuDNN refuses, the answer names cudnn-frontend's own engines", "[rules][probe]") {
  const std::string call =
      "--pass bprop --heads 8 --seqlen 1024 --head-dim 512 --dtype bf16 --target b200,h200 --quick";
  const Run run = run_attnprobe(call);
  CHECK(run.exit_code == 1);
  CHECK(contains(
      run.out, "also   cudnn-frontend's own engine from Python: sm100 bprop, f16 and bf16, head dimensions above 256"));
  CHECK(contains(run_attnprobe(call + " -v").out,
                 "cudnn-frontend 1.32 used from Python has its own engine, according to its rules (C++ programs"));
  const Json results = Json::parse(run_attnprobe(call + " --format json").out).at("results");
  REQUIRE(results.size() == 2);
  REQUIRE(results[0].at("frontend_engines").size() == 1);
  const Json& engine = results[0]["frontend_engines"][0];
  CHECK(engine.at("id") == "sdpa_bwd_sm100");
  CHECK(engine.at("frontend") == "1.32.0");
  CHECK(engine.at("by_default") == true);
  CHECK_FALSE(results[1].contains("frontend_engines"));
  const Run taken =
      run_attnprobe("--heads 8 --seqlen 512 --head-dim 128 --dtype bf16 --target b200 --quick --format json");
  CHECK_FALSE(contains(taken.out, "frontend_engines"));
}

TEST_CASE("A mistake in the data of cudnn-frontend's engines is an error that names it", "[rules]") {
  const auto error = [](const std::string& text) {
    return internal_error([&] { parse_frontend_engines(text, "engines/x.json"); });
  };
  const std::string engine =
      R"({"id": "a", "what": "w", "default": true, "sm": {"min": 80}, "when": {"paged": true}, "declines": [],)"
      R"( "affected": {}, "unaffected": [{}]})";
  const auto file = [](const std::string& engines, const std::string& declines = "") {
    return R"({"comment": "", "frontend": "1.0", "switch": "S=1", "needs": "n", "source": {"text": "t", "url": "u"},)"
           R"( "families": [{"when": {"pass": "fprop"}, "declines": [)" +
           declines + R"(], "engines": [)" + engines + "]}]}";
  };
  CHECK(error(file(engine)) == "no error");
  CHECK(contains(error(file(engine + "," + engine)), "\"a\" is there twice"));
  CHECK(contains(error(file("")), "no entries"));
  CHECK(contains(error(file(engine, R"({"reason": "r", "when": {"pagd": true}})")), "did you mean \"paged\""));
  CHECK(contains(error(file(engine, R"({"reason": " ", "when": {}})")), "is not a non-empty text"));
  std::string other = engine;
  other.replace(other.find("default"), 7, "defautl");
  CHECK(contains(error(file(other)), "engines/x.json, a: "));
}

}  // namespace attnprobe::test::frontend_engines_test
