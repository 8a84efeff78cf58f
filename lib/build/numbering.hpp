// The uids of a graph in cudnn-frontend's order. Not installed.
#pragma once

#include "graph/op_graph.hpp"

namespace attnprobe::build {

/// Numbers the tensors that a program gives before those inside the graph, as cudnn-frontend does: cuDNN 9.19 to 9.28
/// takes a paged decode with a dumped dropout mask only where K's uid is above the mask's
/// (docs/results/frontend-1.32.md), so that an answer may hang on the order.
void number_given_first(graph::OpGraph& graph);

}  // namespace attnprobe::build
