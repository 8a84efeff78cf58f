// Reads the legacy small-sequence pattern (mha.cpp, mha_backward.cpp) and two bare matmuls.
#include "recognise/reading.hpp"

namespace attnprobe::recognise {
namespace {

using attention::AttentionSpec;
using attention::DropoutForm;
using attention::Pass;
using attention::Pattern;
using attention::ScaleForm;

// The two matmuls of a forward graph.
struct LegacyMatmuls {
  const graph::Matmul *scores = nullptr, *output = nullptr;
};

std::optional<LegacyMatmuls> forward_matmuls(const GraphView& view) {
  const auto all = view.all<graph::Matmul>();
  if (all.size() != 2) return std::nullopt;
  for (const size_t first : {size_t{0}, size_t{1}})
    if (view.path_to(all[1 - first]->a).origin == all[first]->c) return LegacyMatmuls{all[first], all[1 - first]};
  return std::nullopt;
}

// Padding compares indices with lengths, the diagonal compares indices with each other; LOGICAL_AND joins them.
void read_conditions(AttentionSpec& spec, const GraphView& view, std::optional<graph::Uid> condition, int depth = 0) {
  constexpr int longest_chain = 4;
  const auto* op = view.producer_as<graph::Pointwise>(condition);
  if (op == nullptr || depth > longest_chain) return;
  if (op->mode == graph::PointwiseMode::CMP_LT) spec.mask.padding = true;
  if (op->mode == graph::PointwiseMode::CMP_GE) spec.mask.window_right = 0;
  if (op->mode != graph::PointwiseMode::LOGICAL_AND) return;
  read_conditions(spec, view, op->x, depth + 1);
  read_conditions(spec, view, op->b, depth + 1);
}

class LegacyForwardReader {
 public:
  LegacyForwardReader(const GraphView& view, const LegacyMatmuls& matmuls) : view_(view), m_(matmuls) {}

  std::optional<Reading> read() {
    spec_.pattern = Pattern::mha;
    const auto* scale = pointwise_of(view_.producer(m_.scores->b), graph::PointwiseMode::MUL);
    AttentionPorts p;
    p.q = view_.find(m_.scores->a);
    p.k = untransposed(view_.find(scale != nullptr ? scale->x : m_.scores->b));
    const graph::Tensor* v = view_.find(m_.output->b);
    if (v == nullptr || !p.k) return std::nullopt;
    p.v = *v;
    p.o = view_.find(m_.output->c);
    if (!read_ports(reading_, p, view_)) return std::nullopt;
    spec_.scale_form = ScaleForm::none;
    if (scale != nullptr && scale->b) read_scale(reading_, view_, *scale->b);
    spec_.softmax = false;
    for (const graph::Operation* step : view_.path_to(m_.output->a).steps)
      if (!read_step(step)) return std::nullopt;
    return reading_;
  }

 private:
  // False for a step that this pattern never has; in this case two matmuls are not attention.
  bool read_step(const graph::Operation* step) {
    const auto* pointwise = std::get_if<graph::Pointwise>(step);
    if (pointwise == nullptr) return false;
    const graph::Pointwise& op = *pointwise;
    switch (op.mode) {
      case graph::PointwiseMode::ADD:
        if (view_.is_input(op.b)) read_bias(reading_, *view_.find(op.b));
        break;
      case graph::PointwiseMode::BINARY_SELECT:
        read_conditions(spec_, view_, op.t);
        break;
      case graph::PointwiseMode::EXP:
        spec_.softmax = true;
        break;
      case graph::PointwiseMode::MUL:
        read_dropout(reading_, view_, {step});
        break;
      case graph::PointwiseMode::SUB:
      case graph::PointwiseMode::DIV:
        break;
      default:
        return false;
    }
    // S is stored for training.
    if (const graph::Tensor* y = view_.find(op.y); y != nullptr && !y->is_virtual) spec_.pass = Pass::fprop_train;
    return true;
  }

