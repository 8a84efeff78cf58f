// Reads the operations on the scores that class Scores (scores.hpp) adds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "build/graph_builder.hpp"
#include "build/score_modifiers.hpp"
#include "recognise/reading.hpp"

namespace attnprobe::recognise {
namespace {

using attention::Alignment;
using attention::AttentionSpec;
using attention::ScoreModifierKind;

enum class StepKind { scale, factor, softcap, modifier, bias, alibi, padding, right, left, other };

struct ScoreStep {
  StepKind kind = StepKind::other;
  std::optional<ScoreModifierKind> modifier{};
  std::optional<graph::Uid> operand{};
  // The operands of a bound.
  bool bottom_right = false, shifted = false, by_indices = false;
  std::optional<double> bound{};
  bool before_statistics = false;
};

std::optional<ScoreModifierKind> modifier_of(graph::PointwiseMode mode) {
  for (const auto& [kind, name] : EnumNames<ScoreModifierKind>::table)
    if (const auto unary = build::unary_modifier(kind); unary && unary->forward == mode) return kind;
  // Whether an operand is a scalar.
  if (mode == graph::PointwiseMode::POW) return ScoreModifierKind::pow;
  if (mode == graph::PointwiseMode::MAX) return ScoreModifierKind::max;
  return std::nullopt;
}

// A length from a scalar, limited to the range of configs.
int64_t whole_number(double value) {
  constexpr double most = std::numeric_limits<int32_t>::max();
  return static_cast<int64_t>(std::clamp(value, -most, most));
}

class ScoreReader {
 public:
  ScoreReader(Reading& reading, const GraphView& view, const ReadingChoice& choice)
      : reading_(reading), spec_(reading.spec), view_(view), choice_(choice) {}

  void read(const std::vector<const graph::Operation*>& operations, std::optional<size_t> before_statistics) {
    spec_.scale_form = attention::ScaleForm::none;
    statistics_seen_ = before_statistics.has_value();
    for (size_t i = 0; i < operations.size(); ++i) {
      ScoreStep step = classify(*operations[i]);
      if (is_softcap(operations, i)) {
        step = {.kind = StepKind::softcap, .operand = std::get<graph::Pointwise>(*operations[i]).b};
        i += 2;
      }
      step.before_statistics = i < before_statistics.value_or(0);
      steps_.push_back(step);
    }
    for (size_t i = 0; i < steps_.size(); ++i) take(i);
    read_factors();
  }

 private:
  bool is_softcap(const std::vector<const graph::Operation*>& operations, size_t i) const {
    if (i + 2 >= operations.size()) return false;
    const auto* divide = pointwise_of(operations[i], graph::PointwiseMode::DIV);
    const auto* multiply = pointwise_of(operations[i + 2], graph::PointwiseMode::MUL);
    return divide != nullptr && multiply != nullptr && divide->b == multiply->b && view_.is_by_value(divide->b) &&
           pointwise_of(operations[i + 1], graph::PointwiseMode::TANH_FWD) != nullptr;
  }

  static ScoreStep modifier(ScoreModifierKind kind, std::optional<graph::Uid> operand = {}) {
    return {.kind = StepKind::modifier, .modifier = kind, .operand = operand};
  }

  ScoreStep classify(const graph::Operation& operation) const {
    if (const auto* band = std::get_if<graph::DiagonalBandMask>(&operation)) {
      const bool bottom_right = band->seq_len_q || band->cu_seq_len_q;
      if (band->comparison == graph::PointwiseMode::CMP_GE)
        return {.kind = StepKind::right,
                .bottom_right = bottom_right,
                .shifted = band->shift_right_bound.has_value(),
                .bound = view_.value(band->shift_right_bound)};
      return {.kind = StepKind::left, .bottom_right = bottom_right, .bound = view_.value(band->left_bound)};
    }
    const auto* op = std::get_if<graph::Pointwise>(&operation);
    if (op == nullptr) return {};
    switch (op->mode) {
      case graph::PointwiseMode::MUL:
        return product(*op);
      case graph::PointwiseMode::ADD:
        return sum(*op);
      case graph::PointwiseMode::BINARY_SELECT:
        return selection(*op);
      default:
        break;
    }
    if (const auto kind = modifier_of(op->mode)) return modifier(*kind, op->b);
    return {};
  }

