#include "graph_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace attnprobe::test {

using namespace attnprobe::graph;

Words operations(const OpGraph& graph) {
  Words names;
  for (const auto& operation : graph.operations) names.push_back(operation_name(operation));
  return names;
}

size_t count(const OpGraph& graph) {
  return graph.operations.size();
}

const Tensor& named_tensor(const OpGraph& graph, const std::string& name, size_t which) {
  for (const auto& t : graph.tensors)
    if (t.name == name && which-- == 0) return t;
  throw std::runtime_error("no tensor " + name);
}

bool has_tensor(const OpGraph& graph, const std::string& name) {
  return std::any_of(graph.tensors.begin(), graph.tensors.end(), [&](const Tensor& t) { return t.name == name; });
}

std::string text(const OpGraph& graph, const Tensor& t) {
  std::string all = fmt::format("{} {} {}", name_of(t.data_type), fmt::join(t.dims, "x"), fmt::join(t.strides, ","));
  if (t.is_virtual) all += " virtual";
  if (t.by_value) all += fmt::format(" = {:.6g}", t.value.value());
  if (t.reordering != Reordering::NONE) all += fmt::format(" {}", name_of(t.reordering));
  if (t.ragged_offset) all += " at " + tensor(graph, *t.ragged_offset).name;
  return all;
}

std::string text(const OpGraph& graph, const std::string& name) {
  return text(graph, named_tensor(graph, name));
}

std::string ports_text(const Operation& operation) {
  std::string words;
  for (const auto& port : ports(operation))
    words += (words.empty() ? "" : " ") + port.name + (port.is_output ? "!" : "");
  return words;
}

}  // namespace attnprobe::test
