#include "frameworks/calls/python_syntax.hpp"

extern "C" const TSLanguage* tree_sitter_python();

namespace attnprobe::frameworks {

PythonNode PythonNode::field(std::string_view name) const {
  if (!*this) return {};
  return {ts_node_child_by_field_name(node_, name.data(), static_cast<uint32_t>(name.size())), source_};
}

std::vector<PythonNode> PythonNode::children() const {
  std::vector<PythonNode> nodes;
  if (!*this) return nodes;
  TSTreeCursor cursor = ts_tree_cursor_new(node_);  // ts_node_child(i) counts from the first child
  for (bool more = ts_tree_cursor_goto_first_child(&cursor); more; more = ts_tree_cursor_goto_next_sibling(&cursor)) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const bool is_blank = ts_node_is_extra(node) && !ts_node_is_error(node);  // comments, continued lines
    if (ts_node_is_named(node) && !is_blank) nodes.emplace_back(node, source_);
  }
  ts_tree_cursor_delete(&cursor);
  return nodes;
}

PythonNode PythonNode::child(size_t index) const {
  const auto all = children();
  return index < all.size() ? all[index] : PythonNode();
}

PythonTree::PythonTree(std::string_view source) : source_(source), tree_(nullptr, ts_tree_delete) {
  const std::unique_ptr<TSParser, void (*)(TSParser*)> parser(ts_parser_new(), ts_parser_delete);
  ts_parser_set_language(parser.get(), tree_sitter_python());
  tree_.reset(ts_parser_parse_string(parser.get(), nullptr, source.data(), static_cast<uint32_t>(source.size())));
}

size_t PythonTree::first_error() const {
  TSNode node = ts_tree_root_node(tree_.get());
  if (!ts_node_has_error(node)) return std::string_view::npos;
  TSTreeCursor cursor = ts_tree_cursor_new(node);
  size_t depth = 0;
  while (!ts_node_is_missing(node) && !ts_node_is_error(node) && ts_tree_cursor_goto_first_child(&cursor)) {
    ++depth;
    while (!ts_node_has_error(node = ts_tree_cursor_current_node(&cursor)) &&
           ts_tree_cursor_goto_next_sibling(&cursor)) {
    }
  }
  ts_tree_cursor_delete(&cursor);
  // At the outermost level, the text after this node is the error.
  return depth < 2 ? ts_node_end_byte(node) : ts_node_start_byte(node);
}

}  // namespace attnprobe::frameworks
