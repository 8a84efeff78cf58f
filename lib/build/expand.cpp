#include "build/expand.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "base/error.hpp"
#include "build/graph_builder.hpp"
#include "build/softmax.hpp"

namespace attnprobe::build {
namespace {

using graph::Operation;
using graph::OpGraph;
using graph::PointwiseMode;
using graph::ReductionOperator;
using graph::Uid;

constexpr double mask_fill = -std::numeric_limits<double>::infinity();

class Expansion {
 public:
  explicit Expansion(const OpGraph& graph) : graph_(graph), g_(graph.tensors) {}

  OpGraph run() {
    for (const auto& operation : graph_.operations) add(operation);
    OpGraph expanded = g_.take();
    sort(expanded);
    return expanded;
  }

 private:
  // cuDNN accepts any order of operations, but the interpreter makes one pass.
  static void sort(OpGraph& graph) {
    std::set<Uid> missing;
    for (const auto& operation : graph.operations)
      for (const auto& port : ports(operation))
        if (port.is_output) missing.insert(port.uid);
    std::vector<Operation> sorted, rest = std::move(graph.operations);
    while (!rest.empty()) {
      const size_t before = rest.size();
      std::vector<Operation> later;
      for (auto& operation : rest) {
        const auto all = ports(operation);
        const bool ready = std::all_of(all.begin(), all.end(), [&](const graph::Port& port) {
          return port.is_output || missing.count(port.uid) == 0;
        });
        if (!ready) {
          later.push_back(std::move(operation));
          continue;
        }
        for (const auto& port : all)
          if (port.is_output) missing.erase(port.uid);
        sorted.push_back(std::move(operation));
      }
      rest = std::move(later);
      if (rest.size() == before) throw Error(ErrorKind::internal, "the graph's operations form a cycle");
    }
    graph.operations = std::move(sorted);
  }

  void add(const Operation& operation) {
    if (const auto* mask = std::get_if<graph::DiagonalBandMask>(&operation)) return band_mask(*mask);
    if (const auto* softmax = std::get_if<graph::Softmax>(&operation)) return single_softmax(*softmax);
    if (const auto* forward = std::get_if<graph::SdpaForward>(&operation)) return sdpa(*forward);
    if (const auto* backward = std::get_if<graph::SdpaBackward>(&operation)) return sdpa_backward(*backward);
    if (const auto* reduction = std::get_if<graph::Reduction>(&operation)) return reduce(*reduction);
    g_.add(operation);
  }

  void reduce(graph::Reduction op) {
    const graph::Tensor &x = tensor(graph_, op.x), &y = tensor(graph_, op.y);
    if (is_sink_gradient(op)) {
      // cuDNN recognises the pattern and adds the gradient's minus sign, which is not in the graph (measured on an
      // H200, 9.19).
      op.x = g_.pointwise(PointwiseMode::NEG, op.x);
    } else if (y.is_virtual && y.dims == x.dims) {
      // SinkMaximum::of_frontend: cuDNN reduces the rows, whatever the dimensions of the result.
      g_.at(op.y).dims = rows_of(op.x);
      g_.at(op.y).strides = packed_strides(g_.at(op.y).dims);
    }
    g_.add(op);
  }

  const graph::Pointwise* maker(Uid uid, PointwiseMode mode) const {
    for (const auto& operation : graph_.operations)
      if (const auto* op = std::get_if<graph::Pointwise>(&operation); op != nullptr && op->y == uid && op->mode == mode)
        return op;
    return nullptr;
  }
  // sum(exp(sink - stats) D), one number per head.
  bool is_sink_gradient(const graph::Reduction& op) const {
    const auto& y = tensor(graph_, op.y);
    if (y.is_virtual || y.dims.size() != 4 || y.dims[0] != 1 || y.dims[2] != 1 || y.dims[3] != 1) return false;
    const auto* product = maker(op.x, PointwiseMode::MUL);
    const auto* exp = product == nullptr ? nullptr : maker(product->x.value(), PointwiseMode::EXP);
    const auto* shifted = exp == nullptr ? nullptr : maker(exp->x.value(), PointwiseMode::SUB);
    return shifted != nullptr && tensor(graph_, shifted->x.value()).dims == y.dims;
  }

