#include "studies/hunt/fence.hpp"

#include <algorithm>
#include <set>

#include "attention/random_config.hpp"
#include "rules/flat_problem.hpp"
#include "studies/hunt/variations.hpp"
#include "studies/reduce/reduce.hpp"

namespace attnprobe::hunt {
namespace {

using attention::AttentionSpec;

// Regions are about configs whose lengths are unknown: other sizes have other lengths.
AttentionSpec spec_without_lengths(const Trial& trial) {
  auto spec = reduce::spec_of(trial.config).value();
  spec.mask.seqlens_q.clear();
  spec.mask.seqlens_kv.clear();
  return spec;
}

Trial without_lengths(Trial trial) {
  trial.config = reduce::fields_of(spec_without_lengths(trial));
  return trial;
}

Json problem_of(const Trial& trial, int sm) {
  return rules::describe_problem(spec_without_lengths(trial), CudnnVersion::parse(trial.cudnn).value(), sm);
}

class Fence {
 public:
  Fence(const Trial& failing, int sm, const Ask& ask, const FenceOptions& options)
      : ask_(ask),
        options_(options),
        sm_(sm),
        kind_(failing.seen),
        data_(failing.data),
        next_seed_(options.first_seed) {
    region_.smallest = without_lengths(failing);
  }

  Region run(const std::vector<Trial>& known) {
    prefer_normal_data();
    add_example(region_.smallest);
    // Other data may hide the failure, so a correct result with other data proves nothing.
    for (const auto& trial : known)
      if (!fails(trial) && trial.data == data_) add_example(without_lengths(trial));
    reduce_all();
    ask_for(variations_of(region_.smallest.config));
    for (size_t round = 0; round < options_.most_rounds && !region_.is_confirmed; ++round) {
      if (!search()) break;
      sample();
    }
    return std::move(region_);
  }

 private:
  // Whether a trial has the same kind of failure that no entry explains; anything else is another bug.
  bool fails_alike(const Trial& trial) const { return fails(trial) && trial.seen == kind_ && is_unwarned(trial); }

  void add_example(const Trial& trial) {
    if (!is_compared(trial) && !fails(trial)) return;
    const bool failed = fails(trial);
    if (failed && !fails_alike(trial)) return;
    if (!seen_.insert(trial.config.dump()).second) return;
    examples_.push_back({problem_of(trial, sm_), failed});
    (failed ? region_.failing : region_.right).push_back(trial);
  }

  std::vector<Trial> ask_for(const std::vector<Variation>& variations) {
    std::vector<Probe> probes;
    for (const auto& variation : variations)
      if (auto spec = reduce::spec_of(variation.fields)) probes.push_back({0, std::move(*spec), data_});
    auto trials = ask_(probes);
    for (const auto& trial : trials) add_example(trial);
    return trials;
  }

  std::optional<Trial> ask_for_one(const Json& fields) {
    auto spec = reduce::spec_of(fields);
    if (!spec) return std::nullopt;
    auto trials = ask_({{0, std::move(*spec), data_}});
    return trials.empty() ? std::nullopt : std::optional(trials.front());
  }

  void prefer_normal_data() {
    if (data_ == run::DataRegime::normal) return;
    const auto special = data_;
    data_ = run::DataRegime::normal;
    if (const auto trial = ask_for_one(region_.smallest.config); trial && fails_alike(*trial))
      region_.smallest = *trial;
    else
      data_ = special;
  }

  // In waves: tries every simpler config at once, then combines as many failure-preserving steps as possible.
  void reduce_all() {
    for (bool goes_on = true; goes_on;) {
      const Json before = region_.smallest.config;
      std::vector<Variation> simpler;
      for (auto& variation : variations_of(before))
        if (variation.is_simpler) simpler.push_back(std::move(variation));
      std::vector<Variation> kept;
      std::set<std::string> failing;
      for (const auto& trial : ask_for(simpler))
        if (fails_alike(trial)) failing.insert(trial.config.dump());
      for (const auto& variation : simpler)
        if (const auto spec = reduce::spec_of(variation.fields)) {
          const Json fields = reduce::fields_of(*spec);
          if (fields != before && failing.contains(fields.dump())) kept.push_back(variation);
        }
      goes_on = take_together(before, kept);
    }
  }

  static Json merged(Json fields, const Json& before, const Json& changed) {
    for (const auto& [name, value] : before.items())
      if (!changed.contains(name)) fields.erase(name);
    for (const auto& [name, value] : changed.items())
      if (!before.contains(name) || before[name] != value) fields[name] = value;
    return fields;
  }

