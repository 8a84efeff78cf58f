// attnprobe as a library: asks the real cuDNN which attention configs it supports on which GPU, and why not.
//
//   const auto configs = attnprobe::attention::parse_configs(R"({"heads": 12, "seqlen": 512, "head_dim": 64})",
//   "here");
//   for (const auto& answer : attnprobe::ask(configs, attnprobe::find_targets("l40s,h200")))
//     std::printf("%s: %s\n", answer.target.c_str(), std::string(answer.usable ? name_of(*answer.usable) :
//     "?").c_str());
//
// Worker processes of the program attnprobe call cuDNN, so that a crash inside it costs one answer. The program is
// found next to an installed library (Options::program), or through ATTNPROBE_PROGRAM.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/root_cause.hpp"
#include "answer/verdict.hpp"
#include "attention/config.hpp"
#include "gpu/target.hpp"
#include "probe/findings.hpp"
#include "probe/walk_options.hpp"
#include "run/run_options.hpp"

#ifndef ATTNPROBE_INSTALLED_PROGRAM
#define ATTNPROBE_INSTALLED_PROGRAM ""  // set by find_package(attnprobe)
#endif

namespace attnprobe {

using answer::Obstacle;
using answer::Usable;
using answer::Verdict;

/// One config on one target.
struct Answer {
  std::string config;                ///< its name
  std::string target;                ///< its id: "l40s", "device:0"
  std::string cudnn;                 ///< "9.19.0"; "" if none could be loaded
  std::optional<Usable> usable;      ///< the answer; none if the machine or an error left it open
  std::vector<Obstacle> but;         ///< the problems, for Usable::but
  Verdict verdict = Verdict::error;  ///< cuDNN's
  bool environment_broken = false;   ///< Verdict::error because the machine lacks something, not because of cuDNN
  bool met = false;                  ///< whether the answer is the one that the config expects
  std::optional<answer::RootCause> root_cause;  ///< for every verdict except supported
  std::vector<probe::ModeFindings> modes;
  std::vector<probe::EngineConfigFindings> engine_configs;  ///< in the heuristics' order, then those found in other
                                                            ///< ways
  std::vector<std::string> warnings;                        ///< known bugs of this cuDNN that affect the config
  bool by_rule = false;               ///< cuDNN was not asked: this version cannot be asked or is not installed
  std::string from;                   ///< "from cuDNN 9.0.0 by rule, asked back to 9.8.0"; "" if unknown
  std::vector<std::string> ways_out;  ///< changes that make it a yes, each confirmed by cuDNN, cheapest first
  std::string reproduce;              ///< the command that repeats this question
};

/// The walk of `attnprobe` without options.
inline probe::WalkOptions usual_walk() {
  probe::WalkOptions walk;
  walk.plans = probe::Plans::automatic;
  return walk;
}

struct Options {
  std::string cudnn;  ///< a libcudnn.so.9, its folder, or a version ("9.14"); "": search as `attnprobe` does
  probe::WalkOptions walk = usual_walk();
  run::RunOptions run;                      ///< used if plans are run
  double timeout_seconds = 120;             ///< for one config on one target, and for each of its plans
  int jobs = 0;                             ///< worker processes at a time; 0: the machine's cores
  std::string frameworks;                   ///< frameworks with gates to ask too: "torch==2.11, jax", "all"; "": none
  const std::atomic<bool>* stop = nullptr;  ///< set to true to stop; completed answers are returned
  /// Called after each answer, one call at a time, from threads of ask(), before ways out and other cuDNNs are asked.
  /// May be empty. An exception from it ends ask().
  std::function<void(const Answer& answer)> on_answer;
  std::string program = ATTNPROBE_INSTALLED_PROGRAM;  ///< path of attnprobe; if it is missing, it is searched
};

/// Finds targets by the words of --target: ids of the catalogue ("l40s", "RTX 4090"), "all", "each-sm",
/// "representative" or files. "device:0" and "device:all" are this machine's own. Accepts a comma list. Throws
/// Error(usage) for an unknown target, with the nearest name, and Error(environment) if the machine has no GPU.
std::vector<gpu::Target> find_targets(const std::string& words, const Options& options = {});

/// Asks every config on every target, in the order of configs and then targets. Gives the same answers as the program.
/// A failure in a worker is an answer. Throws Error(environment) if cuDNN or the program attnprobe is missing,
/// Error(usage) for an unknown framework or release.
std::vector<Answer> ask(const std::vector<attention::AttentionConfig>& configs, const std::vector<gpu::Target>& targets,
                        const Options& options = {});

}  // namespace attnprobe
