// Flash attention from primitive operations, as cudnn-frontend 1.23 emits it below cuDNN 9.21 (and as 9.21
// and later still accept it): every mask generates its own pair of indices, the diagonal compares row >=
// column on the right and column > row on the left.
#include <limits>

#include "attnprobe/graph/build.hpp"
#include "attnprobe/graph/softmax.hpp"

namespace attnprobe::graph {
namespace {

using attention::Alignment;
using attention::AttentionSpec;

// Hidden scores become minus infinity from 9.10; before, the lowest finite float (cudnn-frontend 1.23).
double hidden_score(int64_t cudnn_version) {
  return cudnn_version >= 91000 ? -std::numeric_limits<double>::infinity()
                                : static_cast<double>(std::numeric_limits<float>::lowest());
}

class ScoreMasks {
 public:
  ScoreMasks(GraphBuilder& g, const AttentionSpec& spec, const SequenceLengths& lengths, double hidden)
      : g_(g), spec_(spec), lengths_(lengths), hidden_(hidden) {}

  Uid padding(Uid score) {
    const Uid row = g_.index(score, 2, DataType::i32, DataType::i32);
    const Uid column = g_.index(score, 3, DataType::i32, DataType::i32);
    const Uid row_inside = g_.compare(PointwiseMode::CMP_LT, row, *lengths_.q);
    const Uid column_inside = g_.compare(PointwiseMode::CMP_LT, column, *lengths_.kv);
    return hide(score, g_.compare(PointwiseMode::LOGICAL_AND, row_inside, column_inside));
  }

  // Keeps column <= diagonal + right.
  Uid right_bound(Uid score, int64_t right) {
    Uid row = diagonal_index(score, 2);
    const Uid column = diagonal_index(score, 3);
    if (bottom_right()) {
      row = integer(PointwiseMode::ADD, row, lengths_.kv, spec_.seqlen_kv, "seqlen_kv");
      row = integer(PointwiseMode::SUB, row, lengths_.q, spec_.seqlen_q, "seqlen_q");
    }
    if (right > 0) row = integer(PointwiseMode::ADD, row, {}, right, "right_bound");
    return hide(score, g_.compare(PointwiseMode::CMP_GE, row, column));
  }

  // Keeps column + left > diagonal, with left counting the diagonal itself.
  Uid left_bound(Uid score, int64_t left) {
    const Uid row = diagonal_index(score, 2);
    Uid column = diagonal_index(score, 3);
    if (bottom_right() && lengths_.q) {
      column = integer(PointwiseMode::ADD, column, {}, left, "left_bound");
      column = integer(PointwiseMode::SUB, column, lengths_.kv, 0, "");
      column = integer(PointwiseMode::ADD, column, lengths_.q, 0, "");
    } else {
      const int64_t shift = bottom_right() ? left - spec_.seqlen_kv + spec_.seqlen_q : left;
      column = g_.pointwise(PointwiseMode::ADD, column,
                            g_.scalar("left_bound", DataType::f32, static_cast<double>(shift)));
    }
    return hide(score, g_.compare(PointwiseMode::CMP_GT, column, row));
  }

 private:
  bool bottom_right() const { return spec_.mask.alignment == Alignment::bottom_right; }

  Uid diagonal_index(Uid score, int64_t axis) { return g_.index(score, axis, DataType::i32, DataType::f32); }

  // x mode operand in INT32; the operand is a length tensor, or a scalar where there is none.
  Uid integer(PointwiseMode mode, Uid x, std::optional<Uid> operand, int64_t value, const std::string& name) {
    if (!operand) operand = g_.scalar(name, DataType::i32, static_cast<double>(value));
    return g_.pointwise(mode, x, operand, {.out = DataType::i32, .compute = DataType::i32});
  }

  Uid hide(Uid score, Uid visible) {
    return g_.select(score, g_.scalar("hidden", DataType::f32, hidden_), visible);
  }

  GraphBuilder& g_;
  const AttentionSpec& spec_;
  const SequenceLengths& lengths_;
  double hidden_;
};

Uid add_masks(GraphBuilder& g, const AttentionSpec& spec, Uid score, const SequenceLengths& lengths,
              int64_t cudnn_version) {
  ScoreMasks masks(g, spec, lengths, hidden_score(cudnn_version));
  if (spec.mask.padding) score = masks.padding(score);
  if (spec.mask.window_right) score = masks.right_bound(score, *spec.mask.window_right);
  if (spec.mask.window_left) score = masks.left_bound(score, *spec.mask.window_left + 1);
  return score;
}

}  // namespace

OpGraph build_sdpa_composite(const AttentionSpec& spec, const BuildContext& context) {
  GraphBuilder g;
  const SequenceLengths lengths = add_sequence_lengths(g, spec);
  const Uid q = add_q(g, spec), k = add_k_transposed(g, spec), v = add_v(g, spec), o = add_o(g, spec);
  Uid score = g.virtual_tensor("S", DataType::f32, score_dims(spec));
  g.matmul(q, k, score, lengths.q, lengths.kv);
  score = g.pointwise(PointwiseMode::MUL, score, g.scalar("scale", DataType::f32, scale_of(spec)));
  score = add_masks(g, spec, score, lengths, context.cudnn_version);
  const Softmax softmax = add_softmax(g, score, row_dims(spec));

  // LOG and ADD are there for inference too, with a virtual result that nobody reads: cuDNN tells flash
  // attention from the legacy pattern by them.
  const Dims rows = row_dims(spec);
  const Uid log_sum = g.pointwise(PointwiseMode::LOG, softmax.row_sum);
  const Uid stats = wants_stats(spec) ? g.tensor("Stats", DataType::f32, rows, packed_strides(rows))
                                      : g.virtual_tensor("Stats", DataType::f32, rows);
  g.pointwise(PointwiseMode::ADD, softmax.row_max, log_sum, {.into = stats});

  // P goes into the second matmul in the io type; in f32 no engine takes it.
  const Uid p = g.pointwise(PointwiseMode::DIV, softmax.exponentials, softmax.row_sum,
                            {.out = spec.dtype, .name = "P"});
  g.matmul(p, v, o, lengths.q, {}, lengths.kv);
  return g.take();
}

}  // namespace attnprobe::graph
