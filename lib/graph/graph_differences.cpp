// Pairs corresponding nodes of two different graphs as well as possible, and lists the differences of the pairs.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/graph_nodes.hpp"
#include "graph/same_graph.hpp"

namespace attnprobe::graph {
namespace {

class GraphPairing {
 public:
  GraphPairing(const std::vector<GraphNode>& a, const std::vector<GraphNode>& b)
      : a_(a), b_(b), partner_(a.size()), taken_(b.size(), false) {
    const GraphColours refinement(a, b);
    std::vector<GraphColours::Colours> rounds{refinement.initial()};
    for (auto next = rounds.back(); refinement.refine(next);) rounds.push_back(next);
    // Pairs nodes with the widest equal neighbourhoods first.
    for (size_t i = rounds.size(); i-- > 1;) pair_alike(rounds[i], true);
    pair_neighbours();
    pair_alike(rounds.front(), false);
    pair_neighbours();
  }

  const std::vector<std::optional<size_t>>& partners() const { return partner_; }
  bool taken(size_t in_b) const { return taken_[in_b]; }

 private:
  void pair(size_t in_a, size_t in_b) {
    partner_[in_a] = in_b;
    taken_[in_b] = true;
  }

  size_t common_neighbours(size_t in_a, size_t in_b) const {
    size_t count = 0;
    for (const auto& edge : a_[in_a].edges)
      for (const auto& other : b_[in_b].edges)
        if (edge.label == other.label && partner_[edge.to] == other.to) ++count;
    return count;
  }

  void pair_alike(const GraphColours::Colours& colours, bool only_equal_counts) {
    std::map<uint64_t, std::pair<std::vector<size_t>, std::vector<size_t>>> classes;
    for (size_t i = 0; i < a_.size(); ++i)
      if (!partner_[i]) classes[colours[i]].first.push_back(i);
    for (size_t i = 0; i < b_.size(); ++i)
      if (!taken_[i]) classes[colours[a_.size() + i]].second.push_back(i);
    for (auto& [colour, members] : classes) {
      auto& [of_a, of_b] = members;
      if (only_equal_counts && of_a.size() != of_b.size()) continue;
      for (const size_t i : of_a) {
        if (of_b.empty()) break;
        const auto best = std::max_element(of_b.begin(), of_b.end(), [&](size_t x, size_t y) {
          return common_neighbours(i, x) < common_neighbours(i, y);
        });
        pair(i, *best);
        of_b.erase(best);
      }
    }
  }

  // Unpaired nodes at the same port of a pair correspond, even if they differ.
  void pair_neighbours() {
    for (bool again = true; again;) {
      again = false;
      for (size_t i = 0; i < a_.size(); ++i) {
        if (!partner_[i]) continue;
        const GraphNode& other = b_[*partner_[i]];
        for (const auto& edge : a_[i].edges) {
          if (partner_[edge.to] || unpaired_behind(a_[i], edge.label, a_) != 1 ||
              unpaired_behind(other, edge.label, b_) != 1)
            continue;
          for (const auto& candidate : other.edges)
            if (candidate.label == edge.label && !taken_[candidate.to] && !partner_[edge.to]) {
              pair(edge.to, candidate.to);
              again = true;
            }
        }
      }
    }
  }

  size_t unpaired_behind(const GraphNode& node, const std::string& label, const std::vector<GraphNode>& nodes) const {
    return static_cast<size_t>(std::count_if(node.edges.begin(), node.edges.end(), [&](const auto& edge) {
      return edge.label == label && (&nodes == &a_ ? !partner_[edge.to].has_value() : !taken_[edge.to]);
    }));
  }

  const std::vector<GraphNode>& a_;
  const std::vector<GraphNode>& b_;
  std::vector<std::optional<size_t>> partner_;
  std::vector<bool> taken_;
};

class GraphDifferences {
 public:
  GraphDifferences(const OpGraph& a, const OpGraph& b)
      : a_(a), b_(b), nodes_a_(graph_nodes(a)), nodes_b_(graph_nodes(b)), pairing_(nodes_a_, nodes_b_) {}

