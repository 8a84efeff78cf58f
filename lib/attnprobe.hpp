// attnprobe as a library: asks the real cuDNN which attention configs it supports on which GPU, and why not.
//
//   for (const auto& answer : attnprobe::ask(R"({"heads": 12, "seqlen": 512, "head_dim": 64})", {"l40s", "h200"}))
//     std::cout << answer.target << ": " << answer.account << '\n';
//
// Worker processes of the program attnprobe call cuDNN, so a crash inside it costs only one answer. The program is
// found next to an installed library (Options::program), or through ATTNPROBE_PROGRAM.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "answer/outcomes.hpp"
#include "base/error.hpp"
#include "probe/how_far.hpp"

#ifndef ATTNPROBE_INSTALLED_PROGRAM
#define ATTNPROBE_INSTALLED_PROGRAM ""  // set by find_package(attnprobe)
#endif

namespace attnprobe {

using answer::Category;
using answer::ObstacleKind;
using answer::Usable;
using answer::Verdict;
using probe::Engines;
using probe::Plans;

struct Obstacle {
  ObstacleKind kind = ObstacleKind::framework;
  std::string text;    ///< without a full stop: it follows "but"
  std::string source;  ///< the evidence
};

/// Why nothing works.
struct RootCause {
  Category category = Category::unknown;
  std::string status, reason;       ///< cuDNN's, of the decisive line; the reason is verbatim
  std::string explanation;          ///< in plain words
  std::vector<std::string> advice;  ///< each was confirmed by cuDNN; its command may follow on a separate line
};

/// An engine with its knobs.
struct EngineConfig {
  int64_t engine = -1;
  std::map<std::string, int64_t> knobs;
  std::vector<std::string> modes;  ///< the heuristic modes that propose it; none: found outside the heuristics
  bool works = false;              ///< passes every requested stage
  std::string reason;              ///< cuDNN's first reason against it; "" for none
  std::optional<int64_t> workspace_bytes;
};

/// One config on one target.
struct Answer {
  std::string config;                        ///< its name
  std::string target;                        ///< its id: "l40s", "device:0"
  std::string cudnn;                         ///< "9.19.0"; "" if no cuDNN could be loaded
  std::optional<Usable> usable;              ///< the answer; none if the machine or an error left it open
  std::string account;                       ///< the reason in one line: the engine config, the obstacles or the reason
  std::vector<Obstacle> but;                 ///< the obstacles, for Usable::but
  Verdict verdict = Verdict::error;          ///< cuDNN's verdict
  bool environment_broken = false;           ///< Verdict::error because of the machine, not because of cuDNN
  bool met = false;                          ///< whether the answer is the one that the config expects
  bool by_rule = false;                      ///< cuDNN was not asked: this version is not installed, or is too old to
                                             ///< be asked
  std::optional<RootCause> root_cause;       ///< for every verdict except supported
  std::vector<EngineConfig> engine_configs;  ///< in the heuristics' order, then those found in other ways
  std::vector<std::string> warnings;         ///< known bugs of this cuDNN that affect the config
  std::vector<std::string> ways_out;         ///< changes that make the answer a yes, each confirmed by cuDNN, cheapest
                                             ///< first
  std::string from;                          ///< "from cuDNN 9.0.0 by rule, checked back to 9.8.0"; "" if unknown
  std::string reproduce;                     ///< the command that repeats this question
  std::string record;                        ///< the complete result as JSON, as in `attnprobe schema report`
};

struct Options {
  std::string cudnn;  ///< a libcudnn.so.9, its folder, or a version ("9.14"); "": search as `attnprobe` does
  std::vector<std::string> modes;  ///< heuristic modes of cuDNN: "A", "B", "FALLBACK"; none: all three
  Engines engines = Engines::heuristic;
  Plans plans = Plans::automatic;
  bool quick = false;                          ///< skips ways out, other cuDNNs and engines beyond the heuristics
  std::vector<std::string> frameworks;         ///< frameworks whose gates are also asked: "torch==2.11", "jax", "all"
  std::chrono::milliseconds timeout{120'000};  ///< limit for one config on one target, and for each of its plans
  int jobs = 0;                                ///< worker processes at a time; 0: the machine's cores
  std::stop_token stop = {};                   ///< set to true to stop; completed answers are returned
  /// Called after each answer, one call at a time, from threads of ask(), before ways out and other cuDNNs are asked.
  /// May be empty. An exception from it ends ask().
  std::function<void(const Answer& answer)> on_answer;
  std::string program = ATTNPROBE_INSTALLED_PROGRAM;  ///< path of attnprobe; "": searched for
};

/// Asks every config on every target, in the order of configs and then targets. Gives the same answers as the program.
///
/// `configs`: a config document (docs/config.md) as JSON. `targets`: words of --target: ids of the catalogue ("l40s",
/// "RTX 4090"), "all", "each-sm", "representative", files; "device:0" and "device:all" are this machine's GPUs.
/// A failure in a worker is an answer. Throws Error(usage) for a wrong config and for unknown targets, modes, frameworks
/// or releases. Throws Error(environment) if cuDNN, the program attnprobe or the GPU is missing.
std::vector<Answer> ask(std::string_view configs, const std::vector<std::string>& targets, const Options& options = {});

/// "yes", "unsupported", "framework", "shared_memory": the words of reports.
std::string_view name_of(Usable usable);
std::string_view name_of(Verdict verdict);
std::string_view name_of(ObstacleKind kind);
std::string_view name_of(Category category);

}  // namespace attnprobe
