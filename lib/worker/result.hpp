// One cell of an answer: one config on one target with one cuDNN.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnprobe/diagnose/requirements.hpp"
#include "attnprobe/diagnose/root_cause.hpp"
#include "attnprobe/graph/build.hpp"
#include "attnprobe/probe/findings.hpp"
#include "attnprobe/target/target.hpp"
#include "attnprobe/worker/question.hpp"

namespace attnprobe::worker {

enum class Verdict { supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result };

/// How the worker was lost, for Verdict::crashed and Verdict::timeout.
struct Crash {
  std::string how;     ///< "signal 11 (SIGSEGV, Segmentation fault)"
  std::string stage;   ///< "mode A"
  std::string output;  ///< the last of the worker's stderr
};

struct Result : Question {
  target::Target target;
  int64_t cudnn_version = 0;
  std::string cudnn_path;
  graph::BuiltGraph graph;
  probe::WalkFindings findings;
  Verdict verdict = Verdict::error;
  bool environment_broken =
      false;  ///< verdict error because the machine lacks something, not because of cuDNN
  std::optional<diagnose::RootCause> root_cause;  ///< for every verdict but supported
  std::optional<Crash> crash;
  /// Version rules, beside cuDNN's answer: what it lacks that the config needs, where cuDNN refused it; known
  /// bugs that concern the config, whatever cuDNN said; what cudnn-frontend says before it asks cuDNN (none
  /// for patterns that it has not).
  std::vector<diagnose::Requirement> requirements;
  std::vector<diagnose::KnownBug> warnings;
  std::optional<diagnose::FrontendAnswer> frontend;
  std::string reproduce;  ///< the command that gives this result again
};

/// The verdict that the findings say, with its root cause.
void judge(Result& result);

/// Puts the version rules beside a judged result; never changes the verdict. Does nothing where no cuDNN was
/// loaded.
void add_version_rules(Result& result);

/// Whether one of its plans computed something wrong; whether one took its process or its CUDA context down.
/// Either may be so of a supported result: another plan works.
bool has_wrong_plan(const Result& result);
bool has_lost_plan(const Result& result);

attention::ExpectedVerdict expected(const Result& result);
bool met_expectation(const Result& result);

}  // namespace attnprobe::worker

namespace attnprobe {
template <>
struct EnumNames<worker::Verdict> {
  static constexpr std::array<std::pair<worker::Verdict, std::string_view>, 7> table{{
      {worker::Verdict::supported, "supported"},
      {worker::Verdict::unsupported, "unsupported"},
      {worker::Verdict::invalid_graph, "invalid_graph"},
      {worker::Verdict::error, "error"},
      {worker::Verdict::crashed, "crashed"},
      {worker::Verdict::timeout, "timeout"},
      {worker::Verdict::wrong_result, "wrong_result"},
  }};
};
}  // namespace attnprobe
