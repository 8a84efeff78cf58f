// cuDNN's indented log lines as a tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnprobe::log {

/// One line "key: type=…; val=…;" and the lines indented below it.
struct LogNode {
  std::string key;    ///< "aDesc"; may be empty (ports of PAGED_CACHE_LOAD)
  std::string type;   ///< "cudnnDataType_t", "CUDNN_BACKEND_TENSOR_DESCRIPTOR"
  std::string value;  ///< "CUDNN_DATA_HALF (2)"; "" if the value is in the lines below
  size_t line = 0;    ///< from 1
  std::vector<LogNode> children;

  /// Finds a child by key, by path "rngDesc/distribution", or by position: "#2" is the third child without a key.
  /// nullptr if there is none.
  const LogNode* find(std::string_view path) const;
};

struct LogTree {
  LogNode root;      ///< root of the outermost lines
  bool cut = false;  ///< the end is missing: cuDNN writes at most 64 KB per message
};

/// Stops at the trailer ("Time: …", "Process=…"). Skips lines of other forms.
LogTree parse_log_tree(const std::vector<std::string>& lines);

/// "OPERATION_MATMUL" for "CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR"; "" if the type is not a descriptor.
std::string descriptor_kind(std::string_view type);

/// The text below a node, without indentation and line numbers: equal for equal content.
std::string log_signature(const LogNode& node);

}  // namespace attnprobe::log
