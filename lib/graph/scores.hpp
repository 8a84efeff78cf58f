// What happens to the scores between the first matmul and the softmax, in cudnn-frontend's order: modifier,
// bias, ALiBi, padding, right bound, left bound. Forward, backward and the sub-graph of the single operation
// share it.
#pragma once

#include "attnprobe/graph/attention_tensors.hpp"

namespace attnprobe::graph {

/// Each step is its own function since the backward pass subtracts the statistics between two of them.
class Scores {
 public:
  /// Everything is kept by reference and has to outlive this.
  Scores(GraphBuilder& g, const attention::AttentionSpec& spec, const SequenceLengths& lengths,
         int64_t cudnn_version)
      : g_(g), spec_(spec), lengths_(lengths), version_(cudnn_version) {}

  /// The user's score modifier, then softcap; as they are where the spec has none.
  Uid modify(Uid score);
  /// The gradient of modify() at the scores that it saw.
  Uid modify_backward(Uid gradient);
  Uid bias(Uid score);
  Uid alibi(Uid score);
  Uid padding(Uid score);
  /// Right and left bound.
  Uid diagonal(Uid score);

 private:
  Uid modifier(attention::ScoreModifierKind kind, Uid score, double hidden);
  Uid modifier_backward(attention::ScoreModifierKind kind, Uid gradient);
  Uid arrow(Uid score, double hidden);
  Uid document(Uid score, double hidden);
  Uid right_bound(Uid score, int64_t right);
  Uid left_bound(Uid score, int64_t left);
  bool bottom_right() const;
  bool single_operations() const;
  double hidden_score() const;
  Uid index(Uid score, int64_t axis, DataType compute);
  Uid integer(PointwiseMode mode, Uid x, std::optional<Uid> operand, int64_t value, const std::string& name);
  Uid hide(Uid score, Uid visible, double hidden);

  GraphBuilder& g_;
  const attention::AttentionSpec& spec_;
  const SequenceLengths& lengths_;
  int64_t version_;
  // What modify() leaves for modify_backward().
  std::optional<Uid> before_modifier_, modifier_operand_, before_tanh_, cap_;
};

}  // namespace attnprobe::graph
