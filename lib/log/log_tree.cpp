#include "log/log_tree.hpp"

#include <charconv>

#include "base/text.hpp"

namespace attnprobe::log {
namespace {

// Deeper lines count as siblings, so that a damaged file cannot nest without limit (9.28 needs 6 levels).
constexpr size_t deepest = 32;

// A truncated message has 65472 bytes (9.0 to 9.28) and no trailer.
constexpr size_t longest_message = 65400;

bool is_trailer(std::string_view line) {
  return line.rfind("Time: ", 0) == 0 || line.rfind("Process=", 0) == 0;
}

// "key: type=T; val=V;" or "key: type=T:"; false for any other form.
bool parse_line(std::string_view text, LogNode& node) {
  const size_t colon = text.find(": type=");
  const size_t bare = text.rfind(": type=", 0) == 0 ? 0 : colon;
  if (bare == std::string_view::npos) return false;
  node.key = text.substr(0, bare);
  std::string_view rest = text.substr(bare + std::string_view(": type=").size());
  if (rest.empty() || (rest.back() != ';' && rest.back() != ':')) return false;
  rest.remove_suffix(1);
  const size_t end = rest.find("; ");
  node.type = rest.substr(0, end);
  if (end == std::string_view::npos) return true;
  rest = rest.substr(end + 2);
  node.value = rest.rfind("val=", 0) == 0 ? rest.substr(4) : rest;
  return true;
}

}  // namespace

const LogNode* LogNode::find(std::string_view path) const {
  const LogNode* node = this;
  for (const std::string& part : split(path, '/')) {
    size_t skip = 0;
    const bool by_place = !part.empty() && part.front() == '#';
    if (by_place) std::from_chars(part.data() + 1, part.data() + part.size(), skip);
    const LogNode* found = nullptr;
    for (const LogNode& child : node->children) {
      if (child.key != (by_place ? "" : part) || (by_place && skip-- != 0)) continue;
      found = &child;
      break;
    }
    if (found == nullptr) return nullptr;
    node = found;
  }
  return node;
}

LogTree parse_log_tree(const std::vector<std::string>& lines) {
  LogTree tree;
  // The ancestors of the next line. Each is its parent's last child, so the pointers stay valid.
  std::vector<std::pair<size_t, LogNode*>> open;
  size_t bytes = 0;
  bool ended = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    bytes += line.size() + 1;
    if (is_trailer(line)) {
      tree.cut = false;
      ended = true;
      break;
    }
    const std::string_view text = trim(line);
    if (text.empty()) continue;
    LogNode node;
    node.line = i + 1;
    const bool understood = parse_line(text, node);
    tree.cut = text.back() != ';' && !understood;
    if (!understood) continue;
    const size_t indentation = line.find_first_not_of(' ');
    while (!open.empty() && (open.back().first >= indentation || open.size() >= deepest)) open.pop_back();
    auto& list = (open.empty() ? tree.root : *open.back().second).children;
    list.push_back(std::move(node));
    open.emplace_back(indentation, &list.back());
  }
  tree.cut = tree.cut || (!ended && bytes >= longest_message);
  return tree;
}

std::string descriptor_kind(std::string_view type) {
  constexpr std::string_view prefix = "CUDNN_BACKEND_", suffix = "_DESCRIPTOR";
  if (type.size() <= prefix.size() + suffix.size() || type.substr(0, prefix.size()) != prefix ||
      type.substr(type.size() - suffix.size()) != suffix)
    return "";
  return std::string(type.substr(prefix.size(), type.size() - prefix.size() - suffix.size()));
}

std::string log_signature(const LogNode& node) {
  std::string text;
  for (const LogNode& child : node.children)
    text += child.key + ':' + child.type + '=' + child.value + '{' + log_signature(child) + '}';
  return text;
}

}  // namespace attnprobe::log
