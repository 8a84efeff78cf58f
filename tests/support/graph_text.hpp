// Graphs as text, for tests of builders.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::test {

using Words = std::vector<std::string>;

Words operations(const graph::OpGraph& graph);
size_t count(const graph::OpGraph& graph);

/// "q k scale o!": the set ports, with outputs marked.
std::string ports_text(const graph::Operation& operation);

/// The tensor with that name, or a later one if there are several. Throws std::runtime_error if there is none.
const graph::Tensor& named_tensor(const graph::OpGraph& graph, const std::string& name, size_t which = 0);
bool has_tensor(const graph::OpGraph& graph, const std::string& name);

/// "f16 2x6x5x16 480,16,96,1 virtual at offsets of Q": everything that cuDNN receives for a tensor.
std::string text(const graph::OpGraph& graph, const graph::Tensor& t);
std::string text(const graph::OpGraph& graph, const std::string& name);

template <class Op>
const Op& operation(const graph::OpGraph& graph, size_t index) {
  return std::get<Op>(graph.operations.at(index));
}

}  // namespace attnprobe::test
