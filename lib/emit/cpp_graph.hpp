// An operation graph as C++ statements that make cuDNN's descriptors of it.
#pragma once

#include <string>

#include "graph/op_graph.hpp"

namespace attnprobe::emit {

/// The constants of cuDNN's header that the statements and cpp_main use, then helpers and `Descriptor make_graph(void* handle)`: what
/// cudnn::lower() sets, walked through the same table of operations, in the same order. Throws Error(internal) for a
/// graph that lacks a tensor which an operation names.
std::string cpp_graph(const graph::OpGraph& graph);

}  // namespace attnprobe::emit
