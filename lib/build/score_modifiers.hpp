// The score modifiers with one pointwise operation.
#pragma once

#include <optional>

#include "attention/spec.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::build {

struct UnaryModifier {
  graph::PointwiseMode forward;
  std::optional<graph::PointwiseMode> backward;  ///< none: cuDNN has no gradient operation for it
};

/// None if the kind needs more than the scores, or more than one operation.
std::optional<UnaryModifier> unary_modifier(attention::ScoreModifierKind kind);

}  // namespace attnprobe::build
