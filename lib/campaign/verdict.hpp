// What is said of one config on one target with one cuDNN.
#pragma once

#include <string>

#include "../base/enum_names.hpp"
#include "../base/json.hpp"

namespace attnprobe::campaign {

/// cuDNN's.
enum class Verdict { supported, unsupported, invalid_graph, error, crashed, timeout, wrong_result };

/// The asker's.
enum class Usable {
  yes,  ///< the engine config that a program would get passes every stage that was asked for
  but,  ///< cuDNN takes it, and something stands in the way
  no,
};

/// What stands in the way.
enum class ObstacleKind {
  framework,           ///< its gate refuses, or it takes cuDNN only where that is named: PyTorch, JAX, …
  frontend,            ///< cudnn-frontend refuses
  known_bug,           ///< it may fail, or be wrong
  requirement,         ///< a rule of versions or GPUs says no, though cuDNN says yes
  outside_heuristics,  ///< only an engine that no heuristic proposes takes it; its plan compiled
  first_choice_fails,  ///< what would be taken fails to compile or to run; another one works
};

}  // namespace attnprobe::campaign

namespace attnprobe {
template <>
struct EnumNames<campaign::Verdict> {
  static constexpr std::array<std::pair<campaign::Verdict, std::string_view>, 7> table{{
      {campaign::Verdict::supported, "supported"},
      {campaign::Verdict::unsupported, "unsupported"},
      {campaign::Verdict::invalid_graph, "invalid_graph"},
      {campaign::Verdict::error, "error"},
      {campaign::Verdict::crashed, "crashed"},
      {campaign::Verdict::timeout, "timeout"},
      {campaign::Verdict::wrong_result, "wrong_result"},
  }};
};
template <>
struct EnumNames<campaign::Usable> {
  static constexpr std::array<std::pair<campaign::Usable, std::string_view>, 3> table{{
      {campaign::Usable::yes, "yes"},
      {campaign::Usable::but, "but"},
      {campaign::Usable::no, "no"},
  }};
};
template <>
struct EnumNames<campaign::ObstacleKind> {
  static constexpr std::array<std::pair<campaign::ObstacleKind, std::string_view>, 6> table{{
      {campaign::ObstacleKind::framework, "framework"},
      {campaign::ObstacleKind::frontend, "frontend"},
      {campaign::ObstacleKind::known_bug, "known_bug"},
      {campaign::ObstacleKind::requirement, "requirement"},
      {campaign::ObstacleKind::outside_heuristics, "outside_heuristics"},
      {campaign::ObstacleKind::first_choice_fails, "first_choice_fails"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::campaign {
ATTNPROBE_JSON_ENUM(Verdict)
ATTNPROBE_JSON_ENUM(Usable)
ATTNPROBE_JSON_ENUM(ObstacleKind)

struct Obstacle {
  ObstacleKind kind = ObstacleKind::framework;
  std::string text;    ///< without a full stop: it follows "but"
  std::string source;  ///< who says so, or what was seen
};
ATTNPROBE_JSON(Obstacle, kind, text, source)
}  // namespace attnprobe::campaign
