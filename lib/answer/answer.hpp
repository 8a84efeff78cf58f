// One cell of an answer: one config on one target with one cuDNN.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/question.hpp"
#include "answer/root_cause.hpp"
#include "answer/verdict.hpp"
#include "base/version.hpp"
#include "build/build.hpp"
#include "gpu/target.hpp"
#include "probe/findings.hpp"
#include "rules/framework_gates.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::answer {

/// How the worker was lost: for Verdict::crashed and Verdict::timeout, and where the environment took it down.
struct Crash {
  std::string how;  ///< "signal 11 (SIGSEGV, Segmentation fault)"
  probe::Stage stage;
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

struct Answer : Question {
  gpu::Target target;
  CudnnVersion cudnn_version;
  std::string cudnn_path;
  build::BuiltGraph graph;
  probe::WalkFindings findings;
  Verdict verdict = Verdict::error;
  bool by_rule = false;                 ///< cuDNN was not asked: campaign/by_rule.hpp
  bool environment_broken = false;      ///< verdict error because the machine lacks something, not because of cuDNN
  std::optional<RootCause> root_cause;  ///< for every verdict but supported
  std::optional<Crash> crash;
  /// What a person wants to know; none where the machine, or an error, left the question open.
  std::optional<Usable> usable;
  std::vector<Obstacle> but;  ///< what stands in the way, for Usable::but
  /// Version rules, beside cuDNN's answer: what it lacks that the config needs; known bugs that concern the config, whatever cuDNN said; what
  /// cudnn-frontend says before it asks cuDNN (none for patterns that it has not).
  std::vector<rules::Requirement> requirements;
  std::vector<rules::KnownBug> warnings;
  std::optional<rules::FrontendAnswer> frontend;
  std::vector<rules::GateAnswer> frameworks;  ///< of those that were asked for, whatever cuDNN said
  /// None where it is not known, and where no cuDNN takes it. The version rules' , unless others were asked
  /// (other_versions.hpp).
  std::optional<FirstVersion> from;
  std::vector<WayOut> ways_out;  ///< the cheapest first; of what nobody looked for, none
  size_t ways_out_unasked = 0;   ///< changes that were not tried, since there are too many
  Severity severity = Severity::environment;
  std::string reproduce;  ///< the command that gives this result again
};

/// One word for it: "yes", "but", "no"; where the question is open, "environment" or "error".
std::string_view answer_word(const Answer& result);

/// The root cause in few words: cuDNN's own without the condition of its source behind them, or the explanation. "" where
/// there is none.
std::string short_reason(const Answer& result);

/// What of an answer says how grave it is.
struct Outcome {
  Verdict verdict = Verdict::error;
  bool environment_broken = false;
  bool lacks_memory = false;                           ///< of the GPU: the environment, but of this one config
  bool has_wrong_plan = false, has_lost_plan = false;  ///< which may be so of a supported one: another plan works
  bool met = false;                                    ///< the expectation
};
Severity severity_of(const Outcome& outcome);
/// Whether its plan took its process or its CUDA context down.
bool is_lost_over(const probe::EngineConfigFindings& config);

attention::ExpectedVerdict expected(const Answer& result);
bool met_expectation(const Answer& result);

}  // namespace attnprobe::answer
