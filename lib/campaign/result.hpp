// One cell of an answer: one config on one target with one cuDNN.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/version.hpp"
#include "build/build.hpp"
#include "campaign/question.hpp"
#include "campaign/verdict.hpp"
#include "diagnose/root_cause.hpp"
#include "gpu/target.hpp"
#include "probe/findings.hpp"
#include "rules/framework_gates.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::campaign {

/// How the worker was lost: for Verdict::crashed and Verdict::timeout, and where the environment took it down.
struct Crash {
  std::string how;     ///< "signal 11 (SIGSEGV, Segmentation fault)"
  std::string stage;   ///< "mode A"
  std::string output;  ///< the last of the worker's stderr
};

/// From which cuDNN on a config works on a target.
struct FirstVersion {
  CudnnVersion version;
  bool asked =
      false;  ///< this cuDNN takes it, and the next older one of this machine refuses it; else the version rules say so
  CudnnVersion refused_by;  ///< where it was asked: that next older one
  CudnnVersion
      asked_back_to;  ///< by rule: the oldest of this machine, which takes it too; not known where none was asked
};

/// "from cuDNN 9.10.2 (9.8.0 refuses)", "from cuDNN 9.0.0 by rule, asked back to 9.8.0"
std::string text_of(const FirstVersion& from);

/// What changed a no or a but into a yes: asked of the same cuDNN for the same GPU (suggest/ways_out.hpp).
struct WayOut {
  std::vector<std::string> changes;  ///< one, or two made together
  std::vector<std::string> kinds;    ///< a word for each: "head_dim", "layout"
  attention::AttentionSpec spec;     ///< the config with them
  int64_t engine = -1;               ///< of the first choice
  bool compiled = false;             ///< whether its plan was built, too
  double work = 1, memory = 1;       ///< times the operations, and the elements of Q, K, V and O, of what was asked
  std::string reproduce;
};

/// "head dimensions padded with zeros to 104 and 104, the scale kept: supported here, by engine 8, 4 % more work"
std::string text_of(const WayOut& way);

struct Result : Question {
  gpu::Target target;
  CudnnVersion cudnn_version;
  std::string cudnn_path;
  build::BuiltGraph graph;
  probe::WalkFindings findings;
  Verdict verdict = Verdict::error;
  bool by_rule = false;             ///< cuDNN was not asked: campaign/by_rule.hpp
  bool environment_broken = false;  ///< verdict error because the machine lacks something, not because of cuDNN
  std::optional<diagnose::RootCause> root_cause;  ///< for every verdict but supported
  std::optional<Crash> crash;
  /// What a person wants to know; none where the machine, or an error, left the question open. See weigh().
  std::optional<Usable> usable;
  std::vector<Obstacle> but;  ///< what stands in the way, for Usable::but
  /// Version rules, beside cuDNN's answer: what it lacks that the config needs; known bugs that concern the config, whatever cuDNN said; what
  /// cudnn-frontend says before it asks cuDNN (none for patterns that it has not).
  std::vector<rules::Requirement> requirements;
  std::vector<rules::KnownBug> warnings;
  std::optional<rules::FrontendAnswer> frontend;
  std::vector<rules::GateAnswer> frameworks;  ///< of those that were asked for, whatever cuDNN said
  /// None where it is not known, and where no cuDNN takes it. The version rules' (add_version_rules), unless others were asked
  /// (other_versions.hpp).
  std::optional<FirstVersion> from;
  std::vector<WayOut> ways_out;  ///< the cheapest first; of what nobody looked for, none
  size_t ways_out_unasked = 0;   ///< changes that were not tried, since there are too many
  std::string reproduce;         ///< the command that gives this result again
};

/// The verdict that the findings say, with its root cause.
void judge(Result& result);

/// Puts the version rules beside a judged result; never changes the verdict. Does nothing where no cuDNN was loaded.
void add_version_rules(Result& result);

/// Puts the frameworks' gates beside it; never changes the verdict. Does nothing for a graph that no config builds, and
/// where no cuDNN was loaded.
void add_frameworks(Result& result, const std::vector<rules::ChosenGate>& gates);

/// From verdict, frameworks, version rules and engine configs, what a person wants to know.
void weigh(Result& result);

/// One word for it: "yes", "but", "no"; where the question is open, "environment" or "error".
std::string_view answer_word(const Result& result);

/// The root cause in few words: cuDNN's own without the condition of its source behind them, or the explanation. "" where
/// there is none.
std::string short_reason(const Result& result);

/// Whether one of its plans computed something wrong; whether one took its process or its CUDA context down. Either may
/// be so of a supported result: another plan works.
bool has_wrong_plan(const Result& result);
bool has_lost_plan(const Result& result);

attention::ExpectedVerdict expected(const Result& result);
bool met_expectation(const Result& result);

}  // namespace attnprobe::campaign
