// Runs one config with one cuDNN on one GPU, and records the outcome of the plan that a program would use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ask/ask.hpp"
#include "attention/spec.hpp"
#include "base/json.hpp"
#include "rules/bug_sightings.hpp"
#include "run/run_options.hpp"

namespace attnprobe::hunt {

/// A config and the contents of its inputs.
struct Probe {
  uint64_t seed = 0;  ///< of random_newer_config; 0: derived from another config
  attention::AttentionSpec spec;
  run::DataRegime data = run::DataRegime::normal;
};

struct Trial {
  uint64_t seed = 0;
  std::string gpu;    ///< catalogue id, "h100"; otherwise the device's name
  std::string cudnn;  ///< "9.14.0"
  run::DataRegime data = run::DataRegime::normal;
  Json config;              ///< the given fields
  std::string description;  ///< describe()
  /// The outcome of the first engine config that compiles. does_not_compile: none compiles.
  rules::Seen seen = rules::Seen::not_run;
  bool first_choice_compiles = true;  ///< false: a later engine config ran
  std::string engine_config;          ///< "engine 2 KERNEL_CFG=7"; "" if no plan was built
  std::string message;                ///< the error; "" if right
  std::vector<std::string> outputs;   ///< the wrong outputs: "dK"
  std::vector<std::string> bugs;      ///< ids of the known bugs that affect it
  std::string refused_by;             ///< the cudnn-frontend rule or the requirement that stops programs, or ""
  std::string reproduce;              ///< the command that repeats it
};
ATTNPROBE_JSON(Trial, seed, gpu, cudnn, data, config, description, seen, first_choice_compiles, engine_config, message,
               outputs, bugs, refused_by, reproduce)

/// A wrong result, a crash, a hang, an error, or a plan that does not compile, including the first choice.
bool fails(const Trial& trial);
/// Whether it ran to its end and was compared, right or wrong.
bool is_compared(const Trial& trial);
/// Whether no entry warns about it and nothing prevents programs from using it.
bool is_unwarned(const Trial& trial);

/// `count` random configs from seed `first` on that are small enough for the reference, each with a suitable data
/// regime.
std::vector<Probe> draw_probes(uint64_t first, size_t count);

/// Names the lengths that a run would choose, so that entries about lengths are exact, and raises smaller totals.
void give_lengths(attention::AttentionSpec& spec);

/// Called after each trial, one at a time.
using OnTrial = std::function<void(const Trial& trial)>;

/// Builds, runs and verifies the plan that a program would use. `cudnn` is a path. Ignores the walk, plans and data of
/// the options. Trials are in the order of `probes`, without those not reached after a stop.
std::vector<Trial> run_trials(const std::vector<Probe>& probes, const gpu::Target& target, const std::string& cudnn,
                              asking::PlanOptions options, const asking::Session& session,
                              const OnTrial& on_trial = {});

}  // namespace attnprobe::hunt
