#include "importers/cudnn_log/log_values.hpp"

#include "graph/cudnn_names.hpp"

namespace attnprobe::importers {

void fail_logged(const log::LogNode& node, const std::string& allowed) {
  throw Error(ErrorKind::usage, fmt::format("cuDNN log: line {} of the message: {} is \"{}\"; expected {}", node.line,
                                            node.key, node.value, allowed));
}

DataType logged_type(const log::LogNode& node) {
  if (const auto type = graph::parse_cudnn<DataType>(std::string_view(node.value).substr(0, node.value.find(' '))))
    return *type;
  fail_logged(node, "one of " + quoted_list(graph::cudnn_names_of<DataType>()));
}

int64_t logged_integer(const log::LogNode& node) {
  if (const auto value = logged_number<int64_t>(node.value)) return *value;
  fail_logged(node, "an integer");
}

bool logged_bool(const log::LogNode& node) {
  if (node.value == "true") return true;
  if (node.value != "false") fail_logged(node, "true or false");
  return false;
}

std::vector<int64_t> logged_integers(const log::LogNode& node) {
  const std::string_view text = node.value;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') fail_logged(node, "a list as [1,2]");
  std::vector<int64_t> values;
  if (text.size() == 2) return values;
  for (const std::string& part : split(text.substr(1, text.size() - 2), ',')) {
    const auto value = logged_number<int64_t>(trim(part));
    if (!value) fail_logged(node, "a list of integers");
    values.push_back(*value);
  }
  return values;
}

}  // namespace attnprobe::importers
