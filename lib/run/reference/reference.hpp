// The reference: an interpreter of OpGraph that knows nothing of cuDNN. Every operation is computed as it is written,
// whole matrices at a time, in f32 on a GPU and in f64 on the CPU; no tensor between two operations is rounded to its
// type, so that what is left of a comparison is the plan's own error. What roundings make of that error is computed
// beside each value.
#pragma once

#include <array>
#include <map>

#include "graph/op_graph.hpp"
#include "run/device/device.hpp"
#include "run/device/kernels.hpp"

namespace attnprobe::run {

using graph::OpGraph;
using graph::Uid;
using kernels::View;

/// A tensor in memory, with the memory where it is this one's own.
struct Value {
  View view{};
  Memory memory;
};

/// Where the inputs of a graph lie: every real tensor that no operation makes, ragged offsets included; also the mask
/// of an Rng operation, which only the plan knows. By-value scalars have their value in the graph.
using Inputs = std::map<Uid, View>;

/// Every tensor has four dims here; those of fewer (scalars of one) are padded in front.
using Shape = std::array<int64_t, 4>;
Shape four(const std::vector<int64_t>& values);
int64_t count(const Shape& dims);

/// Row-major, with nothing between the elements.
View packed_view(const Shape& dims, DataType type, char* data);

/// The tensor as it lies in memory: dims and strides of the graph, `data`
/// its first element. `offsets`: the inputs that hold its ragged offsets.
View view_of(const OpGraph& graph, const graph::Tensor& tensor, char* data, const Inputs& offsets);

/// What every real output of the graph, expanded (build/expand.hpp), must be: tensors of the device's real type, packed,
/// with errors that do not have the rounding to the output's own type in them. At most about `memory_bytes`
/// are in use at a time: batch entries and heads are taken in turns where they must be. Throws Error(internal) for a
/// graph that the interpreter cannot follow, Error(environment) where even one head of one batch entry is too large.
std::map<Uid, Value> evaluate(Device& device, const OpGraph& graph, const Inputs& inputs, size_t memory_bytes);

}  // namespace attnprobe::run
