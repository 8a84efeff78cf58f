// The named score modifiers and their gradients, made only of pointwise operations. The masks' types and precisions are
// those of cudnn-frontend's own flexible-graph tests.
#include "build/score_modifiers.hpp"

#include "base/error.hpp"
#include "build/scores.hpp"

namespace attnprobe::build {

using attention::ScoreModifierKind;

namespace {

// Free operands of the kinds; their values do not change verdicts.
constexpr double arrow_border = 16, arrow_width = 64, power = 2, floor_value = 0;

DataType mask_type(ScoreModifierKind kind) {
  if (kind == ScoreModifierKind::mask_i32) return DataType::i32;
  if (kind == ScoreModifierKind::mask_byte_boolean) return DataType::byte_boolean;
  return kind == ScoreModifierKind::mask_i8 ? DataType::i8 : DataType::boolean;
}

}  // namespace

std::optional<UnaryModifier> unary_modifier(ScoreModifierKind kind) {
  switch (kind) {
    case ScoreModifierKind::relu:
      return UnaryModifier{graph::PointwiseMode::RELU_FWD, graph::PointwiseMode::RELU_BWD};
    case ScoreModifierKind::tanh:
      return UnaryModifier{graph::PointwiseMode::TANH_FWD, graph::PointwiseMode::TANH_BWD};
    case ScoreModifierKind::sigmoid:
      return UnaryModifier{graph::PointwiseMode::SIGMOID_FWD, graph::PointwiseMode::SIGMOID_BWD};
    case ScoreModifierKind::gelu:
      return UnaryModifier{graph::PointwiseMode::GELU_FWD, graph::PointwiseMode::GELU_BWD};
    case ScoreModifierKind::swish:
      return UnaryModifier{graph::PointwiseMode::SWISH_FWD, graph::PointwiseMode::SWISH_BWD};
    case ScoreModifierKind::abs:
      return UnaryModifier{graph::PointwiseMode::ABS, {}};
    case ScoreModifierKind::sqrt:
      return UnaryModifier{graph::PointwiseMode::SQRT, {}};
    case ScoreModifierKind::sin:
      return UnaryModifier{graph::PointwiseMode::SIN, {}};
    case ScoreModifierKind::exp:
      return UnaryModifier{graph::PointwiseMode::EXP, {}};
    default:
      return std::nullopt;
  }
}

graph::Uid Scores::modify(graph::Uid score) {
  before_modifier_ = score;
  if (spec_.score_mod) score = modifier(spec_.score_mod->kind, score, mask_fill());
  if (!spec_.softcap) return score;
  cap_ = g_.scalar("softcap", DataType::f32, *spec_.softcap);
  before_tanh_ = g_.pointwise(graph::PointwiseMode::DIV, score, cap_);
  return g_.pointwise(graph::PointwiseMode::MUL, g_.pointwise(graph::PointwiseMode::TANH_FWD, *before_tanh_), cap_);
}

graph::Uid Scores::modify_backward(graph::Uid gradient) {
  if (spec_.softcap) {
    gradient = g_.pointwise(graph::PointwiseMode::MUL, gradient, cap_);
    gradient = g_.activation_backward(graph::PointwiseMode::TANH_BWD, *before_tanh_, gradient);
    gradient = g_.pointwise(graph::PointwiseMode::DIV, gradient, cap_);
  }
  if (spec_.score_mod && spec_.score_mod->grad) gradient = modifier_backward(spec_.score_mod->kind, gradient);
  return gradient;
}

graph::Uid Scores::modifier(ScoreModifierKind kind, graph::Uid score, double fill) {
  if (const auto unary = unary_modifier(kind)) return g_.pointwise(unary->forward, score);
  auto scalar = [&](double value) { return g_.scalar("", DataType::f32, value); };
  switch (kind) {
    case ScoreModifierKind::causal: {
      const graph::Uid row = index(score, 2, DataType::f32), column = index(score, 3, DataType::f32);
      return masked(score, g_.compare(graph::PointwiseMode::CMP_GE, row, column), fill);
    }
    case ScoreModifierKind::arrow:
      return arrow(score, fill);
    case ScoreModifierKind::document:
      return document(score, fill);
    case ScoreModifierKind::relative_position: {
      const graph::Uid row = index(score, 2, DataType::f32), column = index(score, 3, DataType::f32);
      return g_.pointwise(graph::PointwiseMode::ADD, score, integer(graph::PointwiseMode::SUB, row, column, 0, ""));
    }
    case ScoreModifierKind::head_factor:
      if (!modifier_operand_) modifier_operand_ = add_head_tensor(g_, spec_, Role::head_factors);
      return g_.pointwise(graph::PointwiseMode::MUL, score, modifier_operand_);
    case ScoreModifierKind::score_factor: {
      const Dims dims = score_dims(spec_);
      if (!modifier_operand_)
        modifier_operand_ = g_.tensor(Role::score_factors, spec_.dtype, dims, packed_strides(dims));
      return g_.pointwise(graph::PointwiseMode::MUL, score, modifier_operand_);
    }
    case ScoreModifierKind::mask_i32:
    case ScoreModifierKind::mask_boolean:
    case ScoreModifierKind::mask_byte_boolean:
    case ScoreModifierKind::mask_i8: {
      const Dims dims{spec_.batch, 1, spec_.seqlen_q, spec_.seqlen_kv};
      if (!modifier_operand_) modifier_operand_ = g_.tensor(Role::mask, mask_type(kind), dims, packed_strides(dims));
      return masked(score, *modifier_operand_, fill);
    }
    case ScoreModifierKind::pow:
      return g_.pointwise(graph::PointwiseMode::POW, score, scalar(power));
    case ScoreModifierKind::max:
      return g_.pointwise(graph::PointwiseMode::MAX, score, scalar(floor_value));
    default:
      throw Error(ErrorKind::internal, "unknown score modifier");
  }
}

graph::Uid Scores::arrow(graph::Uid score, double fill) {
  const graph::Uid row = index(score, 2, DataType::f32), column = index(score, 3, DataType::f32);
  // Here comparisons produce 0 and 1 as integers.
  auto logical = [&](graph::PointwiseMode mode, graph::Uid x, graph::Uid b) {
    return g_.pointwise(mode, x, b, {.out = DataType::i32, .compute = DataType::boolean});
  };
  auto below = [&](graph::PointwiseMode mode, graph::Uid x, double limit) {
    return logical(mode, x, g_.scalar("", DataType::i32, limit));
  };
  const graph::Uid top = below(graph::PointwiseMode::CMP_LT, row, arrow_border);
  const graph::Uid left = below(graph::PointwiseMode::CMP_LT, column, arrow_border);
  const graph::Uid distance = integer(graph::PointwiseMode::SUB, row, column, 0, "");
  const graph::Uid above = below(graph::PointwiseMode::CMP_GE, distance, -arrow_width);
  const graph::Uid under = below(graph::PointwiseMode::CMP_LE, distance, arrow_width);
  const graph::Uid band = logical(graph::PointwiseMode::LOGICAL_AND, above, under);
  const graph::Uid borders = logical(graph::PointwiseMode::LOGICAL_OR, top, left);
  return masked(score, logical(graph::PointwiseMode::LOGICAL_OR, borders, band), fill);
}

graph::Uid Scores::document(graph::Uid score, double fill) {
  const int64_t s_q = spec_.seqlen_q, s_kv = spec_.seqlen_kv;
  const graph::Uid column = index(score, 3, DataType::i32);
  auto integers = [&](graph::PointwiseMode mode, graph::Uid x, graph::Uid b) {
    return g_.pointwise(mode, x, b, {.out = DataType::i32});
  };
  // All ones, to broadcast the ids to the shape of the scores.
  const graph::Uid ones = integers(graph::PointwiseMode::CMP_LE, column, column);
  const graph::Uid q_ids = g_.tensor(Role::documents_q, DataType::i32, {1, 1, s_q, 1}, {s_q, s_q, 1, 1});
  const graph::Uid kv_ids = g_.tensor(Role::documents_kv, DataType::i32, {1, 1, 1, s_kv}, {s_kv, s_kv, s_kv, 1});
  const graph::Uid rows = integers(graph::PointwiseMode::MUL, ones, q_ids);
  const graph::Uid columns = integers(graph::PointwiseMode::MUL, ones, kv_ids);
  return masked(score, integers(graph::PointwiseMode::CMP_EQ, rows, columns), fill);
}

graph::Uid Scores::modifier_backward(ScoreModifierKind kind, graph::Uid gradient) {
  const graph::Uid x = *before_modifier_;
  auto mul = [&](graph::Uid a, graph::Uid b) { return g_.pointwise(graph::PointwiseMode::MUL, a, b); };
  auto scalar = [&](double value) { return g_.scalar("", DataType::f32, value); };
  if (const auto unary = unary_modifier(kind); unary && unary->backward)
    return g_.activation_backward(*unary->backward, x, gradient);
  switch (kind) {
    case ScoreModifierKind::relative_position:
      return gradient;  // a constant was added
    case ScoreModifierKind::abs: {
      const graph::Uid positive = g_.compare(graph::PointwiseMode::CMP_GE, x, scalar(0));
      return g_.select(gradient, g_.pointwise(graph::PointwiseMode::NEG, gradient), positive);
    }
    case ScoreModifierKind::sqrt:
      return g_.pointwise(graph::PointwiseMode::DIV, gradient,
                          mul(g_.pointwise(graph::PointwiseMode::SQRT, x), scalar(2)));
    case ScoreModifierKind::sin:
      return mul(gradient, g_.pointwise(graph::PointwiseMode::COS, x));
    case ScoreModifierKind::exp:
      return mul(gradient, g_.pointwise(graph::PointwiseMode::EXP, x));
    case ScoreModifierKind::pow:
      return mul(gradient, mul(g_.pointwise(graph::PointwiseMode::POW, x, scalar(power - 1)), scalar(power)));
    case ScoreModifierKind::max:
      return g_.select(gradient, scalar(0), g_.compare(graph::PointwiseMode::CMP_GT, x, scalar(floor_value)));
    default:
      return modifier(kind, gradient, 0);  // masks and factors apply to the gradient as to the score
  }
}

}  // namespace attnprobe::build
