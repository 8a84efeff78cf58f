// Graph isomorphism by colour refinement (the one-dimensional Weisfeiler-Leman method). Individualisation breaks ties,
// and the result is checked exactly.
#include "graph/same_graph.hpp"

#include <algorithm>
#include <set>

#include "graph/graph_nodes.hpp"

namespace attnprobe::graph {
namespace {

class GraphMatcher {
 public:
  GraphMatcher(const std::vector<GraphNode>& a, const std::vector<GraphNode>& b) : a_(a), b_(b), refinement_(a, b) {}

  // The counterpart in b for each node of a.
  std::optional<std::vector<size_t>> match() {
    if (a_.size() != b_.size()) return std::nullopt;
    return match(refinement_.initial());
  }

 private:
  using Colours = GraphColours::Colours;
  struct Members {
    std::vector<size_t> a, b;
  };

  std::map<uint64_t, Members> classes(const Colours& colours) const {
    std::map<uint64_t, Members> found;
    for (size_t i = 0; i < colours.size(); ++i) {
      auto& members = found[colours[i]];
      if (i < a_.size())
        members.a.push_back(i);
      else
        members.b.push_back(i - a_.size());
    }
    return found;
  }

  static bool balanced(const std::map<uint64_t, Members>& found) {
    return std::all_of(found.begin(), found.end(),
                       [](const auto& entry) { return entry.second.a.size() == entry.second.b.size(); });
  }

  std::optional<std::vector<size_t>> match(Colours colours) {
    constexpr int most_trials = 10000;
    if (++trials_ > most_trials) return std::nullopt;
    auto found = classes(colours);
    while (balanced(found) && refinement_.refine(colours)) found = classes(colours);
    if (!balanced(found)) return std::nullopt;
    const Members* tie = nullptr;
    for (const auto& [colour, members] : found)
      if (members.a.size() > 1 && (tie == nullptr || members.a.size() < tie->a.size())) tie = &members;
    if (tie == nullptr) return verified(found);
    const uint64_t fresh = found.rbegin()->first + 1;
    for (const size_t candidate : tie->b) {
      Colours tried = colours;
      tried[tie->a.front()] = tried[a_.size() + candidate] = fresh;
      if (auto mapping = match(std::move(tried))) return mapping;
    }
    return std::nullopt;
  }

  std::optional<std::vector<size_t>> verified(const std::map<uint64_t, Members>& found) const {
    std::vector<size_t> mapping(a_.size());
    for (const auto& [colour, members] : found) mapping[members.a.front()] = members.b.front();
    for (size_t i = 0; i < a_.size(); ++i)
      if (!counterparts(a_[i], b_[mapping[i]], mapping)) return std::nullopt;
    return mapping;
  }

  static bool counterparts(const GraphNode& a, const GraphNode& b, const std::vector<size_t>& mapping) {
    if (a.is_operation != b.is_operation || a.word != b.word || a.in_scores != b.in_scores ||
        a.attributes != b.attributes || a.edges.size() != b.edges.size())
      return false;
    auto sorted = [](std::vector<GraphEdge> edges) {
      std::sort(edges.begin(), edges.end(), [](const GraphEdge& x, const GraphEdge& y) {
        return std::tie(x.label, x.to) < std::tie(y.label, y.to);
      });
      return edges;
    };
    std::vector<GraphEdge> mapped = a.edges;
    for (auto& edge : mapped) edge.to = mapping[edge.to];
    return sorted(std::move(mapped)) == sorted(b.edges);
  }

  const std::vector<GraphNode>& a_;
  const std::vector<GraphNode>& b_;
  GraphColours refinement_;
  int trials_ = 0;
};

}  // namespace

std::optional<std::map<Uid, Uid>> same_graph(const OpGraph& a, const OpGraph& b) {
  const auto nodes_a = graph_nodes(a), nodes_b = graph_nodes(b);
  const auto mapping = GraphMatcher(nodes_a, nodes_b).match();
  if (!mapping) return std::nullopt;
  std::map<Uid, Uid> uids;
  for (size_t i = 0; i < mapping->size(); ++i)
    if (!nodes_a[i].is_operation) uids[a.tensors[nodes_a[i].index].uid] = b.tensors[nodes_b[(*mapping)[i]].index].uid;
  return uids;
}

}  // namespace attnprobe::graph
