// Expands cuDNN's compound operations to the primitive operations of composite graphs.
#pragma once

#include "graph/op_graph.hpp"

namespace attnprobe::build {

/// The same graph in primitive operations, each after the operations whose results it reads. The primitive operations
/// are matmul, pointwise, reduction, reshape, rng, paged loads and block scales. Unified SDPA operations, softmax and
/// band masks are expanded; rotary embeddings stay. Two things have no primitive form. An IDENTITY with a mask is the
/// block mask of an SDPA operation, with one bit of `t` per tile of 128 x 128. A SUB along an axis converts prefix sums
/// to lengths. Throws Error(internal) if the operations form a cycle.
graph::OpGraph expand(const graph::OpGraph& graph);

/// y[i] = x[i + 1] - x[i] for batch + 1 prefix sums x: the SUB of expand() that has an axis.
bool is_difference_of_sums(const graph::Pointwise& op);

}  // namespace attnprobe::build
