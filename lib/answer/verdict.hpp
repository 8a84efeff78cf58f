// What is said of one config on one target with one cuDNN.
#pragma once

#include <string>

#include "../base/enum_names.hpp"
#include "../base/json.hpp"

namespace attnprobe::answer {

/// cuDNN's.
enum class Verdict { supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result };
ATTNPROBE_ENUM(Verdict, supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result)

/// The asker's.
enum class Usable {
  yes,  ///< the engine config that a program would get passes every stage that was asked for
  but,  ///< cuDNN takes it, and something stands in the way
  no,
};
ATTNPROBE_ENUM(Usable, yes, but, no)

/// What stands in the way.
enum class ObstacleKind {
  framework,           ///< its gate refuses, or it takes cuDNN only where that is named: PyTorch, JAX, …
  frontend,            ///< cudnn-frontend refuses
  known_bug,           ///< it may fail, or be wrong
  requirement,         ///< a rule of versions or GPUs says no, though cuDNN says yes
  outside_heuristics,  ///< only an engine that no heuristic proposes takes it; its plan compiled
  first_choice_fails,  ///< what would be taken fails to compile or to run; another one works
};
ATTNPROBE_ENUM(ObstacleKind, framework, frontend, known_bug, requirement, outside_heuristics, first_choice_fails)

/// How grave an answer is, from the least to the gravest: a broken environment says nothing of the rest, a wrong result is
/// worse than a lost one, both are worse than an answer that differs from the expected one. Memory that one config lacks
/// does not cover what became of others.
enum class Severity { as_expected, not_as_expected, lacks_memory, lost, wrong_result, environment };

struct Obstacle {
  ObstacleKind kind = ObstacleKind::framework;
  std::string text;    ///< without a full stop: it follows "but"
  std::string source;  ///< who says so, or what was seen
};
ATTNPROBE_JSON(Obstacle, kind, text, source)
}  // namespace attnprobe::answer
