#include <algorithm>

#include "importers/cudnn_log/log_import.hpp"

namespace attnprobe::importers {
namespace {

// The kind of a message's descriptor. Reads only the first line, because the body may be long.
std::string kind_in_message(const LogCall& call) {
  std::vector<std::string> first;
  if (!call.lines.empty()) first.push_back(call.lines.front());
  if (first.empty()) return "";
  const log::LogTree tree = log::parse_log_tree(first);
  if (tree.root.children.empty()) return "";
  const log::LogNode& node = tree.root.children.front();
  if (node.key == "descriptorType")  // name of cudnnBackendCreateDescriptor
    return log::descriptor_kind(std::string_view(node.value).substr(0, node.value.find(' ')));
  return node.key == "descriptor" ? log::descriptor_kind(node.type) : "";
}

}  // namespace

struct LogGraphReader::State {
  std::map<std::string, LoggedDescriptors> threads;
  std::string last_graph_thread;  // the thread that last set an operation graph's operations
};

LogGraphReader::LogGraphReader() : state_(std::make_unique<State>()) {}
LogGraphReader::LogGraphReader(LogGraphReader&&) noexcept = default;
LogGraphReader& LogGraphReader::operator=(LogGraphReader&&) noexcept = default;
LogGraphReader::~LogGraphReader() = default;

std::optional<ImportedGraph> LogGraphReader::read(const LogCall& call) {
  const bool creates = call.function == "cudnnBackendCreateDescriptor";
  const bool sets = call.function == "cudnnBackendSetAttribute";
  const bool finalizes = call.function == "cudnnBackendFinalize";
  const bool destroys = call.function == "cudnnBackendDestroyDescriptor";
  if (!creates && !sets && !finalizes && !destroys) return std::nullopt;
  const std::string kind = kind_in_message(call);
  const bool is_graph = kind == graph_kind;
  if (!is_graph && !is_graph_part(kind)) return std::nullopt;
  if (destroys && kind != "TENSOR") return std::nullopt;
  // A truncated message has no trailer with its thread; only messages of graphs are that long.
  LoggedDescriptors& thread = state_->threads[call.thread.empty() ? state_->last_graph_thread : call.thread];
  if (creates) {
    thread.create(kind);
    return std::nullopt;
  }
  const log::LogTree message = log::parse_log_tree(call.lines);
  if (sets) {
    thread.set(message);
    if (is_graph && !call.thread.empty()) state_->last_graph_thread = call.thread;
    return std::nullopt;
  }
  if (destroys) {
    thread.destroy(message);
    return std::nullopt;
  }
  if (!is_graph) {
    thread.finalize(message);
    return std::nullopt;
  }
  try {
    ImportedGraph graph = import_logged_graph(message, &thread);
    thread.next_graph();
    return graph;
  } catch (...) {  // later calls belong to another graph
    thread.next_graph();
    throw;
  }
}

ImportedGraph import_log_tree(const std::vector<std::string>& lines) {
  return import_logged_graph(log::parse_log_tree(lines), nullptr);
}

bool is_score_graph(const graph::OpGraph& graph) {
  std::set<graph::Uid> written, read;
  for (const graph::Operation& operation : graph.operations) {
    if (std::holds_alternative<graph::SdpaForward>(operation) || std::holds_alternative<graph::SdpaBackward>(operation))
      return false;  // reads the scores that its sub-graph writes
    for (const graph::Port& port : ports(operation)) (port.is_output ? written : read).insert(port.uid);
  }
  return std::any_of(read.begin(), read.end(),
                     [&](graph::Uid uid) { return written.count(uid) == 0 && tensor(graph, uid).is_virtual; });
}

}  // namespace attnprobe::importers