  const GraphView& view_;
  const LegacyMatmuls& m_;
  Reading reading_;
  AttentionSpec& spec_ = reading_.spec;
};

struct LegacyBackwardMatmuls {
  const graph::Matmul *d_p = nullptr, *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;
  bool complete() const { return d_p && d_q && d_k && d_v; }
};

// Distinguished by the origin of their first operand: none, the gradient of the scores, its transpose, |S|.
LegacyBackwardMatmuls legacy_backward_matmuls(const GraphView& view) {
  LegacyBackwardMatmuls found;
  for (const auto* matmul : view.all<graph::Matmul>()) {
    const graph::Operation* made_by = view.producer(matmul->a);
    if (made_by == nullptr)
      found.d_p = matmul;
    else if (std::get_if<graph::Reshape>(made_by) != nullptr)
      found.d_k = matmul;
    else if (pointwise_of(made_by, graph::PointwiseMode::ABS) != nullptr)
      found.d_v = matmul;
    else
      found.d_q = matmul;
  }
  return found;
}

// The backward path of dS: mask, scale, softmax.
void read_score_gradient(Reading& reading, const GraphView& view, graph::Uid d_s) {
  AttentionSpec& spec = reading.spec;
  const auto* last = view.producer_as<graph::Pointwise>(d_s);
  if (last != nullptr && last->mode == graph::PointwiseMode::BINARY_SELECT) {
    read_conditions(spec, view, last->t);
    last = view.producer_as<graph::Pointwise>(last->x);
  }
  spec.scale_form = ScaleForm::none;
  if (last != nullptr && last->b && view.is_one_element(last->b)) read_scale(reading, view, *last->b);
  for (const auto& use : view.uses(d_s))
    if (const auto* sum = std::get_if<graph::Reduction>(use.operation))
      if (const graph::Tensor* d_bias = view.find(view.follow(sum->y)); d_bias != nullptr && d_bias->dims.size() == 4) {
        read_bias(reading, *d_bias);
        spec.bias->grad = true;
      }
}

// The forward pass multiplied by 1 / (1 - p), with p = 0 without dropout; the graph has only this scalar.
void read_dropout_scale(Reading& reading, const GraphView& view, graph::Uid p_transposed) {
  const auto* magnitude = view.producer_as<graph::Pointwise>(p_transposed);
  const auto* product = magnitude == nullptr ? nullptr : view.producer_as<graph::Pointwise>(magnitude->x);
  const auto scale = product == nullptr ? std::nullopt : view.value(product->b);
  if (!scale) {
    reading.assumed.emplace_back(
        "dropout: the backward graph of this pattern contains only its scale, not the value; none is assumed");
    return;
  }
  if (*scale <= 1) return;
  attention::Dropout dropout;
  dropout.probability = complement(1.0 / *scale);
  reading.spec.dropout = dropout;
}

}  // namespace

std::optional<Reading> read_legacy(const GraphView& view) {
  const auto matmuls = forward_matmuls(view);
  if (!matmuls) return std::nullopt;
  return LegacyForwardReader(view, *matmuls).read();
}

std::optional<Reading> read_legacy_backward(const GraphView& view) {
  const auto m = legacy_backward_matmuls(view);
  if (!m.complete()) return std::nullopt;
  Reading reading;
  reading.spec.pattern = Pattern::mha;
  reading.spec.pass = Pass::bprop;
  AttentionPorts p;
  p.q = view.find(m.d_k->b);
  if (const graph::Tensor* k = view.find(m.d_q->b)) p.k = *k;
  p.v = untransposed(view.find(m.d_p->b));
  // O is not in the graph; dO has its shape.
  p.d_o = view.find(m.d_p->a);
  p.dq = view.find(m.d_q->c);
  p.dk = view.find(m.d_k->c);
  p.dv = view.find(m.d_v->c);
  if (!p.k || !p.v || p.d_o == nullptr || !read_ports(reading, p, view)) return std::nullopt;
  reading.spec.mask.padding = m.d_p->m_override.has_value();
  read_score_gradient(reading, view, m.d_q->a);
  read_dropout_scale(reading, view, m.d_v->a);
  return reading;
}

std::optional<Reading> read_two_matmul(const GraphView& view) {
  const auto matmuls = forward_matmuls(view);
  if (!matmuls || view.graph().operations.size() != 2) return std::nullopt;
  Reading reading;
  reading.spec.pattern = Pattern::two_matmul;
  AttentionPorts p;
  p.q = view.find(matmuls->scores->a);
  p.k = untransposed(view.find(matmuls->scores->b));
  const graph::Tensor* v = view.find(matmuls->output->b);
  if (v == nullptr || !p.k) return std::nullopt;
  p.v = *v;
  p.o = view.find(matmuls->output->c);
  if (!read_ports(reading, p, view)) return std::nullopt;
  return reading;
}

}  // namespace attnprobe::recognise