  bool take_together(const Json& before, const std::vector<Variation>& steps) {
    for (size_t count = steps.size(); count > 0; count /= 2) {
      Json fields = before;
      for (size_t i = 0; i < count; ++i) fields = merged(fields, before, steps[i].fields);
      const auto trial = ask_for_one(fields);
      if (!trial || !fails_alike(*trial)) continue;
      region_.smallest = *trial;
      add_example(*trial);
      for (size_t i = 0; i < count; ++i) region_.steps.push_back(steps[i].what);
      return true;
    }
    return false;
  }

  // Whether a conjunction separates the examples. If it changes, the confirmation restarts.
  bool search() {
    auto found = find_condition(examples_);
    if (!found) {
      region_.literals.clear();
      return false;
    }
    if (*found == region_.literals) return true;
    region_.literals = std::move(*found);
    region_.inside_failed = region_.inside_right = region_.outside_failed = region_.outside_right = 0;
    return true;
  }

  std::vector<Literal> broken_by(const Json& problem) const {
    std::vector<Literal> broken;
    for (const auto& literal : region_.literals)
      if (!holds(literal, problem)) broken.push_back(literal);
    return broken;
  }

  std::vector<Literal> broken_by(const AttentionSpec& spec) const {
    return broken_by(rules::describe_problem(spec, CudnnVersion::parse(region_.smallest.cudnn).value(), sm_));
  }

  const Trial& some_failing(uint64_t seed) const { return region_.failing[seed % region_.failing.size()]; }

  // A random config that meets the condition; none if it contradicts itself.
  std::optional<Probe> inside(uint64_t seed) const {
    auto probes = draw_probes(seed, 1);
    if (probes.empty()) return std::nullopt;
    const Json fields =
        moved_inside(reduce::fields_of(probes[0].spec), some_failing(seed).config, broken_by(probes[0].spec));
    auto spec = reduce::spec_of(fields);
    if (!spec || !broken_by(*spec).empty()) return std::nullopt;
    return Probe{seed, std::move(*spec), data_};
  }

  // Configs that violate one literal and meet the others.
  std::vector<Probe> outside(const Literal& literal, uint64_t seed) const {
    std::vector<Probe> found;
    const auto probes = draw_probes(seed, 1);
    if (probes.empty()) return found;
    for (const auto& fields : moved_outside(some_failing(seed).config, reduce::fields_of(probes[0].spec), literal)) {
      auto spec = reduce::spec_of(fields);
      if (!spec) continue;
      const auto broken = broken_by(*spec);
      if (broken.size() == 1 && broken.front() == literal) found.push_back({seed, std::move(*spec), data_});
    }
    return found;
  }

  void sample() {
    constexpr size_t most_tries = 400;
    const size_t wanted = options_.fresh * 3 / 2;
    std::vector<Probe> probes;
    for (size_t tries = 0; probes.size() < wanted && tries < most_tries; ++tries)
      if (auto probe = inside(next_seed_++)) probes.push_back(std::move(*probe));
    const size_t of_inside = probes.size();
    const size_t each = region_.literals.empty() ? 0 : wanted / region_.literals.size() + 1;
    for (const auto& literal : region_.literals) {
      const size_t before = probes.size();
      for (size_t tries = 0; probes.size() < before + each && tries < most_tries / 4; ++tries)
        for (auto& probe : outside(literal, next_seed_++)) probes.push_back(std::move(probe));
    }
    std::set<std::string> places;
    for (size_t i = 0; i < of_inside; ++i) places.insert(reduce::fields_of(probes[i].spec).dump());
    for (const auto& trial : ask_(probes)) count(trial, places.contains(trial.config.dump()));
    region_.is_confirmed = region_.inside_failed >= options_.fresh && region_.outside_right >= options_.fresh &&
                           region_.inside_right == 0 && region_.outside_failed == 0;
  }

  void count(const Trial& trial, bool is_inside) {
    const bool failed = fails_alike(trial);
    if (seen_.contains(trial.config.dump()) || (!failed && (fails(trial) || !is_compared(trial)))) return;
    ++(is_inside ? (failed ? region_.inside_failed : region_.inside_right)
                 : (failed ? region_.outside_failed : region_.outside_right));
    add_example(trial);
  }

  const Ask& ask_;
  FenceOptions options_;
  int sm_;
  rules::Seen kind_;
  run::DataRegime data_;
  uint64_t next_seed_;
  Region region_;
  std::vector<Example> examples_;
  std::set<std::string> seen_;
};

}  // namespace

Region fence(const Trial& failing, const std::vector<Trial>& known, int sm, const Ask& ask,
             const FenceOptions& options) {
  return Fence(failing, sm, ask, options).run(known);
}

bool is_inside(const Region& region, const Trial& trial, int sm) {
  if (region.literals.empty()) return false;
  const Json problem = problem_of(trial, sm);
  return trial.seen == region.smallest.seen &&
         std::all_of(region.literals.begin(), region.literals.end(),
                     [&](const Literal& literal) { return holds(literal, problem); });
}

}  // namespace attnprobe::hunt
