#include "graph/graph_nodes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graph/operation_table.hpp"

namespace attnprobe::graph {
namespace {

template <class T>
std::string attribute_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "yes" : "no";
  else if constexpr (std::is_enum_v<T>)
    return std::string(name_of(value));
  else if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", value);  // the shortest text that parses to the same number
  else
    return fmt::format("{}", fmt::join(value, ","));
}

template <class T>
std::string attribute_text(const std::optional<T>& value) {
  return value ? attribute_text(*value) : "unset";
}

// A host value has one element with any number of axes: cudnn-frontend uses one axis for some values, four for others.
bool is_host_value(const Tensor& t) {
  return t.by_value && !t.dims.empty() &&
         std::all_of(t.dims.begin(), t.dims.end(), [](int64_t extent) { return extent == 1; });
}

std::vector<std::pair<std::string, std::string>> attributes_of(const Tensor& t) {
  const std::vector<int64_t> ones(4, 1);
  const auto& dims = is_host_value(t) ? ones : t.dims;
  const auto& strides = is_host_value(t) ? ones : t.strides;
  std::vector<std::pair<std::string, std::string>> attributes{
      {"data type", attribute_text(t.data_type)},   {"dims", attribute_text(dims)},
      {"strides", attribute_text(strides)},         {"alignment", attribute_text(t.alignment)},
      {"virtual", attribute_text(t.is_virtual)},    {"by value", attribute_text(t.by_value)},
      {"reordering", attribute_text(t.reordering)}, {"ragged", attribute_text(t.ragged_offset.has_value())}};
  if (t.ragged_multiplier) attributes.emplace_back("ragged multiplier", attribute_text(t.ragged_multiplier));
  return attributes;
}

// Clears attributes that cuDNN ignores.
Operation without_unread(Operation operation) {
  if (auto* pointwise = std::get_if<Pointwise>(&operation); pointwise && pointwise->mode != PointwiseMode::GEN_INDEX)
    pointwise->axis.reset();
  if (auto* rng = std::get_if<Rng>(&operation); rng && rng->constant_seed == 0) rng->constant_seed.reset();
  return operation;
}

std::vector<std::pair<std::string, std::string>> attributes_of(const Operation& operation) {
  std::vector<std::pair<std::string, std::string>> attributes;
  auto add = [&](const char* name, const auto& value) {
    // Flags added after the first release are hashed only if set, so that other graphs keep their hash.
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<bool>>)
      if (!value) return;
    std::string words(name);
    std::replace(words.begin(), words.end(), '_', ' ');
    attributes.emplace_back(std::move(words), attribute_text(value));
  };
  std::visit([&](const auto& op) { for_each_attribute(op, add); }, without_unread(operation));
  return attributes;
}

}  // namespace

std::vector<GraphNode> graph_nodes(const OpGraph& graph) {
  std::map<Uid, size_t> tensor_index, node_of;
  for (size_t i = 0; i < graph.tensors.size(); ++i) tensor_index.emplace(graph.tensors[i].uid, i);
  std::set<size_t> used;
  auto use = [&](Uid uid) {
    const auto found = tensor_index.find(uid);
    if (found == tensor_index.end()) return;
    used.insert(found->second);
    if (const auto offset = graph.tensors[found->second].ragged_offset)
      if (const auto other = tensor_index.find(*offset); other != tensor_index.end()) used.insert(other->second);
  };
  for (const auto* list : {&graph.operations, &graph.score_operations})
    for (const auto& operation : *list)
      for (const auto& port : ports(operation)) use(port.uid);

  std::vector<GraphNode> nodes;
  for (const size_t i : used) {
    node_of[graph.tensors[i].uid] = nodes.size();
    nodes.push_back({false, i, "tensor", false, attributes_of(graph.tensors[i]), {}});
  }
  auto connect = [&](size_t from, Uid uid, const std::string& label) {
    const auto to = node_of.find(uid);
    if (to == node_of.end()) return;
    nodes[from].edges.push_back({label, to->second});
    nodes[to->second].edges.push_back({"as " + label, from});
  };
  for (size_t i = 0; i < used.size(); ++i)
    if (const auto offset = graph.tensors[nodes[i].index].ragged_offset) connect(i, *offset, "ragged offset");
  auto add = [&](const std::vector<Operation>& list, bool in_scores) {
    for (size_t i = 0; i < list.size(); ++i) {
      const size_t index = in_scores ? graph.operations.size() + i : i;
      nodes.push_back({true, index, operation_name(list[i]), in_scores, attributes_of(list[i]), {}});
      if (graph.dynamic_shapes) nodes.back().attributes.emplace_back("shapes", "dynamic");
      if (graph.override_shapes) nodes.back().attributes.emplace_back("shapes", "override");
      for (const auto& port : ports(list[i])) connect(nodes.size() - 1, port.uid, port.name);
    }
  };
  add(graph.operations, false);
  add(graph.score_operations, true);
  return nodes;
}

GraphColours::GraphColours(const std::vector<GraphNode>& a, const std::vector<GraphNode>& b) {
  std::map<std::string, uint64_t> colours, labels;
  auto number = [](std::map<std::string, uint64_t>& names, const std::string& name) {
    return names.emplace(name, names.size()).first->second;
  };
  for (const auto* nodes : {&a, &b}) {
    const size_t first = edges_.size();
    for (const auto& node : *nodes) {
      std::string key = node.word + (node.in_scores ? " in scores" : "");
      for (const auto& [name, value] : node.attributes) key += fmt::format(";{}={}", name, value);
      initial_.push_back(number(colours, key));
      auto& edges = edges_.emplace_back();
      for (const auto& edge : node.edges) edges.push_back({number(labels, edge.label), first + edge.to});
    }
  }
}

bool GraphColours::refine(Colours& colours) const {
  // Compares whole signatures, so that a hash collision cannot merge two of them.
  std::map<std::vector<uint64_t>, uint64_t> numbers;
  std::set<uint64_t> before(colours.begin(), colours.end());
  Colours next;
  next.reserve(colours.size());
  std::vector<std::pair<uint64_t, uint64_t>> around;
  for (size_t i = 0; i < colours.size(); ++i) {
    around.clear();
    for (const auto& edge : edges_[i]) around.emplace_back(edge.label, colours[edge.to]);
    std::sort(around.begin(), around.end());
    std::vector<uint64_t> signature{colours[i]};
    for (const auto& [label, colour] : around) signature.insert(signature.end(), {label, colour});
    next.push_back(numbers.emplace(std::move(signature), numbers.size()).first->second);
  }
  colours = std::move(next);
  return numbers.size() > before.size();
}

}  // namespace attnprobe::graph