  ScoreStep product(const graph::Pointwise& op) const {
    if (view_.is_by_value(op.b)) return {.kind = StepKind::scale, .operand = op.b};
    if (!view_.is_input(op.b)) return {};
    if (view_.is_one_element(op.b)) return {.kind = StepKind::factor, .operand = op.b};
    const auto& dims = view_.find(op.b)->dims;
    const bool by_head = dims.size() == 4 && dims[0] == 1 && dims[2] == 1 && dims[3] == 1;
    return modifier(by_head ? ScoreModifierKind::head_factor : ScoreModifierKind::score_factor, op.b);
  }

  ScoreStep sum(const graph::Pointwise& op) const {
    if (view_.is_input(op.b)) return {.kind = StepKind::bias, .operand = op.b};
    const graph::Operation* made_by = view_.producer(op.b);
    if (const auto* slopes = pointwise_of(made_by, graph::PointwiseMode::MUL); slopes && view_.is_input(slopes->b))
      return {.kind = StepKind::alibi};
    if (pointwise_of(made_by, graph::PointwiseMode::SUB) != nullptr)
      return modifier(ScoreModifierKind::relative_position);
    return {};
  }

  ScoreStep selection(const graph::Pointwise& op) const {
    if (view_.is_input(op.t)) {
      const DataType type = view_.find(op.t)->data_type;
      return modifier(type == DataType::i32            ? ScoreModifierKind::mask_i32
                      : type == DataType::i8           ? ScoreModifierKind::mask_i8
                      : type == DataType::byte_boolean ? ScoreModifierKind::mask_byte_boolean
                                                       : ScoreModifierKind::mask_boolean);
    }
    const auto* test = view_.producer_as<graph::Pointwise>(op.t);
    if (test == nullptr) return {};
    switch (test->mode) {
      case graph::PointwiseMode::LOGICAL_AND:
        return {.kind = StepKind::padding};
      case graph::PointwiseMode::LOGICAL_OR:
        return modifier(ScoreModifierKind::arrow);
      case graph::PointwiseMode::CMP_EQ:
        return modifier(ScoreModifierKind::document);
      case graph::PointwiseMode::CMP_GE:
        return right_bound(*test);
      case graph::PointwiseMode::CMP_GT:
        return left_bound(*test);
      default:
        return {};
    }
  }

  // The operations that add to an index and subtract from it, last first.
  std::vector<const graph::Pointwise*> shifts(std::optional<graph::Uid> index) const {
    std::vector<const graph::Pointwise*> found;
    constexpr size_t most = 3;
    while (found.size() < most) {
      const auto* op = view_.producer_as<graph::Pointwise>(index);
      if (op == nullptr || (op->mode != graph::PointwiseMode::ADD && op->mode != graph::PointwiseMode::SUB)) break;
      found.push_back(op);
      index = op->x;
    }
    return found;
  }

  // row + seqlen_kv - seqlen_q + right >= column; the lengths and the shift may be missing.
  ScoreStep right_bound(const graph::Pointwise& test) const {
    const auto found = shifts(test.x);
    ScoreStep step{.kind = StepKind::right, .bottom_right = found.size() >= 2, .by_indices = true};
    step.shifted = found.size() % 2 == 1;
    if (step.shifted) step.bound = view_.value(found.front()->b);
    return step;
  }

