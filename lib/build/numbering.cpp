#include "build/numbering.hpp"

#include <algorithm>
#include <map>

#include "graph/operation_table.hpp"

namespace attnprobe::build {

void number_given_first(graph::OpGraph& graph) {
  std::stable_partition(graph.tensors.begin(), graph.tensors.end(),
                        [](const graph::Tensor& t) { return !t.is_virtual && !t.by_value; });
  std::map<graph::Uid, graph::Uid> uids;
  for (graph::Tensor& t : graph.tensors) {
    const graph::Uid uid = static_cast<graph::Uid>(uids.size()) + 1;
    uids.emplace(t.uid, uid);
    t.uid = uid;
  }
  for (graph::Tensor& t : graph.tensors)
    if (t.ragged_offset) t.ragged_offset = uids.at(*t.ragged_offset);
  const auto renumber = [&](const auto&, auto& uid, auto) {
    if constexpr (std::is_same_v<std::decay_t<decltype(uid)>, graph::Uid>)
      uid = uids.at(uid);
    else if (uid)
      uid = uids.at(*uid);
  };
  for (auto* operations : {&graph.operations, &graph.score_operations})
    for (graph::Operation& operation : *operations)
      std::visit([&](auto& op) { graph::for_each_port(op, renumber); }, operation);
}

}  // namespace attnprobe::build
