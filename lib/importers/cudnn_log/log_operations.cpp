#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "importers/cudnn_log/log_import.hpp"

namespace attnprobe::importers {
namespace {

// Whether every kind occurs in `all` at least as often as in `some`.
bool includes(std::vector<std::string> all, std::vector<std::string> some) {
  std::sort(all.begin(), all.end());
  std::sort(some.begin(), some.end());
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

}  // namespace

std::vector<LoggedOperation> LoggedOperations::of_graph(const log::LogNode& graph, bool cut) {
  return find(graph, "operation", cut, true);
}

std::vector<LoggedOperation> LoggedOperations::of_score_graph(const log::LogNode& graph) {
  return find(graph, "score operation", false, false);
}

std::vector<LoggedOperation> LoggedOperations::find(const log::LogNode& graph, const std::string& what, bool is_cut,
                                                    bool is_outer) {
  std::map<std::string, std::deque<const log::LogNode*>> trees;  // sorted by kind: up to 9.16 the message has this
                                                                 // order
  std::vector<std::string> kinds;
  bool grouped = false;
  for (const log::LogNode& child : graph.children)
    if (const std::string kind = log::descriptor_kind(child.type); kind.rfind("OPERATION_", 0) == 0) {
      trees[kind].push_back(&child);
      kinds.push_back(kind);
      grouped = grouped || child.key != "operation";
    }
  const size_t shown = kinds.size();
  const bool cut = is_cut && shown != 0;
  if (cut) trees[kinds.back()].pop_back();
  const bool ordered = is_outer && known_ != nullptr && includes(known_->graph_operations(), kinds);
  if (ordered) kinds = known_->graph_operations();
  std::vector<LoggedOperation> list;
  for (size_t i = 0; i < kinds.size(); ++i) {
    LoggedOperation operation{kinds[i], "", nullptr, nullptr};
    std::optional<std::string> signature;
    if (auto& left = trees[kinds[i]]; !left.empty()) {
      operation.tree = left.front();
      signature = log_signature(*left.front());
      left.pop_front();
    }
    if (known_ != nullptr) operation.record = record(kinds[i], signature, ordered, i);
    if (operation.record != nullptr) operation.tree = &operation.record->tree;
    if (operation.tree == nullptr) continue;
    const log::LogNode* mode = operation.tree->find("pwDesc/mode");
    operation.label = fmt::format("{} {} ({})", what, i, mode != nullptr ? mode->value : kinds[i]);
    list.push_back(std::move(operation));
  }
  if (list.size() < kinds.size() || (cut && !ordered))
    result_.missing.push_back(fmt::format("operations: cuDNN truncated its message after {}", shown - 1));
  else if (cut)
    result_.inferred.push_back(fmt::format(
        "{} of {} {}s: cuDNN truncated the graph's message, so these are the ones finalized before it, in this order",
        kinds.size() - shown + 1, kinds.size(), what));
  if (grouped && !ordered) sort(list);
  return list;
}

// The calls that created the operation. Some operations look equal in the tree (LOGICAL_AND shows no port), so the
// position in the graph decides first.
LoggedDescriptorPointer LoggedOperations::record(const std::string& kind, const std::optional<std::string>& signature,
                                                 bool ordered, size_t place) {
  const auto& last = known_->last_operations();
  if (ordered && place < last.size() && (!signature || last[place]->signature == *signature))
    if (used_.insert(last[place].get()).second) return last[place];
  return known_->operation(kind, signature, used_);
}

// Sorts so that each operation follows those whose results it reads.
void LoggedOperations::sort(std::vector<LoggedOperation>& list) {
  std::vector<std::set<graph::Uid>> reads(list.size()), writes(list.size());
  std::set<graph::Uid> to_come;
  for (size_t i = 0; i < list.size(); ++i)
    for (const LoggedPort& port : logged_ports())
      if (const auto uid = list[i].kind == port.kind ? logged_uid(list[i].tree->find(port.path)) : std::nullopt)
        (port.is_output ? writes : reads)[i].insert(*uid);
  for (const auto& uids : writes) to_come.insert(uids.begin(), uids.end());
  std::vector<LoggedOperation> sorted;
  std::vector<bool> done(list.size(), false);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < list.size() && !moved; ++i) {
      const auto is_to_come = [&](graph::Uid uid) { return to_come.count(uid) != 0; };
      if (done[i] || std::any_of(reads[i].begin(), reads[i].end(), is_to_come)) continue;
      for (const graph::Uid uid : writes[i]) to_come.erase(uid);
      sorted.push_back(list[i]);
      done[i] = moved = true;
    }
  }
  if (sorted.size() != list.size()) return;  // the graph has a cycle; cuDNN will report it
  list = std::move(sorted);
  result_.inferred.emplace_back(
      "the order of the operations: the message groups them by kind, so each follows the operations that it reads from");
}

}  // namespace attnprobe::importers