  // column + left - seqlen_kv + seqlen_q > row; the lengths are tensors, or already in the scalar.
  ScoreStep left_bound(const graph::Pointwise& test) const {
    const auto found = shifts(test.x);
    ScoreStep step{.kind = StepKind::left, .bottom_right = found.size() > 1, .by_indices = true};
    if (!found.empty()) step.bound = view_.value(found.back()->b);
    return step;
  }

  void take(size_t i) {
    const ScoreStep& step = steps_[i];
    switch (step.kind) {
      case StepKind::scale:
        read_scale(reading_, view_, *step.operand);
        break;
      case StepKind::factor:
        factors_.push_back(*step.operand);
        break;
      case StepKind::softcap:
        take_softcap(*step.operand);
        break;
      case StepKind::modifier:
        take_modifier(*step.modifier, step.operand);
        break;
      case StepKind::bias:
        read_bias(reading_, *view_.find(step.operand));
        break;
      case StepKind::alibi:
        spec_.alibi = true;
        break;
      case StepKind::padding:
        if (is_late_padding(i)) spec_.mask.padding_after_stats = true;
        spec_.mask.padding = true;
        break;
      case StepKind::right:
        take_right(i);
        break;
      case StepKind::left:
        take_left(step);
        break;
      case StepKind::other:
        break;
    }
  }

  // In the backward pass, only after the statistics are subtracted.
  bool is_late_padding(size_t i) const {
    return is_bprop(spec_) && statistics_seen_ && !steps_[i].before_statistics && !spec_.mask.padding;
  }

  void take_softcap(graph::Uid cap) {
    constexpr double usual = 50;  // Gemma 2's
    auto value = view_.value(cap);
    if (value && *value <= 0) value.reset();
    spec_.softcap = value ? shortest_value(*value) : usual;
    if (!value)
      reading_.assumed.push_back(fmt::format("softcap: the graph does not contain its value; {} is assumed", usual));
  }

  void take_modifier(ScoreModifierKind kind, std::optional<graph::Uid> operand) {
    spec_.score_mod = attention::ScoreModifier{kind, true};
    if (is_bprop(spec_)) {
      reading_.open.modifier_without_grad = true;
      spec_.score_mod->grad = !choice_.modifier_without_grad;
    }
    const bool scalars = kind == ScoreModifierKind::arrow || (view_.is_by_value(operand) && !view_.value(operand));
    if (scalars)
      reading_.assumed.push_back(fmt::format(
          "score_mod: the graph does not contain the scalars of \"{}\"; attnprobe's own are assumed", name_of(kind)));
  }

  // A causal mask by indices without a shift is wired like the score modifier of that name.
  void take_right(size_t i) {
    const ScoreStep& step = steps_[i];
    if (step.by_indices && !step.bottom_right && !step.shifted) {
      const bool decided =
          step.before_statistics ||
          std::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(i) + 1, steps_.end(), [](const ScoreStep& later) {
            return later.kind != StepKind::left && later.kind != StepKind::other;
          });
      if (!decided) reading_.open.causal_is_modifier = true;
      if (decided || choice_.causal_is_modifier) {
        take_modifier(ScoreModifierKind::causal, {});
        return;
      }
    }
    spec_.mask.window_right = 0;
    if (step.bottom_right) spec_.mask.alignment = Alignment::bottom_right;
    right_aligned_ = true;
    if (!step.shifted) return;
    spec_.mask.window_right = step.bound ? std::max<int64_t>(whole_number(*step.bound), 0) : whole_width();
    if (step.bound) return;
    reading_.right_unknown = true;
    note_window("window_right", *spec_.mask.window_right);
  }

  // Wide enough that it masks nothing.
  int64_t whole_width() const { return std::max(spec_.seqlen_q, spec_.seqlen_kv); }

  void note_window(const char* field, int64_t width) {
    reading_.assumed.push_back(
        fmt::format("{}: the graph does not contain its value; {}, which masks nothing, is assumed", field, width));
  }

