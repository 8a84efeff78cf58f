// Plans the contents of a graph's tensors before a run: lengths, offsets, page tables, random values of realistic
// scale. Uses only the graph and the roles of its tensors; plain data, no device.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graph/op_graph.hpp"
#include "run/device/kernels.hpp"
#include "run/run_options.hpp"

namespace attnprobe::run {

/// Sequence lengths of the batch.
struct Lengths {
  std::vector<int32_t> q, kv;
};

/// The options' lengths, for each side that they give. Otherwise the first sequence has the full length, so that every row
/// and column is used; the others are random, or full without `random`. Throws Error(usage) for unsuitable lengths.
Lengths choose_lengths(const RunOptions& options, int64_t batch, int64_t seqlen_q, int64_t seqlen_kv,
                       std::mt19937_64* random);

enum class Use {
  input,    ///< input, filled before the run
  output,   ///< output, compared after the run
  scratch,  ///< scratch memory that the caller provides; its content is meaningless
};

/// Interleaved tensors ("bs3hd") share one memory. This tensor begins `offset` elements after the start of the first
/// tensor.
struct Sharing {
  graph::Uid first = 0;
  int64_t offset = 0;
};

/// The contents and size of one real tensor.
struct TensorData {
  graph::Uid uid = 0;
  Use use = Use::input;
  int64_t elements = 0;           ///< elements from the first to the last, including gaps
  std::optional<Sharing> shares;  ///< none: separate memory
  std::vector<int64_t> integers;  ///< contents of lengths, offsets, tables and seeds, in memory order
  std::vector<double> reals;      ///< contents of ALiBi slopes and angles: f32, in memory order
  kernels::FillArgs fill{};       ///< used if both are empty
  bool derived = false;           ///< Stats and O of a backward graph: computed from the other inputs
  bool reordered = false;         ///< has cuDNN's undocumented F16x16 order, so it is not compared
  bool mask_dump = false;         ///< a drawn dropout mask, in which elements after the sequences may be missing
  std::vector<int32_t> rows;      ///< lengths; elements after them may hold anything; empty: all count
  int sequence_axis = 2;          ///< the axis of the lengths
};

struct GraphData {
  Lengths lengths;
  std::vector<TensorData> tensors;  ///< every real tensor; offsets precede their tensors
  bool backward = false;            ///< the graph computes gradients
};

/// Throws Error(usage) for an unknown regime, unsuitable lengths, and offset units that do not divide a token.
GraphData plan_data(const graph::OpGraph& graph, const RunOptions& options);

}  // namespace attnprobe::run
