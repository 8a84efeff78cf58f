// Graphs as text, for tests that say what a builder made.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::test {

using Words = std::vector<std::string>;

Words operations(const graph::OpGraph& graph);
size_t count(const graph::OpGraph& graph);

/// "q k scale o!": the ports that are set, outputs marked.
std::string ports_text(const graph::Operation& operation);

/// The tensor of that name, or a later one of them. Throws std::runtime_error where there is none.
const graph::Tensor& named_tensor(const graph::OpGraph& graph, const std::string& name, size_t which = 0);
bool has_tensor(const graph::OpGraph& graph, const std::string& name);

/// "f16 2x6x5x16 480,16,96,1 virtual at offsets of Q": everything that cuDNN is told about a tensor.
std::string text(const graph::OpGraph& graph, const graph::Tensor& t);
std::string text(const graph::OpGraph& graph, const std::string& name);

template <class Op>
const Op& operation(const graph::OpGraph& graph, size_t index) {
  return std::get<Op>(graph.operations.at(index));
}

}  // namespace attnprobe::test