  Dims rows_of(Uid scores) {
    Dims dims = g_.at(scores).dims;
    dims[3] = 1;
    return dims;
  }
  Uid virtual_rows(Uid scores) { return g_.virtual_tensor("", DataType::f32, rows_of(scores)); }
  Uid binary(PointwiseMode mode, Uid x, Uid b) { return g_.pointwise(mode, x, b); }
  Uid index(Uid scores, int64_t axis) { return g_.index(scores, axis, DataType::i32, DataType::i32); }
  Uid masked(Uid scores, Uid visible) {
    return g_.select(scores, g_.scalar("fill", DataType::f32, mask_fill), visible);
  }

  // Sequence lengths, direct or as prefix sums.
  struct Lengths {
    std::optional<Uid> q, kv;
  };
  std::optional<Uid> lengths(std::optional<Uid> plain, std::optional<Uid> sums) {
    if (plain || !sums) return plain;
    const auto known = lengths_of_.find(*sums);
    if (known != lengths_of_.end()) return known->second;
    graph::Pointwise difference;
    difference.mode = PointwiseMode::SUB;
    difference.axis = 0;
    difference.x = *sums;
    difference.y = g_.virtual_tensor("", DataType::i32, {g_.at(*sums).dims[0] - 1, 1, 1, 1});
    g_.add(difference);
    return lengths_of_[*sums] = *difference.y;
  }
  template <class Op>
  Lengths lengths(const Op& op) {
    return {lengths(op.seq_len_q, op.cu_seq_len_q), lengths(op.seq_len_kv, op.cu_seq_len_kv)};
  }

  // Right bound: row (+ len_kv - len_q) + shift >= column. Left bound: column + left (- len_kv + len_q) > row.
  void band_mask(const graph::DiagonalBandMask& op) {
    Uid row = index(op.x, 2), column = index(op.x, 3);
    const auto [len_q, len_kv] = lengths(op);
    if (op.comparison == PointwiseMode::CMP_GE) {
      if (len_kv) row = binary(PointwiseMode::ADD, row, *len_kv);
      if (len_q) row = binary(PointwiseMode::SUB, row, *len_q);
      if (op.shift_right_bound) row = binary(PointwiseMode::ADD, row, *op.shift_right_bound);
    } else {
      if (op.left_bound) column = binary(PointwiseMode::ADD, column, *op.left_bound);
      if (len_kv) column = binary(PointwiseMode::SUB, column, *len_kv);
      if (len_q) column = binary(PointwiseMode::ADD, column, *len_q);
    }
    const bool right = op.comparison == PointwiseMode::CMP_GE;
    const Uid visible = g_.compare(op.comparison, right ? row : column, right ? column : row);
    g_.pointwise(PointwiseMode::BINARY_SELECT, op.x, op.fill, {.into = op.y, .mask = visible});
  }

  void softmax(Uid x, Uid y, std::optional<Uid> sink, std::optional<Uid> stats, std::optional<Uid> max,
               std::optional<Uid> sum, bool stats_log2) {
    const auto parts = add_softmax(g_, x, max ? *max : virtual_rows(x), sum ? *sum : virtual_rows(x), sink);
    const Uid log_sum = stats ? g_.pointwise(PointwiseMode::LOG, parts.row_sum) : 0;
    if (stats && stats_log2)
      g_.pointwise(PointwiseMode::MUL, binary(PointwiseMode::ADD, parts.row_max, log_sum),
                   g_.scalar("log2(e)", DataType::f32, std::numbers::log2e), {.into = *stats});
    else if (stats)
      g_.pointwise(PointwiseMode::ADD, parts.row_max, log_sum, {.into = *stats});
    g_.pointwise(PointwiseMode::DIV, parts.exponentials, parts.row_sum, {.into = y});
  }
  void single_softmax(const graph::Softmax& op) {
    softmax(op.x, op.y, op.sink, op.stats, op.max, op.sum_exp, op.stats_log2.value_or(false));
  }

  // {b, h, s, d} in memory as {b, h, d, s}.
  Uid swapped(Uid x) {
    Dims dims = g_.at(x).dims, strides = g_.at(x).strides;
    std::swap(dims[2], dims[3]);
    std::swap(strides[2], strides[3]);
    return g_.reshape(x, g_.virtual_tensor("", DataType::f32, dims, strides));
  }

