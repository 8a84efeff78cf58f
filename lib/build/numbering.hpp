// Numbers the uids of a graph in cudnn-frontend's order. Not installed.
#pragma once

#include "graph/op_graph.hpp"

namespace attnprobe::build {

/// Numbers the program's tensors before those inside the graph, like cudnn-frontend. The order can change an answer.
/// With a dumped dropout mask, cuDNN 9.19 to 9.28 supports paged decode only if K's uid is above the mask's
/// (docs/results/README.md).
void number_given_first(graph::OpGraph& graph);

}  // namespace attnprobe::build