  std::vector<std::string> lines() {
    const auto& partners = pairing_.partners();
    for (size_t i = 0; i < partners.size(); ++i)
      if (partners[i]) compare_attributes(i, *partners[i]);
    for (size_t i = 0; i < partners.size(); ++i)
      if (!partners[i]) lines_.push_back(name(i) + " is one too many");
    for (size_t i = 0; i < nodes_b_.size(); ++i)
      if (!pairing_.taken(i)) lines_.push_back(name_in_b(i) + " is missing");
    for (size_t i = 0; i < partners.size(); ++i)
      if (partners[i] && nodes_a_[i].is_operation) compare_ports(i, *partners[i]);
    return lines_;
  }

 private:
  std::string name(size_t i) const {
    const GraphNode& node = nodes_a_[i];
    if (node.is_operation) return fmt::format("operation {} ({})", node.index, node.word);
    std::string text = fmt::format("tensor {}", a_.tensors[node.index].uid);
    const auto& partner = pairing_.partners()[i];
    const std::string known = partner && !nodes_b_[*partner].is_operation ? b_.tensors[nodes_b_[*partner].index].name
                                                                          : a_.tensors[node.index].name;
    return known.empty() ? text : fmt::format("{} ({})", text, known);
  }

  std::string name_in_b(size_t i) const {
    const GraphNode& node = nodes_b_[i];
    if (node.is_operation) return "operation " + node.word;
    const std::string& known = b_.tensors[node.index].name;
    return known.empty() ? "a tensor" : "tensor " + known;
  }

  void compare_attributes(size_t i, size_t j) {
    const GraphNode &x = nodes_a_[i], &y = nodes_b_[j];
    if (x.word != y.word || x.in_scores != y.in_scores) {
      lines_.push_back(fmt::format("operation {}: {} instead of {}", x.index, x.word, y.word));
      return;
    }
    // Most attributes are always listed, some only if they are set.
    const auto value = [](const GraphNode& node, const std::string& of) -> const std::string* {
      for (const auto& [attribute, text] : node.attributes)
        if (attribute == of) return &text;
      return nullptr;
    };
    for (const auto& [attribute, text] : x.attributes) {
      const std::string* other = value(y, attribute);
      if (other == nullptr || *other != text)
        lines_.push_back(fmt::format("{}: {} {} instead of {}", name(i), attribute, text, other ? *other : "unset"));
    }
    for (const auto& [attribute, text] : y.attributes)
      if (value(x, attribute) == nullptr)
        lines_.push_back(fmt::format("{}: {} unset instead of {}", name(i), attribute, text));
  }

  void compare_ports(size_t i, size_t j) {
    auto tensor_at = [](const GraphNode& node, const std::string& label) -> std::optional<size_t> {
      for (const auto& edge : node.edges)
        if (edge.label == label) return edge.to;
      return std::nullopt;
    };
    for (const auto& edge : nodes_a_[i].edges) {
      const auto there = tensor_at(nodes_b_[j], edge.label);
      if (there && pairing_.partners()[edge.to] != there)
        lines_.push_back(
            fmt::format("{}: its {} is {}, not {}", name(i), edge.label, name(edge.to), name_in_b(*there)));
      if (!there) lines_.push_back(fmt::format("{}: it has {}", name(i), edge.label));
    }
    for (const auto& edge : nodes_b_[j].edges)
      if (!tensor_at(nodes_a_[i], edge.label)) lines_.push_back(fmt::format("{}: it has no {}", name(i), edge.label));
  }

  const OpGraph& a_;
  const OpGraph& b_;
  std::vector<GraphNode> nodes_a_, nodes_b_;
  GraphPairing pairing_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> differences(const OpGraph& a, const OpGraph& b) {
  if (same_graph(a, b)) return {};
  auto lines = GraphDifferences(a, b).lines();
  // If only the wiring differs, every pair may be equal.
  if (lines.empty()) lines.emplace_back("the same operations and tensors, connected differently");
  return lines;
}

}  // namespace attnprobe::graph
