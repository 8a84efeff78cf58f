#include "studies/hunt/trial.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "attention/random_config.hpp"
#include "base/side_by_side.hpp"
#include "gpu/catalogue.hpp"
#include "probe/walk_difference.hpp"
#include "run/data.hpp"
#include "studies/bugs/bug_experiments.hpp"
#include "studies/reduce/reduce.hpp"

namespace attnprobe::hunt {
namespace {

using rules::Seen;
using run::DataRegime;

// batch x heads x queries x keys: the reference then needs a fraction of a second.
constexpr int64_t most_scores = int64_t{1} << 25;

int64_t scores_of(const attention::AttentionSpec& spec) {
  return spec.batch * spec.heads_q * spec.seqlen_q * spec.seqlen_kv;
}

bool is_about_batch(const Json& config) {
  return (config.contains("layout") && config["layout"].is_object()) || config.contains("max_total_seqlen_q");
}

// With large data, these modifiers give scores beyond f32.
bool overflows(const attention::AttentionSpec& spec) {
  using Kind = attention::ScoreModifierKind;
  return spec.score_mod && (spec.score_mod->kind == Kind::exp || spec.score_mod->kind == Kind::pow);
}

DataRegime regime_for(const attention::AttentionSpec& spec, uint64_t seed) {
  constexpr DataRegime usual[] = {
      DataRegime::normal, DataRegime::integers,     DataRegime::normal, DataRegime::negative_scores,
      DataRegime::normal, DataRegime::far_negative, DataRegime::large};
  if (overflows(spec)) return DataRegime::normal;
  // The scales of fp8 graphs fit standard normal data.
  if (is_fp8(spec)) return seed % 2 == 0 ? DataRegime::normal : DataRegime::integers;
  return usual[seed % std::size(usual)];
}

std::optional<Probe> drawn(uint64_t seed) {
  Json config = attention::random_newer_config(seed);
  const auto size = [&](const char* name) { return config[name].get<int64_t>(); };
  while (!is_about_batch(config) && size("batch") > 1 &&
         size("batch") * size("heads_q") * size("seqlen_q") * size("seqlen_kv") > most_scores)
    config["batch"] = size("batch") / 2;
  auto spec = reduce::spec_of(config);
  if (!spec || scores_of(*spec) > most_scores) return std::nullopt;
  spec->name = "random-" + std::to_string(seed);
  const DataRegime data = regime_for(*spec, seed);
  return Probe{seed, std::move(*spec), data};
}

void take_plan(Trial& trial, const probe::EngineConfigFindings& config) {
  trial.engine_config = probe::config_name(config.engine, config.knobs);
  trial.seen = studies::seen_of(config);
  trial.message = studies::words_of(config);
  if (!config.run) return;
  for (const auto& output : config.run->outputs)
    if (!output.right) trial.outputs.push_back(output.tensor);
}

// The plan that ran is the one that a program would use; if none ran, the last plan that failed to compile.
void take_plans(Trial& trial, const probe::WalkFindings& findings) {
  bool is_first = true;
  for (const auto& config : findings.engine_configs) {
    if (!config.plan) continue;
    take_plan(trial, config);
    if (config.run) return;
    if (std::exchange(is_first, false)) trial.first_choice_compiles = trial.seen == Seen::not_run;
  }
}

Trial trial_of(const Probe& probe, const answer::Answer& result) {
  Trial trial;
  trial.seed = probe.seed;
  trial.gpu = gpu::id_or_name(result.target);
  trial.cudnn = result.cudnn_version.is_known() ? result.cudnn_version.text() : "";
  trial.data = probe.data;
  trial.config = reduce::fields_of(probe.spec);
  trial.description = describe(probe.spec);
  trial.reproduce = result.reproduce;
  for (const auto& bug : result.warnings) trial.bugs.push_back(bug.id);
  if (result.frontend && result.frontend->refuses) trial.refused_by = "cudnn-frontend: " + result.frontend->id;
  if (trial.refused_by.empty() && !result.requirements.empty()) trial.refused_by = result.requirements.front().id;
  if (result.environment_broken) return trial;
  if (result.crash) {
    trial.seen = result.verdict == answer::Verdict::timeout ? Seen::hung : Seen::crashed;
    trial.message = result.crash->how + ", at: " + result.crash->stage.text;
    return trial;
  }
  trial.seen = result.verdict == answer::Verdict::unsupported ? Seen::refused : Seen::not_run;
  take_plans(trial, result.findings);
  return trial;
}

// Probes with the same data, asked together. Plans take turns on the GPU and small problems leave it mostly idle, so
// several groups run in parallel. More workers than asked for slow the driver down: 72 on four H200s gave 1 result in
// 45 s, 16 gave 13 a second.
struct Lane {
  DataRegime data = DataRegime::normal;
  std::vector<size_t> places;
};

std::vector<Lane> lanes_of(const std::vector<Probe>& probes) {
  constexpr size_t side_by_side = 4, least = 8;
  const size_t most = std::max(least, (probes.size() + side_by_side - 1) / side_by_side);
  std::map<DataRegime, std::vector<size_t>> by_data;
  for (size_t i = 0; i < probes.size(); ++i) by_data[probes[i].data].push_back(i);
  std::vector<Lane> lanes;
  for (const auto& [data, places] : by_data)
    for (size_t i = 0; i < places.size(); ++i) {
      if (i % most == 0) lanes.push_back({data, {}});
      lanes.back().places.push_back(places[i]);
    }
  return lanes;
}

}  // namespace

bool fails(const Trial& trial) {
  return rules::is_seen(trial.seen) || !trial.first_choice_compiles;
}

bool is_compared(const Trial& trial) {
  return trial.seen == Seen::right || trial.seen == Seen::wrong_result;
}

bool is_unwarned(const Trial& trial) {
  return trial.bugs.empty() && trial.refused_by.empty();
}

std::vector<Probe> draw_probes(uint64_t first, size_t count) {
  std::vector<Probe> probes;
  for (uint64_t seed = first; seed < first + count; ++seed)
    if (auto probe = drawn(seed)) probes.push_back(std::move(*probe));
  return probes;
}

void give_lengths(attention::AttentionSpec& spec) {
  auto& mask = spec.mask;
  if (!mask.padding || !mask.seqlens_q.empty() || !mask.seqlens_kv.empty()) return;
  const run::RunOptions options;
  std::mt19937_64 random(options.seed);
  const auto chosen = run::choose_lengths(options, spec.batch, spec.seqlen_q, spec.seqlen_kv, &random);
  mask.seqlens_q.assign(chosen.q.begin(), chosen.q.end());
  mask.seqlens_kv.assign(chosen.kv.begin(), chosen.kv.end());
  // More tokens than promised are the caller's error.
  const auto raise = [](std::optional<int64_t>& total, const std::vector<int64_t>& all) {
    if (total) total = std::max(*total, std::accumulate(all.begin(), all.end(), int64_t{0}));
  };
  raise(spec.max_total_seqlen_q, mask.seqlens_q);
  raise(spec.max_total_seqlen_kv, mask.seqlens_kv);
}

std::vector<Trial> run_trials(const std::vector<Probe>& probes, const gpu::Target& target, const std::string& cudnn,
                              asking::PlanOptions options, const asking::Session& session, const OnTrial& on_trial) {
  options.walk.modes = {"A"};
  options.walk.sweep_where_none = false;
  options.walk.plans = probe::Plans::run_first;
  options.run.timing = run::Timing::none;
  options.run.repeat = 0;
  const auto lanes = lanes_of(probes);
  // A lane needs two workers: while one runs a plan, the other builds the next.
  const size_t jobs = jobs_of(options), at_a_time = std::clamp<size_t>(jobs / 2, 1, std::max<size_t>(lanes.size(), 1));
  options.jobs = static_cast<int>(jobs / at_a_time);
  std::map<size_t, Trial> trials;
  std::mutex mutex;
  const auto run_lane = [&](const Lane& lane) {
    asking::Plan plan{.groups = {{{}, {target}, {cudnn}}}, .options = options, .further = asking::Further::nothing};
    plan.options.run.data = lane.data;
    for (const size_t place : lane.places)
      plan.groups.front().questions.emplace_back().config.spec = probes[place].spec;
    asking::ask(plan, session, [&](const answer::Answer& result, size_t index) {
      const size_t place = lane.places[index];
      const std::lock_guard lock(mutex);
      const auto& trial = trials.emplace(place, trial_of(probes[place], result)).first->second;
      if (on_trial) on_trial(trial);
    });
  };
  side_by_side(at_a_time, lanes.size(), [&](size_t lane) { run_lane(lanes[lane]); });
  std::vector<Trial> in_order;
  in_order.reserve(trials.size());
  for (auto& [place, trial] : trials) in_order.push_back(std::move(trial));
  return in_order;
}

}  // namespace attnprobe::hunt