  // The tokens of a paged cache, as {b, h, s, d} or, transposed, {b, h, d, s}.
  Uid paged(Uid container, Uid table, Uid lengths, int64_t batch, bool is_transposed) {
    const Dims pages = g_.at(container).dims;
    const int64_t tokens = g_.at(table).dims[2] * pages[2], heads = pages[1], d = pages[3];
    graph::PagedCacheLoad load;
    load.container = container;
    load.page_table = table;
    load.sequence = lengths;
    const Dims plain{batch, heads, tokens, d}, turned{batch, heads, d, tokens};
    load.y = is_transposed ? g_.virtual_tensor("", DataType::f32, turned, {heads * tokens * d, tokens * d, 1, d})
                           : g_.virtual_tensor("", DataType::f32, plain);
    g_.add(load);
    return load.y;
  }

  // `descales`: of Q and K, one per tensor.
  template <class Op>
  Uid scores(const Op& op, Uid q, Uid k_transposed, const Lengths& len, const std::vector<Uid>& descales = {}) {
    const Dims dims = g_.at(q).dims;
    Uid score = g_.virtual_tensor("", DataType::f32, {dims[0], dims[1], dims[2], g_.at(k_transposed).dims[3]});
    g_.matmul(q, k_transposed, score, len.q, len.kv);
    for (const Uid descale : descales) score = binary(PointwiseMode::MUL, score, descale);
    if (op.scale) score = binary(PointwiseMode::MUL, score, *op.scale);
    if (op.score_input) {
      g_.pointwise(PointwiseMode::IDENTITY, score, {}, {.into = *op.score_input});
      for (const auto& operation : graph_.score_operations) add(operation);
      score = op.score_output.value();
    }
    if (len.q) score = masked(score, g_.compare(PointwiseMode::CMP_LT, index(score, 2), *len.q));
    if (len.kv) score = masked(score, g_.compare(PointwiseMode::CMP_LT, index(score, 3), *len.kv));
    return score;
  }

  // The mask, as 0 and 1.
  template <class Op>
  Uid random(const Op& op, Uid scores, std::optional<Uid> dump) {
    graph::Rng rng;
    rng.probability = 1 - *op.dropout_probability;
    rng.seed = op.seed;
    rng.offset = op.offset;
    rng.y = dump ? *dump : g_.virtual_tensor("dropout mask", DataType::f32, Dims(g_.at(scores).dims));
    g_.add(rng);
    return rng.y;
  }
  Uid scaled(Uid x, double factor) { return binary(PointwiseMode::MUL, x, g_.scalar("", DataType::f32, factor)); }

  // X times the scales of its blocks of 32.
  Uid dequantized(Uid x, Uid scales) {
    graph::BlockScaleDequantize op;
    op.x = x;
    op.scale = scales;
    op.block_size = {1, 32};
    op.y = g_.virtual_tensor("", DataType::f32, Dims(g_.at(x).dims), Dims(g_.at(x).strides));
    g_.add(op);
    return op.y;
  }
  void largest(Uid x, std::optional<Uid> amax) {
    if (amax) g_.reduce(ReductionOperator::AMAX, x, *amax);
  }

  // fp8: P is scaled before the second product, O after its absolute maximum is computed (as in the composite graph).
  void sdpa(const graph::SdpaForward& op) {
    const int64_t batch = g_.at(op.q).dims[0];
    const Lengths len = lengths(op);
    const bool blocks = op.descale_q && g_.at(*op.descale_q).data_type == DataType::fp8_e8m0;
    const auto operand = [&](Uid x, std::optional<Uid> scales) { return blocks ? dequantized(x, *scales) : x; };
    const Uid k = op.page_table_k ? paged(op.k, *op.page_table_k, len.kv.value(), batch, true)
                                  : swapped(operand(op.k, op.descale_k));
    std::vector<Uid> descales;
    if (op.descale_q && !blocks) descales = {*op.descale_q, op.descale_k.value()};
    Uid score = scores(op, operand(op.q, op.descale_q), k, len, descales);
    if (op.block_mask) {
      graph::Pointwise mask;
      mask.x = score;
      mask.t = op.block_mask;
      mask.y = g_.virtual_tensor("", DataType::f32, Dims(g_.at(score).dims));
      g_.add(mask);
      score = *mask.y;
    }
    Uid p = g_.virtual_tensor("", DataType::f32, Dims(g_.at(score).dims));
    softmax(score, p, op.sink, op.stats, op.max, op.sum_exp, op.stats_log2.value_or(false));
    if (op.dropout_probability)
      p = scaled(binary(PointwiseMode::MUL, p, random(op, score, op.rng_dump)), 1 / (1 - *op.dropout_probability));
    largest(p, op.amax_s);
    if (op.scale_s) p = binary(PointwiseMode::MUL, p, *op.scale_s);
    const Uid v =
        op.page_table_v ? paged(op.v, *op.page_table_v, len.kv.value(), batch, false) : operand(op.v, op.descale_v);
    if (!op.descale_s) {
      g_.matmul(p, v, op.o, len.q, {}, len.kv);
      return largest(op.o, op.amax_o);
    }
    Uid o = g_.virtual_tensor("", DataType::f32, Dims(g_.at(op.o).dims));
    g_.matmul(p, v, o, len.q, {}, len.kv);
    o = binary(PointwiseMode::MUL, binary(PointwiseMode::MUL, o, *op.descale_s), op.descale_v.value());
    largest(o, op.amax_o);
    if (op.scale_o)
      g_.pointwise(PointwiseMode::MUL, o, *op.scale_o, {.into = op.o});
    else
      g_.pointwise(PointwiseMode::IDENTITY, o, {}, {.into = op.o});
  }

