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

/// How the worker was lost: for Verdict::crashed and Verdict::timeout, and if the environment killed it.
struct Crash {
  std::string how;  ///< "signal 11 (SIGSEGV, Segmentation fault)"
  probe::Stage stage;
  std::string output;  ///< the end of the worker's stderr
};

/// The first cuDNN with which a config works on a target.
struct FirstVersion {
  CudnnVersion version;
  bool asked =
      false;  ///< this cuDNN supports it and the machine's next older one refuses it; otherwise by the version rules
  CudnnVersion refused_by;  ///< that next older one, if it was asked
  CudnnVersion
      asked_back_to;  ///< by rule: the machine's oldest version, which supports it too; unknown if none was asked
};

/// "from cuDNN 9.10.2 (9.8.0 refuses)", "from cuDNN 9.0.0 by rule, checked back to 9.8.0"
std::string text_of(const FirstVersion& from);

/// Changes that turned a no or a but into a yes, confirmed by the same cuDNN for the same GPU (suggest/ways_out.hpp).
struct WayOut {
  std::vector<std::string> changes;  ///< one, or two combined
  std::vector<std::string> kinds;    ///< one word each: "head_dim", "layout"
  attention::AttentionSpec spec;     ///< the changed config
  int64_t engine = -1;               ///< of the first choice
  bool compiled = false;             ///< whether its plan was also built
  double work = 1, memory = 1;       ///< relative to the original: operations, and elements of Q, K, V, O and the bias
  std::string reproduce;
};

/// Whether it changes the model's shape, not only the call.
bool is_other_model(const WayOut& way);

/// "head dimensions padded with zeros to 104 and 104, the scale kept: supported here, by engine 8, 4 % more work"
std::string text_of(const WayOut& way);

struct Answer : Question {
  gpu::Target target;
  CudnnVersion cudnn_version;
  std::string cudnn_path;
  build::BuiltGraph graph;
  probe::WalkFindings findings;
  Verdict verdict = Verdict::error;
  bool by_rule = false;                 ///< cuDNN was not asked: ask/by_rule.hpp
  bool environment_broken = false;      ///< verdict error because of the machine, not because of cuDNN
  std::optional<RootCause> root_cause;  ///< for every verdict except supported
  std::optional<Crash> crash;
  /// The answer for the user; none if the machine, or an error, left the question open.
  std::optional<Usable> usable;
  std::vector<Obstacle> but;  ///< the obstacles, for Usable::but
  /// Version rules, in addition to cuDNN's answer: unmet requirements, and known bugs that affect the config. Also
  /// cudnn-frontend's answer before it asks cuDNN (none for patterns that cudnn-frontend does not have). Known bugs and
  /// cudnn-frontend's answer do not depend on cuDNN's.
  std::vector<rules::Requirement> requirements;
  std::vector<rules::KnownBug> warnings;
  std::optional<rules::FrontendAnswer> frontend;
  std::vector<rules::GateAnswer> frameworks;  ///< decisions of the requested frameworks, for any answer of cuDNN
  /// None if unknown, or if no cuDNN supports it. By the version rules, unless other versions were asked
  /// (other_versions.hpp).
  std::optional<FirstVersion> from;
  std::vector<WayOut> ways_out;  ///< cheapest first; another model only if nothing else was found
  size_t ways_out_unasked = 0;   ///< number of changes that were not tried, because there are too many
  Severity severity = Severity::environment;
  std::string reproduce;  ///< the command that repeats this result
};

/// "yes", "but", "no"; for an open question "environment" or "error".
Word word_of(const Answer& result);
/// The word of a verdict when nothing else is known.
Word word_of(Verdict verdict);

/// A short root cause: cuDNN's reason without the source condition, or the explanation. "" if there is none.
std::string short_reason(const Answer& result);

/// The parts of an answer that decide its severity.
struct Outcome {
  Verdict verdict = Verdict::error;
  bool environment_broken = false;
  bool lacks_memory = false;                           ///< of the GPU: an environment problem of only this config
  bool has_wrong_plan = false, has_lost_plan = false;  ///< possible for a supported config: another plan works
  bool met = false;                                    ///< the expectation
};
Severity severity_of(const Outcome& outcome);
/// Whether a plan crashed its process or its CUDA context.
bool is_lost_over(const probe::EngineConfigFindings& config);

attention::ExpectedVerdict expected(const Answer& result);
bool met_expectation(const Answer& result);

}  // namespace attnprobe::answer
