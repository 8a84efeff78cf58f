// Changes to a built graph, by name: the verified walks include deliberately wrong graphs, which configs cannot
// express.
#pragma once

#include <string>

#include "graph/op_graph.hpp"

namespace attnprobe::test {

/// `edits` are words separated by spaces. Throws std::runtime_error for an unknown edit.
void edit_graph(graph::OpGraph& graph, const std::string& edits);

}  // namespace attnprobe::test