  // c = aᵀ b, summed over the heads that share a head of c.
  void gradient(Uid a_transposed, Uid b, Uid c, std::optional<Uid> m, std::optional<Uid> k) {
    Dims dims = g_.at(c).dims;
    if (dims[1] == g_.at(a_transposed).dims[1]) {
      g_.matmul(a_transposed, b, c, m, {}, k);
      return;
    }
    dims[1] = g_.at(a_transposed).dims[1];
    const Uid all = g_.virtual_tensor("", DataType::f32, dims);
    g_.matmul(a_transposed, b, all, m, {}, k);
    g_.reduce(ReductionOperator::ADD, all, c);
  }

  void sdpa_backward(const graph::SdpaBackward& op) {
    for (const auto& operation : graph_.score_operations)
      if (const auto* pointwise = std::get_if<graph::Pointwise>(&operation))
        if (pointwise->mode == PointwiseMode::TANH_FWD || pointwise->mode == PointwiseMode::POW ||
            pointwise->mode == PointwiseMode::DIV || pointwise->mode == PointwiseMode::RELU_FWD)
          throw Error(ErrorKind::internal,
                      "the reference has no gradient of a score modifier inside a single backward operation");
    const Lengths len = lengths(op);
    Uid sums = g_.reduce(ReductionOperator::ADD, binary(PointwiseMode::MUL, op.d_o, op.o), rows_of(op.d_o));
    if (op.d_sink) {
      const Uid shifted = g_.pointwise(PointwiseMode::SUB, op.sink.value(), op.stats, {.into = virtual_rows(op.stats)});
      const Uid weighted = binary(PointwiseMode::MUL, g_.pointwise(PointwiseMode::EXP, shifted), sums);
      g_.reduce(ReductionOperator::ADD, g_.pointwise(PointwiseMode::NEG, weighted), *op.d_sink);
    }
    const double keep = 1 - op.dropout_probability.value_or(0);
    const Uid score = scores(op, op.q, swapped(op.k), len);
    const Uid p = g_.pointwise(PointwiseMode::EXP, binary(PointwiseMode::SUB, score, op.stats));
    Uid dropped = p, d_p = g_.virtual_tensor("", DataType::f32, Dims(g_.at(score).dims));
    g_.matmul(op.d_o, swapped(op.v), d_p, len.q, len.kv);
    if (op.dropout_probability) {
      const Uid mask = random(op, score, {});
      dropped = scaled(binary(PointwiseMode::MUL, p, mask), 1 / keep);
      d_p = scaled(binary(PointwiseMode::MUL, d_p, mask), 1 / keep);
    }
    Uid d_s = binary(PointwiseMode::MUL, binary(PointwiseMode::SUB, d_p, sums), p);
    if (op.d_bias) g_.reduce(ReductionOperator::ADD, d_s, *op.d_bias);
    if (op.scale) d_s = binary(PointwiseMode::MUL, d_s, *op.scale);
    gradient(swapped(dropped), op.d_o, op.dv, len.kv, len.q);
    g_.matmul(d_s, op.k, op.dq, len.q, {}, len.kv);
    gradient(swapped(d_s), op.q, op.dk, len.kv, len.q);
  }

  const OpGraph& graph_;
  GraphBuilder g_;
  std::map<Uid, Uid> lengths_of_;  // length from prefix sums
};

}  // namespace

bool is_difference_of_sums(const graph::Pointwise& op) {
  return op.mode == PointwiseMode::SUB && op.axis && !op.b;
}

OpGraph expand(const OpGraph& graph) {
  return Expansion(graph).run();
}

}  // namespace attnprobe::build
