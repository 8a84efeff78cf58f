// Emits an operation graph as C++ statements that create cuDNN's descriptors.
#pragma once

#include <string>

#include "graph/op_graph.hpp"

namespace attnprobe::emit {

/// The constants of cuDNN's header for the statements and cpp_main, then helpers and `Descriptor make_graph(void*
/// handle)`. It sets the same attributes as cudnn::lower(), in the same order, from the same table of operations.
/// Throws Error(internal) for a graph that lacks a tensor of an operation.
std::string cpp_graph(const graph::OpGraph& graph);

}  // namespace attnprobe::emit
