// Reads flash attention from primitive operations: forward, and backward in 16 bits and fp8.
#include <algorithm>

#include "recognise/reading.hpp"

namespace attnprobe::recognise {
namespace {

using attention::AttentionSpec;
using attention::Fp8Scaling;
using attention::Pass;
using attention::Pattern;
using Steps = std::vector<const graph::Operation*>;

// The operand before MXFP8's dequantisation.
std::optional<graph::Uid> quantised(const GraphView& view, graph::Uid uid, bool& is_block_scaled) {
  const auto* op = view.producer_as<graph::BlockScaleDequantize>(uid);
  if (op == nullptr) return uid;
  is_block_scaled = true;
  return op->x;
}

// The index of the last pointwise operation of that mode before `end`.
std::optional<size_t> last_of(const Steps& steps, graph::PointwiseMode mode, size_t end) {
  for (size_t i = std::min(end, steps.size()); i-- > 0;)
    if (pointwise_of(steps[i], mode) != nullptr) return i;
  return std::nullopt;
}

Steps part(const Steps& steps, size_t begin, size_t end) {
  return {steps.begin() + static_cast<std::ptrdiff_t>(begin), steps.begin() + static_cast<std::ptrdiff_t>(end)};
}

// For current scaling, cudnn-frontend passes the factor of a result as a value, not a tensor.
Fp8Scaling scaling_by_output(const GraphView& view, graph::Uid product) {
  const graph::Uid result = view.follow(product);
  const auto* last = view.producer_as<graph::Pointwise>(result);
  return last != nullptr && view.is_by_value(last->b) ? Fp8Scaling::current : Fp8Scaling::delayed;
}

// K or V of a forward graph: a tensor, or paged. `is_transposed`: the graph has it as {b, h, d, s}.
void read_key_or_value(const GraphView& view, graph::Uid operand, bool is_transposed, AttentionPorts& p) {
  const auto* load = view.producer_as<graph::PagedCacheLoad>(operand);
  const graph::Tensor* t = view.find(operand);
  if (t == nullptr || t->dims.size() != 4) return;
  auto& unpaged = is_transposed ? p.k : p.v;
  if (load == nullptr) {
    unpaged = is_transposed ? untransposed(t) : *t;
    return;
  }
  (is_transposed ? p.container_k : p.container_v) = view.find(load->container);
  p.page_table = view.find(load->page_table);
  p.seqlen_kv = t->dims[is_transposed ? 3 : 2];
}

// The softmax of a forward graph: its position on the path, and its outputs.
struct SeenSoftmax {
  size_t begin = 0, end = 0;
  bool sink = false;
  std::optional<graph::Uid> stats, max, sum_exp;
  bool log2 = false;
};

std::optional<SeenSoftmax> primitive_softmax(const GraphView& view, const Steps& steps) {
  SeenSoftmax seen;
  const auto sub = last_of(steps, graph::PointwiseMode::SUB, steps.size());
  if (!sub || *sub + 2 >= steps.size() || pointwise_of(steps[*sub + 1], graph::PointwiseMode::EXP) == nullptr)
    return std::nullopt;
  const auto* divide = pointwise_of(steps[*sub + 2], graph::PointwiseMode::DIV);
  const auto row_max = std::get<graph::Pointwise>(*steps[*sub]).b;
  if (divide == nullptr || !divide->b || !row_max) return std::nullopt;
  seen.begin = *sub;
  seen.end = *sub + 3;
  seen.sink = pointwise_of(view.producer(row_max), graph::PointwiseMode::MAX) != nullptr;
  auto in_memory = [&](std::optional<graph::Uid> uid) {
    const graph::Tensor* t = view.find(uid);
    return t != nullptr && !t->is_virtual ? uid : std::nullopt;
  };
  seen.max = in_memory(row_max);
  seen.sum_exp = in_memory(divide->b);
  for (const auto& use : view.uses(*divide->b))
    if (const auto* log = pointwise_of(use.operation, graph::PointwiseMode::LOG); log && log->y)
      for (const auto& next : view.uses(*log->y))
        if (const auto* add = pointwise_of(next.operation, graph::PointwiseMode::ADD)) seen.stats = in_memory(add->y);
  return seen;
}

std::optional<SeenSoftmax> seen_softmax(const GraphView& view, const Steps& steps) {
  for (size_t i = 0; i < steps.size(); ++i)
    if (const auto* op = std::get_if<graph::Softmax>(steps[i]))
      return SeenSoftmax{i,       i + 1,       op->sink.has_value(),          op->stats,
                         op->max, op->sum_exp, op->stats_log2.value_or(false)};
  return primitive_softmax(view, steps);
}

// The matmuls of a backward graph, by result.
struct BackwardMatmuls {
  const graph::Matmul *scores = nullptr, *d_p = nullptr, *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;
  bool complete() const { return scores && d_p && d_q && d_k && d_v; }
};

BackwardMatmuls backward_matmuls(const GraphView& view) {
  const auto all = view.all<graph::Matmul>();
  BackwardMatmuls found;
  auto maker = [&](const GraphView::Path& path) { return view.producer_as<graph::Matmul>(path.origin); };
  // dQ's first operand is dS itself, computed from dP; the first operands of dK and dV are transposed.
  for (const auto* matmul : all) {
    const graph::Operation* made_by = view.producer(matmul->a);
    if (made_by != nullptr && std::get_if<graph::Pointwise>(made_by) != nullptr) {
      found.d_q = matmul;
      found.d_p = maker(view.path_to(matmul->a));
    }
  }
  for (const auto* matmul : all) {
    if (view.producer_as<graph::Reshape>(matmul->a) != nullptr)
      (maker(view.path_to(matmul->a)) == found.d_p ? found.d_k : found.d_v) = matmul;
  }
  if (found.d_v != nullptr) found.scores = maker(view.path_to(found.d_v->a));
  return found;
}

class BackwardReader {
 public:
  BackwardReader(const GraphView& view, const BackwardMatmuls& matmuls, const ReadingChoice& choice)
      : view_(view), m_(matmuls), choice_(choice) {}

