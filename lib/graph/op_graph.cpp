#include "graph/op_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::graph {

const Tensor& tensor(const OpGraph& graph, Uid uid) {
  for (const auto& candidate : graph.tensors)
    if (candidate.uid == uid) return candidate;
  throw Error(ErrorKind::internal, fmt::format("the operation graph has no tensor with uid {}", uid));
}

std::string operation_name(const Operation& operation) {
  auto lower = [](std::string_view upper) {
    std::string text(upper);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  };
  if (const auto* pointwise = std::get_if<Pointwise>(&operation)) return lower(name_of(pointwise->mode));
  if (const auto* reduction = std::get_if<Reduction>(&operation)) return "reduce_" + lower(name_of(reduction->op));
  return std::visit([](const auto& op) { return std::string(kind_name<std::decay_t<decltype(op)>>); }, operation);
}

std::vector<Port> ports(const Operation& operation) {
  std::vector<Port> inputs, outputs;
  auto collect = [&](const char* name, const auto& uid, PortDirection direction) {
    const std::optional<Uid> value = uid;
    if (!value) return;
    auto& list = direction == PortDirection::output ? outputs : inputs;
    list.push_back({name, *value, direction == PortDirection::output});
  };
  std::visit([&](const auto& op) { for_each_port(op, collect); }, operation);
  inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  return inputs;
}

}  // namespace attnprobe::graph
