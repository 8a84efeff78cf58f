// The hash of a graph. Colour refinement (the one-dimensional Weisfeiler-Leman method) makes it independent of
// numbering and order. cuDNN's own JSON lists operations in a different order from the program (9.2 to 9.28).
#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "graph/graph_nodes.hpp"

namespace attnprobe::graph {
namespace {

// Produces the same bytes on every machine.
std::string digest(std::string_view text) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(text.data(), text.size()));
  return {reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest};
}

std::string attributes_digest(const GraphNode& node) {
  std::string text = node.word + (node.in_scores ? " in scores" : "");
  for (const auto& [name, value] : node.attributes) text += fmt::format(";{}={}", name, value);
  return digest(text);
}

std::string with_neighbours(const GraphNode& node, const std::string& own, const std::vector<std::string>& colours) {
  std::vector<std::string> around;
  around.reserve(node.edges.size());
  for (const auto& edge : node.edges) around.push_back(edge.label + "=" + colours[edge.to]);
  std::sort(around.begin(), around.end());
  std::string text = own;
  for (const auto& neighbour : around) text += neighbour;
  return digest(text);
}

size_t distinct(const std::vector<std::string>& colours) {
  return std::set<std::string_view>(colours.begin(), colours.end()).size();
}

}  // namespace

std::string hash(const OpGraph& graph) {
  const auto nodes = graph_nodes(graph);
  std::vector<std::string> colours;
  colours.reserve(nodes.size());
  for (const auto& node : nodes) colours.push_back(attributes_digest(node));
  for (size_t before = 0, now = distinct(colours); now != before;) {
    std::vector<std::string> next;
    next.reserve(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) next.push_back(with_neighbours(nodes[i], colours[i], colours));
    colours = std::move(next);
    before = std::exchange(now, distinct(colours));
  }
  std::sort(colours.begin(), colours.end());
  std::string text;
  for (const auto& colour : colours) text += colour;
  std::string hex;
  for (const char byte : digest(text)) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

}  // namespace attnprobe::graph
