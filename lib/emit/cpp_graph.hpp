// Emits an operation graph as C++ statements that create cuDNN's descriptors.
#pragma once

#include <string>

#include "graph/op_graph.hpp"

namespace attnprobe::emit {

/// The constants of cuDNN's header, then helpers and `Descriptor make_graph(void* handle)`. The function sets the same
/// attributes in the same order as cudnn::lower(), from the same table of operations. Throws Error(internal) if the
/// graph lacks an operation's tensor.
std::string cpp_graph(const graph::OpGraph& graph);

}  // namespace attnprobe::emit
