// attnprobe as a library: asks the real cuDNN which attention configs it supports on which GPU, and why not.
//
//   const auto configs = attnprobe::attention::parse_configs(R"({"heads": 12, "seqlen": 512, "head_dim": 64})", "here");
//   for (const auto& answer : attnprobe::ask(configs, attnprobe::find_targets("l40s,h200")))
//     std::printf("%s: %s\n", answer.target.c_str(), std::string(answer.usable ? name_of(*answer.usable) : "?").c_str());
//
// cuDNN is called in worker processes of the program attnprobe, so that a crash inside it costs one answer. The program
// is found beside an installed library (Options::program), and with ATTNPROBE_PROGRAM wherever it is.
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
#define ATTNPROBE_INSTALLED_PROGRAM ""  // find_package(attnprobe) says where it is
#endif

namespace attnprobe {

using answer::Obstacle;
using answer::Usable;
using answer::Verdict;

/// One config on one target.
struct Answer {
  std::string config;                ///< its name
  std::string target;                ///< its id: "l40s", "device:0"
  std::string cudnn;                 ///< "9.19.0"; "" where none could be loaded
  std::optional<Usable> usable;      ///< what a person wants to know; none where the machine or an error left it open
  std::vector<Obstacle> but;         ///< what stands in the way, for Usable::but
  Verdict verdict = Verdict::error;  ///< cuDNN's
  bool environment_broken = false;   ///< Verdict::error because the machine lacks something, not because of cuDNN
  bool met = false;                  ///< whether it is what the config expects
  std::optional<answer::RootCause> root_cause;  ///< for every verdict but supported
  std::vector<probe::ModeFindings> modes;
  std::vector<probe::EngineConfigFindings> engine_configs;  ///< in the heuristics' order, then those found otherwise
  std::vector<std::string> warnings;                        ///< known bugs of this cuDNN that concern the config
  bool by_rule = false;               ///< cuDNN was not asked: a version that cannot be, or is not here
  std::string from;                   ///< "from cuDNN 9.0.0 by rule, asked back to 9.8.0"; "" where it is not known
  std::vector<std::string> ways_out;  ///< changes after which it is a yes, each asked, the cheapest first
  std::string reproduce;              ///< the command that asks this again
};

/// As `attnprobe` walks where no option is given.
inline probe::WalkOptions usual_walk() {
  probe::WalkOptions walk;
  walk.plans = probe::Plans::automatic;
  return walk;
}

struct Options {
  std::string cudnn;  ///< a libcudnn.so.9, a folder that holds one, or a version ("9.14"); "": as `attnprobe` finds it
  probe::WalkOptions walk = usual_walk();
  run::RunOptions run;                      ///< where plans are run
  double timeout_seconds = 120;             ///< for one config on one target, and for each of its plans
  int jobs = 0;                             ///< worker processes at a time; 0: the cores of the machine
  std::string frameworks;                   ///< whose gates are asked too: "torch==2.11, jax", "all"; "": none
  const std::atomic<bool>* stop = nullptr;  ///< once true no further config is begun, and what is there is returned
  /// Called after each answer, one at a time, from threads of ask(), before ways out and other cuDNNs are asked; may be
  /// empty. What it throws ends ask().
  std::function<void(const Answer& answer)> on_answer;
  std::string program = ATTNPROBE_INSTALLED_PROGRAM;  ///< attnprobe; where it is not there it is looked for
};

/// Targets by the words of --target: ids of the catalogue ("l40s", "RTX 4090"), "all", "each-sm", "representative", files,
/// and "device:0", "device:all" for this machine's own. A comma list. Throws Error(usage) for what there is not, with the
/// nearest name, and Error(environment) where the machine has no GPU.
std::vector<gpu::Target> find_targets(const std::string& words, const Options& options = {});

/// Every config on every target, configs in order and each on all targets in turn, asked as `attnprobe` asks them: the
/// same answers. What goes wrong in a worker is an answer. Throws Error(environment) where there is no cuDNN or no program attnprobe, Error(usage) for a framework or a
/// release that is not known.
std::vector<Answer> ask(const std::vector<attention::AttentionConfig>& configs, const std::vector<gpu::Target>& targets,
                        const Options& options = {});

}  // namespace attnprobe
