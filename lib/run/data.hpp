// What the tensors of a graph hold before a run: lengths, offsets, page tables, random values of realistic scale.
// Decided from the graph alone, by the roles of its tensors; plain data, no device.
#pragma once

#include <map>
#include <optional>
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

enum class Use {
  input,    ///< given before the run
  output,   ///< compared after it
  scratch,  ///< memory that the graph wants from the caller for itself; its content says nothing
};

/// Interleaved tensors ("bs3hd") lie in one memory: this one begins so many elements into the first one's.
struct Sharing {
  graph::Uid first = 0;
  int64_t offset = 0;
};

/// How one real tensor is filled and how large it is.
struct TensorData {
  graph::Uid uid = 0;
  Use use = Use::input;
  int64_t elements = 0;           ///< from the first to the last, gaps included
  std::optional<Sharing> shares;  ///< none: memory of its own
  std::vector<int64_t> integers;  ///< of lengths, offsets, tables, seeds: what it holds, in memory order
  std::vector<double> reals;      ///< of ALiBi slopes and angles: f32, in memory order
  kernels::FillArgs fill{};       ///< where both are empty
  bool derived = false;           ///< Stats and O of a backward graph: computed from the other inputs
  bool reordered = false;         ///< in cuDNN's F16x16 order, which is not documented: not compared
  bool mask_dump = false;         ///< a drawn dropout mask: what is behind the sequences may be left out
  std::vector<int32_t> rows;      ///< lengths behind which it may hold anything; empty: all count
  int sequence_axis = 2;          ///< that the rows are of
};

struct GraphData {
  Lengths lengths;
  std::vector<TensorData> tensors;  ///< every real tensor, offsets before what they are offsets of
  bool backward = false;            ///< gradients are computed
};

/// Throws Error(usage) for an unknown regime, lengths that do not fit, and ragged offsets in units that are no part of a
/// token.
GraphData plan_data(const graph::OpGraph& graph, const RunOptions& options);

}  // namespace attnprobe::run