  void take_left(const ScoreStep& step) {
    if (step.bottom_right) spec_.mask.alignment = Alignment::bottom_right;
    if (!step.bound) {
      spec_.mask.window_left = whole_width();
      reading_.left_unknown = true;
      note_window("window_left", whole_width());
      return;
    }
    // The graph's bound includes the diagonal and, without length tensors, the lengths.
    int64_t left = whole_number(*step.bound) - 1;
    const int64_t shift = spec_.seqlen_kv - spec_.seqlen_q;
    if (!step.bottom_right && !right_aligned_ && left < 0 && left + shift >= 0)
      spec_.mask.alignment = Alignment::bottom_right;
    if (!step.bottom_right && spec_.mask.alignment == Alignment::bottom_right) left += shift;
    spec_.mask.window_left = std::max<int64_t>(left, 0);
  }

  // One-element tensors: the scale, and for fp8 the scales of Q and K after it.
  void read_factors() {
    const bool descaled = is_fp8(spec_) && fp8_scaling(spec_) != attention::Fp8Scaling::mxfp8;
    const size_t descales = descaled ? 2 : 0;
    if (factors_.size() <= descales) return;
    if (spec_.scale_form == attention::ScaleForm::none) {
      reading_.open.factor_is_modifier = spec_.heads_q == 1;
      if (!choice_.factor_is_modifier || spec_.heads_q != 1) {
        read_scale(reading_, view_, factors_.front());
        if (factors_.size() == descales + 1) return;
      }
    }
    if (spec_.heads_q == 1) take_modifier(ScoreModifierKind::head_factor, {});
  }

  Reading& reading_;
  AttentionSpec& spec_;
  const GraphView& view_;
  const ReadingChoice& choice_;
  std::vector<ScoreStep> steps_;
  std::vector<graph::Uid> factors_;
  bool right_aligned_ = false;
  bool statistics_seen_ = false;  // there are steps on both sides of the subtraction
};

}  // namespace

double shortest_value(double value) {
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value) return value;
  return std::stod(fmt::format("{}", narrow));
}

void read_scale(Reading& reading, const GraphView& view, graph::Uid factor) {
  AttentionSpec& spec = reading.spec;
  spec.scale_form = attention::ScaleForm::tensor;
  if (!view.is_by_value(factor)) return;
  spec.scale_form = attention::ScaleForm::by_value;
  const auto value = view.value(factor);
  if (!value) {
    reading.assumed.emplace_back("scale: the graph does not contain its value; 1/sqrt(head_dim_qk) is assumed");
  } else if (static_cast<float>(*value) != static_cast<float>(scale_of(spec))) {
    spec.scale = shortest_value(*value);
  }
}

void read_bias(Reading& reading, const graph::Tensor& bias) {
  const AttentionSpec& spec = reading.spec;
  attention::Bias result;
  result.shape = "bhss";
  for (size_t i = 0; i < result.shape.size() && i < bias.dims.size(); ++i)
    if (bias.dims[i] == 1) result.shape[i] = '1';
  if (bias.data_type != spec.dtype) result.dtype = bias.data_type;
  // Limits extents to the attention's, so that strides of a broken graph do not overflow.
  const build::Dims scores{spec.batch, spec.heads_q, spec.seqlen_q, spec.seqlen_kv};
  bool fits = bias.dims.size() == scores.size() && bias.strides.size() == scores.size();
  for (size_t i = 0; fits && i < scores.size(); ++i) fits = bias.dims[i] == 1 || bias.dims[i] == scores[i];
  if (fits && bias.strides != build::packed_strides(bias.dims))
    std::copy_n(bias.strides.begin(), scores.size(), result.strides.emplace().begin());
  reading.spec.bias = result;
}

void read_scores(Reading& reading, const GraphView& view, const std::vector<const graph::Operation*>& steps,
                 std::optional<size_t> before_statistics, const ReadingChoice& choice) {
  ScoreReader(reading, view, choice).read(steps, before_statistics);
}

}  // namespace attnprobe::recognise
