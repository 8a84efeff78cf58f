// The reference: an interpreter of OpGraph that is independent of cuDNN. It computes every operation as written, on
// whole matrices, in f32 on a GPU and in f64 on the CPU. Intermediate tensors are not rounded to their types, so that a
// comparison shows only the plan's own error. With each value, it computes the expected size of that error from
// roundings.
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

/// A tensor in memory; owns the memory or refers to it.
struct Value {
  View view{};
  Memory memory;
};

/// The memory of a graph's inputs: every real tensor that no operation writes, including ragged offsets. Also the mask
/// of an Rng operation, which only the plan knows. By-value scalars have their values in the graph.
using Inputs = std::map<Uid, View>;

/// Here every tensor has four dims; tensors with fewer (scalars have one) are padded in front.
using Shape = std::array<int64_t, 4>;
Shape four(const std::vector<int64_t>& values);
int64_t count(const Shape& dims);

/// Row-major, without gaps.
View packed_view(const Shape& dims, DataType type, char* data);

/// The tensor in memory: dims and strides of the graph, `data` its first element. `offsets`: the inputs that hold its
/// ragged offsets.
View view_of(const OpGraph& graph, const graph::Tensor& tensor, char* data, const Inputs& offsets);

/// The expected value of every real output of the graph, expanded (build/expand.hpp). They are packed tensors of the
/// device's real type; their errors do not include the rounding to the output's type. Uses at most about `memory_bytes`
/// at a time: if necessary, it computes batch entries and heads one after the other. Throws Error(internal) for a graph
/// that the interpreter does not support, Error(environment) if even one head of one batch entry is too large.
std::map<Uid, Value> evaluate(Device& device, const OpGraph& graph, const Inputs& inputs, size_t memory_bytes);

}  // namespace attnprobe::run
