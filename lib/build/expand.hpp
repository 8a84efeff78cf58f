// What cuDNN's compound operations stand for, in the primitive operations that the composite graphs use.
#pragma once

#include "graph/op_graph.hpp"

namespace attnprobe::build {

/// The same graph from primitive operations alone, each behind those whose results it reads: matmul, pointwise,
/// reduction, reshape, rng, paged loads, block scales; unified SDPA operations, softmax and band masks become what they
/// stand for, and rotary embeddings stay. Two things have no primitive: an IDENTITY with a mask is the block mask of an SDPA
/// operation, one bit of `t` a tile of 128 x 128, and a SUB along an axis makes lengths of prefix sums. Throws
/// Error(internal) for a graph whose operations have no order.
graph::OpGraph expand(const graph::OpGraph& graph);

/// y[i] = x[i + 1] - x[i], of batch + 1 prefix sums x: the SUB of expand() that has an axis.
bool is_difference_of_sums(const graph::Pointwise& op);

}  // namespace attnprobe::build
