// Wires masks as cudnn-frontend 1.23 to 1.32 does (utils/attn_score_modifiers.h, node/diagonal_band_mask.h). Every mask
// generates its own pair of indices. The diagonal compares row >= column on the right and column > row on the left.
// From 9.21 each bound is one operation instead.
#include "build/scores.hpp"

#include <limits>

#include "build/frontend_wiring.hpp"
#include "build/softmax.hpp"

namespace attnprobe::build {

using attention::Alignment;

bool Scores::bottom_right() const {
  return spec_.mask.alignment == Alignment::bottom_right;
}

bool Scores::single_operations() const {
  return version_ >= frontend_wiring().single_operations;
}

// Before cuDNN supported infinities in masks, cudnn-frontend used the lowest finite float.
double Scores::mask_fill() const {
  return version_ >= frontend_wiring().infinite_masks ? -std::numeric_limits<double>::infinity()
                                                      : static_cast<double>(std::numeric_limits<float>::lowest());
}

graph::Uid Scores::index(graph::Uid score, int64_t axis, DataType compute) {
  return g_.index(score, axis, DataType::i32, compute);
}

// x mode operand in INT32. The operand is a length tensor or, without lengths, a scalar.
graph::Uid Scores::integer(graph::PointwiseMode mode, graph::Uid x, std::optional<graph::Uid> operand, int64_t value,
                           const Called& called) {
  if (!operand) operand = g_.scalar(called, DataType::i32, static_cast<double>(value));
  return g_.pointwise(mode, x, operand, {.out = DataType::i32, .compute = DataType::i32});
}

graph::Uid Scores::masked(graph::Uid score, graph::Uid visible, double fill) {
  return g_.select(score, g_.scalar("fill", DataType::f32, fill), visible);
}

graph::Uid Scores::bias(graph::Uid score) {
  if (!spec_.bias) return score;
  return g_.pointwise(graph::PointwiseMode::ADD, score, add_bias_tensor(g_, spec_, Role::bias));
}

graph::Uid Scores::alibi(graph::Uid score) {
  if (!spec_.alibi) return score;
  const graph::Uid row = index(score, 2, DataType::i32), column = index(score, 3, DataType::i32);
  const graph::Uid distance = integer(graph::PointwiseMode::SUB, column, row, 0, "");
  const graph::Uid slopes = add_head_tensor(g_, spec_, Role::alibi_slopes);
  return g_.pointwise(graph::PointwiseMode::ADD, score, g_.pointwise(graph::PointwiseMode::MUL, distance, slopes));
}

graph::Uid Scores::padding(graph::Uid score) {
  if (!spec_.mask.padding) return score;
  const graph::Uid row = index(score, 2, DataType::i32), column = index(score, 3, DataType::i32);
  const graph::Uid row_inside = g_.compare(graph::PointwiseMode::CMP_LT, row, *lengths_.q);
  const graph::Uid column_inside = g_.compare(graph::PointwiseMode::CMP_LT, column, *lengths_.kv);
  return masked(score, g_.compare(graph::PointwiseMode::LOGICAL_AND, row_inside, column_inside), mask_fill());
}

graph::Uid Scores::diagonal(graph::Uid score) {
  if (spec_.mask.window_right) score = right_bound(score, *spec_.mask.window_right);
  // cudnn-frontend's left bound includes the diagonal.
  if (spec_.mask.window_left) score = left_bound(score, *spec_.mask.window_left + 1);
  return score;
}

// Keeps column <= diagonal + right.
graph::Uid Scores::right_bound(graph::Uid score, int64_t right) {
  std::optional<graph::Uid> q = lengths_.q, kv = lengths_.kv;
  if (!bottom_right()) q = kv = std::nullopt;
  if (single_operations()) {
    graph::DiagonalBandMask mask;
    mask.comparison = graph::PointwiseMode::CMP_GE;
    mask.x = score;
    if (bottom_right()) {
      mask.cu_seq_len_q = lengths_.cu_q;
      mask.cu_seq_len_kv = lengths_.cu_kv;
      if (!lengths_.cu_q)
        mask.seq_len_q = q ? q : g_.scalar("seqlen_q", DataType::i32, static_cast<double>(spec_.seqlen_q));
      if (!lengths_.cu_kv)
        mask.seq_len_kv = kv ? kv : g_.scalar("seqlen_kv", DataType::i32, static_cast<double>(spec_.seqlen_kv));
    }
    if (right > 0) mask.shift_right_bound = g_.scalar("right_bound", DataType::i32, static_cast<double>(right));
    mask.fill = g_.scalar("fill", DataType::f32, mask_fill());
    mask.y = g_.virtual_tensor("", DataType::f32, Dims(g_.at(score).dims));
    g_.add(mask);
    return mask.y;
  }
  graph::Uid row = index(score, 2, DataType::f32);
  const graph::Uid column = index(score, 3, DataType::f32);
  if (bottom_right()) {
    row = integer(graph::PointwiseMode::ADD, row, kv, spec_.seqlen_kv, "seqlen_kv");
    row = integer(graph::PointwiseMode::SUB, row, q, spec_.seqlen_q, "seqlen_q");
  }
  if (right > 0) row = integer(graph::PointwiseMode::ADD, row, {}, right, "right_bound");
  return masked(score, g_.compare(graph::PointwiseMode::CMP_GE, row, column), mask_fill());
}

// Keeps column + left > diagonal; `left` includes the diagonal itself.
graph::Uid Scores::left_bound(graph::Uid score, int64_t left) {
  const bool by_tensor = bottom_right() && (lengths_.q || lengths_.cu_q);
  const int64_t shift = bottom_right() && !by_tensor ? left - spec_.seqlen_kv + spec_.seqlen_q : left;
  auto bound = [&] {
    return g_.scalar("left_bound", by_tensor ? DataType::i32 : DataType::f32, static_cast<double>(shift));
  };
  if (single_operations()) {
    graph::DiagonalBandMask mask;
    mask.comparison = graph::PointwiseMode::CMP_GT;
    mask.x = score;
    if (by_tensor) {
      mask.seq_len_q = lengths_.q;
      mask.seq_len_kv = lengths_.kv;
      mask.cu_seq_len_q = lengths_.cu_q;
      mask.cu_seq_len_kv = lengths_.cu_kv;
    }
    mask.left_bound = bound();
    mask.fill = g_.scalar("fill", DataType::f32, mask_fill());
    mask.y = g_.virtual_tensor("", DataType::f32, Dims(g_.at(score).dims));
    g_.add(mask);
    return mask.y;
  }
  const graph::Uid row = index(score, 2, DataType::f32);
  graph::Uid column = index(score, 3, DataType::f32);
  if (by_tensor) {
    column = integer(graph::PointwiseMode::ADD, column, bound(), 0, "");
    column = integer(graph::PointwiseMode::SUB, column, lengths_.kv, 0, "");
    column = integer(graph::PointwiseMode::ADD, column, lengths_.q, 0, "");
  } else {
    column = g_.pointwise(graph::PointwiseMode::ADD, column, bound());
  }
  return masked(score, g_.compare(graph::PointwiseMode::CMP_GT, column, row), mask_fill());
}

}  // namespace attnprobe::build
