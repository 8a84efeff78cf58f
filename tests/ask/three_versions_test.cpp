// Facts about every cuDNN, asked of the oldest, the tests' own and the newest installed one.
#include <filesystem>

#include "attention/config.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "libraries.hpp"
#include "support.hpp"

namespace attnprobe::test::three_versions_test {

using answer::Answer;
using answer::Verdict;

namespace {

std::vector<attention::AttentionConfig> features() {
  std::vector<attention::AttentionConfig> all;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() / "configs/features"))
    for (auto& config : attention::load_configs(file.path().string())) all.push_back(std::move(config));
  return all;
}

std::vector<Answer> ask(const std::vector<attention::AttentionConfig>& configs, const std::string& library) {
  asking::PlanOptions options;
  options.walk.plans = probe::Plans::none;
  options.walk.sweep_where_none = false;
  return answers_to(asking::questions_of(configs), gpu::simulated_targets("h200,b200"), library, options).results;
}

}  // namespace

TEST_CASE("no graph of a feature is invalid, refused or crashes, unless a rule predicts this for that cuDNN",
          "[ask][versions]") {
  const auto configs = features();
  REQUIRE(configs.size() > 150);
  const auto three = three_libraries();
  REQUIRE_FALSE(three.empty());
  for (const FoundLibrary& library : three) {
    const auto results = ask(configs, library.path);
    REQUIRE(results.size() == 2 * configs.size());
    size_t supported = 0;
    for (const Answer& result : results) {
      INFO("cuDNN " << result.cudnn_version << ", " << result.config.spec.name << ' '
                    << name_of(result.config.spec.pass) << " on " << result.target.id);
      CHECK(result.cudnn_version == library.version);
      supported += result.verdict == Verdict::supported ? 1 : 0;
      const bool is_ruled = !result.requirements.empty() || !result.warnings.empty();
      if (is_ruled || result.verdict == Verdict::supported) continue;
      CHECK(result.verdict == Verdict::unsupported);
      CHECK(answer::expected(result) != attention::ExpectedVerdict::supported);
    }
    CHECK(supported > 250);
  }
}

}  // namespace attnprobe::test::three_versions_test
