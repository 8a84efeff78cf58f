// Reading an AttentionSpec out of a graph, piece by piece: what recognise_graph() puts together. A reading is a
// candidate; only building it again proves it.
#pragma once

#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "recognise/graph_view.hpp"

namespace attnprobe::recognise {

/// How one graph may be read in more than one way; which of them matter shows in Reading.
struct ReadingChoice {
  bool causal_is_modifier = false;     ///< a causal mask among the scores' first steps is a score modifier
  bool factor_is_modifier = false;     ///< a one-element factor is a head factor of one head, no scale
  bool modifier_without_grad = false;  ///< bprop: the score modifier's gradient is not in the graph
};

struct Reading {
  attention::AttentionSpec spec;
  /// Values that the graph does not hold and what is assumed in their place, a line each.
  std::vector<std::string> assumed;
  /// The windows' sizes are among them: they are not to be told as facts.
  bool left_unknown = false, right_unknown = false;
  /// Which choices change anything.
  ReadingChoice open;
};

/// The tensors that a spec's extents, types and layouts come from,
/// each {b, h, s, d}: not transposed. Null: not in the graph.
struct AttentionPorts {
  const graph::Tensor *q = nullptr, *o = nullptr;
  std::optional<graph::Tensor> k, v;  ///< copies, since the graph may have them transposed
  const graph::Tensor *container_k = nullptr, *container_v = nullptr, *page_table = nullptr;
  const graph::Tensor *d_o = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;
  std::optional<int64_t> seqlen_kv;     ///< where neither K nor V says it
  const graph::Tensor* rows = nullptr;  ///< statistics, maxima or sums
};

/// Extents, types, layouts, paging and raggedness. False if these are not the tensors of an attention.
bool read_ports(Reading& reading, const AttentionPorts& ports, const GraphView& view);

/// Layout, type and base of the softmax statistics; null: there are none. After read_ports().
void read_statistics(Reading& reading, const graph::Tensor* stats, bool log2);

/// That dBias is an output, and its type where it is not the bias's. Of a spec with a bias.
void read_bias_gradient(attention::AttentionSpec& spec, const graph::Tensor& d_bias);

/// The tensor before its rotation, where a rope makes it; the reading then has one.
graph::Uid before_rope(Reading& reading, const GraphView& view, graph::Uid uid, bool attention::Rope::*side);

/// With the last two axes swapped.
std::optional<graph::Tensor> untransposed(const graph::Tensor* t);

/// What is done to the scores, from `steps`. The first `before_statistics` of them stand before the statistics are
/// subtracted, where the graph does that between them (16-bit backward).
void read_scores(Reading& reading, const GraphView& view, const std::vector<const graph::Operation*>& steps,
                 std::optional<size_t> before_statistics, const ReadingChoice& choice);

/// The scale, where it is a factor of that tensor.
void read_scale(Reading& reading, const GraphView& view, graph::Uid factor);

/// Dropout from the operations that multiply P.
void read_dropout(Reading& reading, const GraphView& view, const std::vector<const graph::Operation*>& steps);
attention::Dropout drawn_dropout(double probability, const graph::Tensor* seed, bool dump);
/// The probability whose complement a graph holds, in few digits where they give exactly that.
double complement(double keep);

/// A by-value scalar's value, shortened to the digits that its 32 bits hold.
double shortest_value(double value);

void read_bias(Reading& reading, const graph::Tensor& bias);

/// Which part a matmul has in an attention's forward (two of them) or backward graph (four or five).
std::optional<Reading> read_unified(const GraphView& view, const ReadingChoice& choice);
std::optional<Reading> read_composite(const GraphView& view, const ReadingChoice& choice);
std::optional<Reading> read_composite_backward(const GraphView& view, const ReadingChoice& choice);
std::optional<Reading> read_legacy(const GraphView& view);
std::optional<Reading> read_legacy_backward(const GraphView& view);
std::optional<Reading> read_two_matmul(const GraphView& view);

}  // namespace attnprobe::recognise
