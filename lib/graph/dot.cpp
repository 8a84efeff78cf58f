// Draws an OpGraph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "graph/op_graph.hpp"

namespace attnprobe::graph {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string label_of(const Tensor& t) {
  const std::string name = t.name.empty() ? fmt::format("#{}", t.uid) : escaped(t.name);
  if (t.by_value)
    return t.value ? fmt::format("{} = {:.6g}", name, *t.value) : fmt::format("{} ({})", name, name_of(t.data_type));
  std::string label = fmt::format("{}\\n{} {}", name, name_of(t.data_type), fmt::join(t.dims, "x"));
  if (!t.is_virtual) label += fmt::format("\\nstrides {}", fmt::join(t.strides, ","));
  if (t.reordering != Reordering::NONE) label += fmt::format("\\n{}", name_of(t.reordering));
  return label;
}

}  // namespace

std::string to_dot(const OpGraph& graph, const std::string& title) {
  std::string dot = fmt::format(
      "digraph \"{}\" {{\n  label=\"{}\";\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n",
      escaped(title), escaped(title));
  // Operations inside a unified SDPA operation are drawn next to it, with edges for the scores in both directions.
  std::vector<Operation> operations = graph.operations;
  operations.insert(operations.end(), graph.score_operations.begin(), graph.score_operations.end());
  // A virtual tensor is an edge; a tensor with memory is a node.
  std::map<Uid, std::string> producers;
  for (size_t i = 0; i < operations.size(); ++i) {
    dot += fmt::format("  op{} [shape=box, style=\"rounded,filled\", fillcolor=\"#e8f0d8\", label=\"{}\"];\n", i,
                       operation_name(operations[i]));
    for (const auto& port : ports(operations[i]))
      if (port.is_output && tensor(graph, port.uid).is_virtual) producers[port.uid] = fmt::format("op{}", i);
  }
  for (const auto& t : graph.tensors)
    if (producers.find(t.uid) == producers.end())
      dot += fmt::format("  t{} [shape={}, label=\"{}\"];\n", t.uid, t.by_value ? "plaintext" : "ellipse", label_of(t));
  std::set<Uid> read;
  for (size_t i = 0; i < operations.size(); ++i) {
    for (const auto& port : ports(operations[i])) {
      const Tensor& t = tensor(graph, port.uid);
      const auto producer = producers.find(port.uid);
      if (port.is_output) {
        if (producer == producers.end()) dot += fmt::format("  op{} -> t{} [label=\"{}\"];\n", i, t.uid, port.name);
        continue;
      }
      read.insert(port.uid);
      const bool on_edge = producer != producers.end();
      dot += fmt::format("  {} -> op{} [label=\"{}\"];\n", on_edge ? producer->second : fmt::format("t{}", t.uid), i,
                         on_edge ? label_of(t) : port.name);
    }
  }
  // Also draws a virtual output that no operation reads: inference graphs must have one.
  for (const auto& [uid, producer] : producers) {
    if (read.count(uid) == 0)
      dot += fmt::format("  t{} [shape=ellipse, style=dashed, label=\"{}\"];\n  {} -> t{} [style=dashed];\n", uid,
                         label_of(tensor(graph, uid)), producer, uid);
  }
  return dot + "}\n";
}

}  // namespace attnprobe::graph
