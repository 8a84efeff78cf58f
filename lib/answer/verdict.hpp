// The verdict and the answer for one config on one target with one cuDNN.
#pragma once

#include <string>

#include "../base/enum_names.hpp"
#include "../base/json.hpp"

namespace attnprobe::answer {

/// cuDNN's verdict.
enum class Verdict { supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result };
ATTNPROBE_ENUM(Verdict, supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result)

/// The answer for the user.
enum class Usable {
  yes,  ///< the engine config that a program would get passes every requested stage
  but,  ///< cuDNN supports it, but there is an obstacle
  no,
};
ATTNPROBE_ENUM(Usable, yes, but, no)

/// The kind of obstacle.
enum class ObstacleKind {
  framework,           ///< a framework's gate refuses, or it uses cuDNN only by name: PyTorch, JAX, …
  frontend,            ///< cudnn-frontend refuses
  known_bug,           ///< it may fail, or give wrong results
  requirement,         ///< a rule of versions or GPUs refuses, although cuDNN accepts
  outside_heuristics,  ///< only an engine that no heuristic proposes supports it; its plan compiled
  first_choice_fails,  ///< the first choice fails to compile or to run; another one works
};
ATTNPROBE_ENUM(ObstacleKind, framework, frontend, known_bug, requirement, outside_heuristics, first_choice_fails)

/// How grave an answer is, least first. A broken environment says nothing about other answers. A wrong result is worse
/// than a lost one, and both are worse than an unexpected answer. A config that lacks memory does not hide the outcome
/// of others.
enum class Severity { as_expected, not_as_expected, lacks_memory, lost, wrong_result, environment };

struct Obstacle {
  ObstacleKind kind = ObstacleKind::framework;
  std::string text;    ///< without a full stop: it follows "but"
  std::string source;  ///< the evidence
};
ATTNPROBE_JSON(Obstacle, kind, text, source)
}  // namespace attnprobe::answer
