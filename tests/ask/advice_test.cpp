// Follows the advice for refused configs. The ways out work, and general help removes the reason that it is for.
// tests/rules/version_advice_test.cpp checks advice on versions.
#include <algorithm>
#include <filesystem>

#include "answer/reasons.hpp"
#include "ask/further/ways_out.hpp"
#include "attention/config.hpp"
#include "attention/random_config.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "support.hpp"

namespace attnprobe::test::advice_test {

using namespace attnprobe::asking;
using answer::Answer;

namespace {

constexpr const char* gpus = "h100,a100,b200,rtx4090";

PlanOptions quick() {
  PlanOptions options;
  options.walk.modes = {"A", "FALLBACK"};
  options.walk.sweep_where_none = false;
  options.walk.plans = probe::Plans::none;
  return options;
}

bool is_refused(const Answer& result) {
  return result.usable && *result.usable != Usable::yes && result.has_spec();
}

std::vector<Answer> refused(const std::vector<Question>& questions, const std::string& targets) {
  auto results = answers_to(questions, gpu::simulated_targets(targets), cudnn_path(), quick()).results;
  std::erase_if(results, [](const Answer& result) { return !is_refused(result); });
  return results;
}

std::vector<Question> random_questions(uint64_t first, uint64_t count) {
  std::vector<attention::AttentionConfig> configs;
  for (uint64_t seed = first; seed < first + count; ++seed)
    configs.push_back(attention::parse_configs(attention::random_config(seed).dump(), "random").at(0));
  return questions_of(configs);
}

std::vector<Question> shipped_questions() {
  std::vector<attention::AttentionConfig> configs;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() / "configs/features"))
    for (auto& config : attention::parse_configs(read_text(file.path()), file.path().string()))
      configs.push_back(std::move(config));
  return questions_of(configs);
}

Question with_spec(const Answer& of, const attention::AttentionSpec& spec) {
  Question question = of;
  question.config.spec = spec;
  return question;
}

std::string words_of(const Answer& result) {
  return to_json(result.config.spec).dump() + " on " + result.target.id;
}

// A change in the help must remove the reason; otherwise the help is useless.
void follow_help(const std::vector<Answer>& results) {
  size_t followed = 0;
  for (const Answer& result : results) {
    if (!result.root_cause || result.root_cause->in_general.empty()) continue;
    const log::Reason reason{result.root_cause->status, result.root_cause->reason};
    const auto* known = answer::find_reason(reason);
    if (known == nullptr || known->changes.empty()) continue;
    std::vector<Question> changed;
    for (const Change& change : changes_of(result.config.spec)) {
      if (std::find(known->changes.begin(), known->changes.end(), change.kind) == known->changes.end()) continue;
      attention::AttentionSpec spec = result.config.spec;
      change.make(spec);
      if (contradictions(spec).empty()) changed.push_back(with_spec(result, spec));
    }
    // Explicit strides exclude some changes.
    if (changed.empty()) continue;
    ++followed;
    const auto answers = answers_to(changed, {result.target}, cudnn_path(), quick()).results;
    const bool gets_past = std::any_of(answers.begin(), answers.end(), [&](const Answer& answer) {
      const auto* other =
          answer.root_cause ? answer::find_reason({answer.root_cause->status, answer.root_cause->reason}) : nullptr;
      return answer.verdict == Verdict::supported || other != known;
    });
    if (!gets_past) FAIL_CHECK(known->id << ": " << words_of(result) << ": " << known->help);
  }
  CHECK(followed > 0);
}

void follow_ways_out(std::vector<Answer>& results) {
  SuggestOptions suggest;
  suggest.most = 2;
  suggest.two_at_a_time = suggest.compile = false;
  advise(results, quick(), {}, suggest);
  size_t ways = 0;
  for (const Answer& result : results) {
    for (const WayOut& way : result.ways_out) {
      ++ways;
      const auto again =
          answers_to({with_spec(result, way.spec)}, {result.target}, cudnn_path(), quick()).results.at(0);
      if (again.usable != Usable::yes) FAIL_CHECK(words_of(result) << ": " << text_of(way));
    }
    if (!result.root_cause) continue;
    const auto* known = answer::find_reason({result.root_cause->status, result.root_cause->reason});
    // Changes were tried: successful ones are listed as ways out.
    if (known != nullptr && !known->changes.empty()) CHECK(result.root_cause->in_general.empty());
  }
  CHECK(ways > results.size() / 4);
}

}  // namespace

TEST_CASE("advice for 300 random refused configs works when followed", "[advice][random][slow]") {
  std::vector<Answer> results;
  for (uint64_t seed = 1; results.size() < 300; seed += 100)
    for (auto& result : refused(random_questions(seed, 100), gpus)) results.push_back(std::move(result));
  results.resize(300);
  follow_help(results);
  follow_ways_out(results);
}

TEST_CASE("advice for refused shipped configs works when followed", "[advice][slow]") {
  auto results = refused(shipped_questions(), gpus);
  CHECK(results.size() > 50);
  follow_help(results);
  follow_ways_out(results);
}

}  // namespace attnprobe::test::advice_test
