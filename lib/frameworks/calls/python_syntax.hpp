// The syntax tree of Python source, from tree-sitter. Internal to lib/frameworks/calls.
#pragma once

#include <tree_sitter/api.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace attnprobe::frameworks {

/// The limit on the nesting of expressions and statements.
constexpr size_t deepest_python = 100;

/// A node of a PythonTree. Its type is a word of tree-sitter's grammar ("call", "identifier", …). Valid as long as the
/// tree and its text. A missing part is a node without type, text and parts.
class PythonNode {
 public:
  PythonNode() = default;
  PythonNode(TSNode node, std::string_view source) : node_(node), source_(source) {}

  explicit operator bool() const { return node_.id != nullptr; }
  std::string_view type() const { return *this ? ts_node_type(node_) : ""; }
  size_t begin() const { return *this ? ts_node_start_byte(node_) : 0; }
  size_t end() const { return *this ? ts_node_end_byte(node_) : 0; }
  int64_t line() const { return *this ? ts_node_start_point(node_).row + 1 : 0; }
  int64_t last_line() const { return *this ? ts_node_end_point(node_).row + 1 : 0; }
  bool is_statement() const { return type().ends_with("_statement") || type().ends_with("_definition"); }
  bool has_error() const { return *this && ts_node_has_error(node_); }
  std::string_view source() const { return source_; }
  std::string_view text() const { return source_.substr(begin(), end() - begin()); }

  /// The part with that name in the grammar.
  PythonNode field(std::string_view name) const;
  /// Its parts, without punctuation and comments.
  std::vector<PythonNode> children() const;
  PythonNode child(size_t index) const;

 private:
  TSNode node_{};
  std::string_view source_;
};

/// Never fails: text that is not Python becomes nodes of the type "ERROR".
class PythonTree {
 public:
  explicit PythonTree(std::string_view source);

  PythonNode root() const { return {ts_tree_root_node(tree_.get()), source_}; }
  /// Where the text first stops being Python; npos if all of it is.
  size_t first_error() const;

 private:
  std::string_view source_;
  std::unique_ptr<TSTree, void (*)(TSTree*)> tree_;
};

}  // namespace attnprobe::frameworks
