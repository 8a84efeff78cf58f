// What cuDNN's compound operations stand for, in the primitive operations that the composite graphs use.
#pragma once

#include "graph/op_graph.hpp"

namespace attnprobe::build {

/// The same graph from primitive operations alone, each behind those whose results it reads: matmul, pointwise,
/// reduction, reshape, rng, paged loads, block scales; unified SDPA operations, softmax and band masks become what they
/// stand for. An IDENTITY with a mask is the block mask of an SDPA operation, which no primitive has: one bit of `t` a
/// tile of 128 x 128. Throws Error(internal) for a graph whose operations have no order.
graph::OpGraph expand(const graph::OpGraph& graph);

}  // namespace attnprobe::build