  std::optional<Reading> read() {
    spec_.pattern = Pattern::sdpa_composite;
    spec_.pass = Pass::bprop;
    to_p_ = view_.path_to(m_.d_v->a).steps;
    to_d_s_ = view_.path_to(m_.d_q->a).steps;
    const auto exp = last_of(to_p_, graph::PointwiseMode::EXP, to_p_.size());
    const auto sub = exp ? last_of(to_p_, graph::PointwiseMode::SUB, *exp) : std::nullopt;
    if (!sub || !read_tensors(std::get<graph::Pointwise>(*to_p_[*sub]).b)) return std::nullopt;
    Steps scores = part(to_p_, 0, *sub), after = part(to_p_, *sub + 1, *exp);
    const size_t before = scores.size();
    scores.insert(scores.end(), after.begin(), after.end());
    const bool masks_last = !is_fp8(spec_);
    read_scores(reading_, view_, scores, masks_last ? std::optional(before) : std::nullopt, choice_);
    read_dropout(reading_, view_, part(to_p_, *exp + 1, to_p_.size()));
    read_bias_gradient();
    read_accumulation();
    return reading_;
  }

 private:
  bool read_tensors(std::optional<graph::Uid> stats) {
    bool block_scaled = false;
    AttentionPorts p;
    p.q = view_.find(quantised(view_, m_.scores->a, block_scaled));
    p.k = untransposed(view_.find(quantised(view_, m_.scores->b, block_scaled)));
    p.v = untransposed(view_.find(quantised(view_, m_.d_p->b, block_scaled)));
    p.d_o = view_.find(quantised(view_, m_.d_p->a, block_scaled));
    p.o = forward_output(p.d_o, block_scaled);
    p.dq = view_.find(view_.follow(m_.d_q->c));
    p.dk = view_.find(view_.follow(m_.d_k->c));
    p.dv = view_.find(view_.follow(m_.d_v->c));
    p.rows = view_.find(stats);
    if (!p.k || !p.v || p.d_o == nullptr || p.o == nullptr || !read_ports(reading_, p, view_)) return false;
    read_statistics(reading_, p.rows, false);
    if (is_fp8(spec_)) spec_.fp8 = block_scaled ? Fp8Scaling::mxfp8 : scaling_by_output(view_, m_.d_q->c);
    for (const auto& use : view_.uses(stats.value_or(0)))
      if (const auto* sub = pointwise_of(use.operation, graph::PointwiseMode::SUB);
          sub && use.port == "b" && view_.is_input(sub->x))
        spec_.sink = true;
    return true;
  }

  // O is multiplied by dO; MXFP8 has a separate 16-bit dO for that.
  const graph::Tensor* forward_output(const graph::Tensor* d_o, bool block_scaled) const {
    for (const auto* op : view_.all<graph::Pointwise>()) {
      if (op->mode != graph::PointwiseMode::MUL || !view_.is_input(op->x) || !view_.is_input(op->b)) continue;
      const graph::Tensor *x = view_.find(op->x), *b = view_.find(op->b);
      if (d_o != nullptr && (x == d_o || (block_scaled && x->dims == d_o->dims))) return b;
    }
    return nullptr;
  }

  // dBias is a sum over dS on this path.
  void read_bias_gradient() {
    if (!spec_.bias) return;
    for (const graph::Operation* step : to_d_s_)
      for (const auto& port : ports(*step)) {
        if (!port.is_output) continue;
        for (const auto& use : view_.uses(port.uid))
          if (const auto* sum = std::get_if<graph::Reduction>(use.operation);
              sum && sum->op == graph::ReductionOperator::ADD)
            if (const graph::Tensor* t = view_.find(sum->y); t != nullptr && !t->is_virtual)
              recognise::read_bias_gradient(spec_, *t);
      }
  }

