// The parts of recognise_graph(): each reads one aspect of an AttentionSpec from a graph. A reading is only a candidate
// until a rebuilt graph proves it.
#pragma once

#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "recognise/graph_view.hpp"

namespace attnprobe::recognise {

/// One of several ways to interpret a graph. Reading.open has the choices that matter.
struct ReadingChoice {
  bool causal_is_modifier = false;     ///< an early causal mask on the scores is a score modifier
  bool factor_is_modifier = false;     ///< a one-element factor is a per-head factor for one head, not a scale
  bool modifier_without_grad = false;  ///< bprop: the graph lacks the score modifier's gradient
};

struct Reading {
  attention::AttentionSpec spec;
  /// Values missing from the graph, with the assumed value, one per line.
  std::vector<std::string> assumed;
  /// The window sizes are assumed, so never report them as facts.
  bool left_unknown = false, right_unknown = false;
  /// The choices that change the reading.
  ReadingChoice open;
};

/// The tensors that determine a spec's extents, types and layouts, each {b, h, s, d}, not transposed. Null: not in the
/// graph.
struct AttentionPorts {
  const graph::Tensor *q = nullptr, *o = nullptr;
  std::optional<graph::Tensor> k, v;  ///< copies, because the graph may have them transposed
  const graph::Tensor *container_k = nullptr, *container_v = nullptr, *page_table = nullptr;
  const graph::Tensor *d_o = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;
  std::optional<int64_t> seqlen_kv;     ///< if neither K nor V shows it
  const graph::Tensor* rows = nullptr;  ///< statistics, maxima or sums
};

/// Reads extents, types, layouts, paging and raggedness. Returns false if these cannot be the tensors of an attention.
bool read_ports(Reading& reading, const AttentionPorts& ports, const GraphView& view);

/// Reads layout, type and base of the softmax statistics; null: there are none. Call after read_ports().
void read_statistics(Reading& reading, const graph::Tensor* stats, bool log2);

/// Marks dBias as an output, with its type if it differs from the bias's. Precondition: the spec has a bias.
void read_bias_gradient(attention::AttentionSpec& spec, const graph::Tensor& d_bias);

/// The tensor before its rotation, if a rope rotates it; the reading then has a rope.
graph::Uid before_rope(Reading& reading, const GraphView& view, graph::Uid uid, bool attention::Rope::*side);

/// The tensor with its last two axes swapped.
std::optional<graph::Tensor> untransposed(const graph::Tensor* t);

/// Reads the operations on the scores from `steps`. The first `before_statistics` of them precede the subtraction of
/// the statistics, if the graph subtracts them in between (16-bit backward).
void read_scores(Reading& reading, const GraphView& view, const std::vector<const graph::Operation*>& steps,
                 std::optional<size_t> before_statistics, const ReadingChoice& choice);

/// Reads the scale, if it is a factor of that tensor.
void read_scale(Reading& reading, const GraphView& view, graph::Uid factor);

/// Reads dropout from the operations that multiply P.
void read_dropout(Reading& reading, const GraphView& view, const std::vector<const graph::Operation*>& steps);
attention::Dropout drawn_dropout(double probability, const graph::Tensor* seed, bool dump);
/// The probability whose complement is in the graph, in few digits if they are exact.
double complement(double keep);

/// A by-value scalar's value, shortened to the precision of its 32 bits.
double shortest_value(double value);

void read_bias(Reading& reading, const graph::Tensor& bias);

/// The role of a matmul in an attention graph, forward (two matmuls) or backward (four or five).
std::optional<Reading> read_unified(const GraphView& view, const ReadingChoice& choice);
std::optional<Reading> read_composite(const GraphView& view, const ReadingChoice& choice);
std::optional<Reading> read_composite_backward(const GraphView& view, const ReadingChoice& choice);
std::optional<Reading> read_legacy(const GraphView& view);
std::optional<Reading> read_legacy_backward(const GraphView& view);
std::optional<Reading> read_two_matmul(const GraphView& view);

}  // namespace attnprobe::recognise
