// Operations on the scores between the first matmul and the softmax, in cudnn-frontend's order: modifier, bias, ALiBi,
// padding, right bound, left bound. Forward, backward and the sub-graph of the unified operation share it.
#pragma once

#include "base/version.hpp"
#include "build/attention_tensors.hpp"

namespace attnprobe::build {

/// One function per step, because the backward pass subtracts the statistics between two of them.
class Scores {
 public:
  /// Keeps references; the arguments must outlive the object.
  Scores(GraphBuilder& g, const attention::AttentionSpec& spec, const SequenceLengths& lengths,
         CudnnVersion cudnn_version)
      : g_(g), spec_(spec), lengths_(lengths), version_(cudnn_version) {}

  /// Applies the spec's score modifier, then its softcap.
  graph::Uid modify(graph::Uid score);
  /// The gradient of modify() at the scores of that call.
  graph::Uid modify_backward(graph::Uid gradient);
  graph::Uid bias(graph::Uid score);
  graph::Uid alibi(graph::Uid score);
  graph::Uid padding(graph::Uid score);
  /// Right and left bound.
  graph::Uid diagonal(graph::Uid score);

 private:
  graph::Uid modifier(attention::ScoreModifierKind kind, graph::Uid score, double fill);
  graph::Uid modifier_backward(attention::ScoreModifierKind kind, graph::Uid gradient);
  graph::Uid arrow(graph::Uid score, double fill);
  graph::Uid document(graph::Uid score, double fill);
  graph::Uid right_bound(graph::Uid score, int64_t right);
  graph::Uid left_bound(graph::Uid score, int64_t left);
  bool bottom_right() const;
  bool single_operations() const;
  double mask_fill() const;
  graph::Uid index(graph::Uid score, int64_t axis, DataType compute);
  graph::Uid integer(graph::PointwiseMode mode, graph::Uid x, std::optional<graph::Uid> operand, int64_t value,
                     const Called& called);
  graph::Uid masked(graph::Uid score, graph::Uid visible, double fill);

  GraphBuilder& g_;
  const attention::AttentionSpec& spec_;
  const SequenceLengths& lengths_;
  CudnnVersion version_;
  // Saved by modify() for modify_backward().
  std::optional<graph::Uid> before_modifier_, modifier_operand_, before_tanh_, cap_;
};

}  // namespace attnprobe::build