  // dQ is summed in f32 memory or computed directly. Also determines which intermediate tensors contain only actual
  // tokens.
  void read_accumulation() {
    if (is_fp8(spec_)) return;
    const graph::Tensor* sum = view_.find(m_.d_q->c);
    const bool straight = view_.find(view_.follow(m_.d_q->c)) == sum;
    spec_.deterministic = straight && !(spec_.bias && spec_.bias->grad);
    auto is_ragged_in_memory = [](const graph::Tensor* t) {
      return t != nullptr && !t->is_virtual && t->ragged_offset;
    };
    bool known_q = !straight && is_ragged_in_memory(sum);
    if (const auto sub = last_of(to_d_s_, graph::PointwiseMode::SUB, to_d_s_.size()))
      known_q = known_q || is_ragged_in_memory(view_.find(std::get<graph::Pointwise>(*to_d_s_[*sub]).b));
    auto known_heads = [&](const graph::Matmul* matmul) {
      const graph::Tensor* c = view_.find(matmul->c);
      return is_ragged_in_memory(c) && view_.find(view_.follow(matmul->c)) != c;
    };
    auto assume = [&](const char* field, std::optional<int64_t>& total, int64_t tokens) {
      total = spec_.batch * tokens;
      reading_.assumed.push_back(std::string(field) +
                                 ": the graph does not contain its value; batch times length is assumed");
    };
    if (known_q) assume("max_total_seqlen_q", spec_.max_total_seqlen_q, spec_.seqlen_q);
    if (known_heads(m_.d_k) || known_heads(m_.d_v))
      assume("max_total_seqlen_kv", spec_.max_total_seqlen_kv, spec_.seqlen_kv);
  }

  const GraphView& view_;
  const BackwardMatmuls& m_;
  const ReadingChoice& choice_;
  Reading reading_;
  AttentionSpec& spec_ = reading_.spec;
  Steps to_p_, to_d_s_;
};

}  // namespace

std::optional<Reading> read_composite(const GraphView& view, const ReadingChoice& choice) {
  const auto matmuls = view.all<graph::Matmul>();
  if (matmuls.size() != 2) return std::nullopt;
  const bool in_order = view.producer_as<graph::Matmul>(view.path_to(matmuls[1]->a).origin) == matmuls[0];
  const graph::Matmul *scores = matmuls[in_order ? 0 : 1], *output = matmuls[in_order ? 1 : 0];
  const auto path = view.path_to(output->a);
  if (path.origin != scores->c) return std::nullopt;
  const auto softmax = seen_softmax(view, path.steps);
  if (!softmax) return std::nullopt;

  Reading reading;
  AttentionSpec& spec = reading.spec;
  spec.pattern = Pattern::sdpa_composite;
  bool block_scaled = false;
  AttentionPorts p;
  p.q =
      view.find(before_rope(reading, view, quantised(view, scores->a, block_scaled).value_or(0), &attention::Rope::q));
  read_key_or_value(view, quantised(view, scores->b, block_scaled).value_or(0), true, p);
  read_key_or_value(view, quantised(view, output->b, block_scaled).value_or(0), false, p);
  if (const graph::Uid k = before_rope(reading, view, scores->b, &attention::Rope::k); k != scores->b)
    if (const graph::Tensor* plain = view.find(k); plain != nullptr && plain->dims.size() == 4) p.k = *plain;
  p.o = view.find(view.follow(output->c));
  for (const auto& row : {softmax->stats, softmax->max, softmax->sum_exp})
    if (row) p.rows = view.find(row);
  if (p.o == nullptr || !read_ports(reading, p, view)) return std::nullopt;
  if (softmax->stats) spec.pass = Pass::fprop_train;
  read_statistics(reading, view.find(softmax->stats), softmax->log2);
  spec.max_logit = softmax->max.has_value();
  spec.sum_exp = softmax->sum_exp.has_value();
  spec.sink = softmax->sink;
  if (is_fp8(spec)) spec.fp8 = block_scaled ? Fp8Scaling::mxfp8 : scaling_by_output(view, output->c);
  read_scores(reading, view, part(path.steps, 0, softmax->begin), {}, choice);
  read_dropout(reading, view, part(path.steps, softmax->end, path.steps.size()));
  return reading;
}

std::optional<Reading> read_composite_backward(const GraphView& view, const ReadingChoice& choice) {
  const auto matmuls = backward_matmuls(view);
  if (!matmuls.complete()) return std::nullopt;
  return BackwardReader(view, matmuls, choice).read();
}

}  // namespace attnprobe::recognise
