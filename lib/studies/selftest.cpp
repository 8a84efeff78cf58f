#include "studies/selftest.hpp"

#include <fmt/format.h>

#include "ask/ask.hpp"
#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "attention/random_config.hpp"
#include "base/error.hpp"
#include "probe/walk_difference.hpp"

namespace attnprobe::studies {
namespace {

std::vector<attention::AttentionConfig> random_configs(uint64_t first_seed, size_t count) {
  Json documents = Json::array();
  for (size_t i = 0; i < count; ++i) {
    documents.push_back({{"name", fmt::format("random-{}", first_seed + i)}});
    documents.back().update(attention::random_config(first_seed + i));
  }
  return attention::parse_configs(documents.dump(), "random configs");
}

bool is_lost(const answer::Answer& result) {
  return result.verdict == answer::Verdict::crashed || result.verdict == answer::Verdict::timeout;
}

std::vector<std::string> differences_of(const answer::Answer& simulated, const answer::Answer& real) {
  if (simulated.verdict == real.verdict && is_lost(real)) return {};
  std::vector<std::string> lines;
  if (simulated.verdict != real.verdict)
    lines.push_back(
        fmt::format("verdict: {}, {} of {}", name_of(real.verdict), name_of(simulated.verdict), simulated.target.id));
  const auto walked = probe::walk_differences(simulated.findings, real.findings);
  lines.insert(lines.end(), walked.begin(), walked.end());
  return lines;
}

}  // namespace

SelfTest selftest(const gpu::Target& target, const gpu::Target& against, uint64_t first_seed, size_t count,
                  const std::string& cudnn, asking::PlanOptions options, const asking::Session& session,
                  const asking::OnAnswer& on_answer) {
  options.walk = {};
  options.walk.sweep_where_none = false;
  const auto configs = random_configs(first_seed, count);
  const asking::Plan plan{.groups = {{asking::questions_of(configs), {target, against}, {cudnn}}},
                          .options = std::move(options),
                          .further = asking::Further::nothing};
  const auto answers = asking::ask(plan, session, on_answer).front();
  if (!answers.library)
    throw Error(ErrorKind::environment, fmt::format("{} could not be loaded: see attnprobe doctor", cudnn));
  SelfTest test;
  test.target = target;
  test.against = against;
  test.library = *answers.library;
  test.first_seed = first_seed;
  test.stopped = answers.results.size() < 2 * configs.size();
  for (size_t i = 0; i + 1 < answers.results.size(); ++i) {
    const answer::Answer &real = answers.results[i], &simulated = answers.results[i + 1];
    if (real.target.id != target.id || real.config.spec.name != simulated.config.spec.name)
      continue;  // one was stopped
    ++test.configs;
    test.engine_configs += static_cast<int64_t>(real.findings.engine_configs.size());
    test.supported += real.verdict == answer::Verdict::supported ? 1 : 0;
    auto lines = differences_of(simulated, real);
    test.lost += lines.empty() && is_lost(real) ? 1 : 0;
    if (!lines.empty()) test.differences.push_back({attention::to_json(real.config.spec), std::move(lines)});
  }
  return test;
}

Json to_json(const SelfTest& test) {
  // The file is sent by mail, so it contains only the first differences.
  constexpr size_t most_shown = 50;
  Json differences = Json::array();
  for (const auto& difference : test.differences)
    if (differences.size() < most_shown)
      differences.push_back({{"config", difference.config}, {"differences", difference.lines}});
  Json files = Json::array();
  for (const auto& file : test.library.files) files.push_back({{"name", file.name}, {"version", file.version}});
  return {{"schema", "attnprobe/selftest/1"},
          {"target", {{"name", test.target.name}, {"sm", test.target.sm}, {"kind", name_of(test.target.kind)}}},
          {"against", test.against.id},
          {"cudnn", {{"version", test.library.version.text()}, {"files", std::move(files)}}},
          {"first_seed", test.first_seed},
          {"configs", test.configs},
          {"engine_configs", test.engine_configs},
          {"supported", test.supported},
          {"lost", test.lost},
          {"different", test.differences.size()},
          {"differences", std::move(differences)}};
}

}  // namespace attnprobe::studies
