#include "importers/cudnn_log/log_descriptors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attnprobe::importers {
namespace {

// Number of graphs whose descriptors are kept, for operations that belong to several graphs.
constexpr size_t remembered_graphs = 4;

constexpr std::string_view operation_prefix = "OPERATION_";

bool is_operation(const std::string& kind) {
  return kind.rfind(operation_prefix, 0) == 0;
}

std::string value_word(const log::LogNode* node) {
  return node == nullptr ? "" : node->value.substr(0, node->value.find(' '));
}

bool is_logged_math(const std::string& kind) {
  bool found = false;
  graph::for_each_operation([&](auto table) { found = found || (table.has_math && kind == table.cudnn_name); });
  return found;
}

template <class Op>
void add_ports(std::vector<LoggedPort>& ports) {
  graph::for_each_row<Op>([&](const auto& row) {
    using Row = std::decay_t<decltype(row)>;
    if constexpr (Row::is == graph::RowIs::input || Row::is == graph::RowIs::output)
      if (row.attribute.number != graph::no_cudnn_name.number)
        ports.push_back({logged_kind<Op>(), row.name, std::string(row.log), row.attribute.name, Row::is_output});
  });
  if constexpr (std::is_same_v<Op, graph::SdpaForward>)
    graph::for_each_row<graph::Softmax>([&](const auto& row) {
      if (!row.is_port) return;
      const std::string_view name = row.name;
      const char* port = name == "x" ? "softmax_x" : name == "y" ? "softmax_y" : row.name;
      ports.push_back({logged_kind<Op>(), port, fmt::format("softmaxDesc/{}", row.log), "", row.is_output});
    });
}

template <class List>
void forget_older(List& list, size_t oldest) {
  std::erase_if(list, [&](const auto& descriptor) { return descriptor->graph < oldest; });
}

}  // namespace

const std::vector<LoggedPort>& logged_ports() {
  static const std::vector<LoggedPort> all = [] {
    std::vector<LoggedPort> ports;
    graph::for_each_operation([&](auto table) { add_ports<typename decltype(table)::Op>(ports); });
    return ports;
  }();
  return all;
}

std::optional<graph::Uid> logged_uid(const log::LogNode* tensor) {
  if (tensor == nullptr || value_word(tensor->find("nbDims")) == "-1") return std::nullopt;
  const std::string text = value_word(tensor->find("uid"));
  graph::Uid uid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), uid);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return uid;
}

bool is_graph_part(const std::string& kind) {
  return kind == "TENSOR" || is_operation(kind) || is_logged_math(kind);
}

void LoggedDescriptors::create(const std::string& kind) {
  open_[kind].clear();
  if (kind == graph_kind) cut_graph_attributes_ = 0;
}

void LoggedDescriptors::set(const log::LogTree& message) {
  const log::LogNode& root = message.root;
  const log::LogNode* receiver = root.find("descriptor");
  const std::string name = value_word(root.find("attributeName"));
  if (receiver == nullptr) return;
  const std::string kind = log::descriptor_kind(receiver->type);
  if (name.empty() || message.cut) {
    if (kind == graph_kind) ++cut_graph_attributes_;
    return;
  }
  LoggedAttribute attribute{value_word(root.find("attributeType")), {}};
  std::vector<std::string> kinds;
  for (const log::LogNode& child : root.children) {
    if (child.key.empty() || child.key.front() != '[') continue;
    kinds.push_back(log::descriptor_kind(child.type));
    attribute.values.push_back(kinds.back() == "TENSOR" ? use_address(child.value, kind == "TENSOR") : child.value);
  }
  if (name == "CUDNN_ATTR_OPERATIONGRAPH_OPS") set_operations(std::move(kinds));
  open_[kind][name] = std::move(attribute);
}

const std::map<std::string, LoggedAttribute>& LoggedDescriptors::graph_attributes() const {
  static const std::map<std::string, LoggedAttribute> none;
  const auto open = open_.find(graph_kind);
  return open == open_.end() ? none : open->second;
}

void LoggedDescriptors::set_operations(std::vector<std::string> kinds) {
  graph_operations_ = std::move(kinds);
  last_operations_.clear();
  if (graph_operations_.size() > operations_.size()) return;
  const auto first = operations_.end() - static_cast<std::ptrdiff_t>(graph_operations_.size());
  const auto is_of_kind = [](const auto& operation, const std::string& kind) { return operation->kind == kind; };
  if (std::equal(first, operations_.end(), graph_operations_.begin(), is_of_kind))
    last_operations_.assign(first, operations_.end());
}

std::string LoggedDescriptors::use_address(const std::string& text, bool is_ragged_offset) {
  size_t& count = tensors_at_[text];
  const auto before = addresses_.find(fmt::format("{} {}", text, count));
  const bool is_new = before == addresses_.end() || before->second.is_dead || before->second.graph != graph_;
  if (is_new) {
    Address address;
    address.graph = graph_;
    if (since_last_use_.size() == 1 || (is_ragged_offset && !since_last_use_.empty()))
      address.made_for = since_last_use_.back();
    if (before != addresses_.end() && !before->second.is_dead)
      address.from_older = before->second.shown ? before->second.shown : before->second.from_older;
    addresses_[fmt::format("{} {}", text, ++count)] = address;
  }
  since_last_use_.clear();
  return fmt::format("{} {}", text, count);
}

void LoggedDescriptors::destroy(const log::LogTree& message) {
  const log::LogNode* shown = message.root.find("descriptor");
  if (shown == nullptr || log::descriptor_kind(shown->type) != "TENSOR") return;
  const auto uid = logged_uid(shown);
  if (!uid) return;
  for (auto& [text, address] : addresses_)
    if ((address.shown ? address.shown : address.made_for) == uid) address.is_dead = true;
  const std::string signature = log_signature(*shown);
  const auto found = std::find_if(new_tensors_.begin(), new_tensors_.end(),
                                  [&](const LoggedDescriptorPointer& made) { return made->signature == signature; });
  if (found == new_tensors_.end()) return;
  destroyed_tensors_.push_back(*found);
  new_tensors_.erase(found);
}

std::vector<LoggedDescriptorPointer> LoggedDescriptors::new_tensors() const {
  std::vector<LoggedDescriptorPointer> all = new_tensors_;
  all.insert(all.end(), destroyed_tensors_.begin(), destroyed_tensors_.end());
  return all;
}

void LoggedDescriptors::finalize(const log::LogTree& message) {
  const log::LogNode* shown = message.root.find("descriptor");
  if (shown == nullptr || message.cut) return;
  auto descriptor = std::make_shared<LoggedDescriptor>();
  descriptor->kind = log::descriptor_kind(shown->type);
  descriptor->tree = *shown;
  descriptor->signature = log_signature(*shown);
  descriptor->graph = graph_;
  descriptor->attributes = std::move(open_[descriptor->kind]);
  open_.erase(descriptor->kind);
  if (descriptor->kind == "TENSOR")
    finalize_tensor(std::move(descriptor));
  else if (is_operation(descriptor->kind))
    finalize_operation(std::move(descriptor));
  else if (is_logged_math(descriptor->kind))
    math_.push_back(std::move(descriptor));
}

void LoggedDescriptors::finalize_tensor(LoggedDescriptorPointer tensor) {
  const auto uid = logged_uid(&tensor->tree);
  if (!uid) return;
  // A second tensor with a uid of this graph: the earlier graph was abandoned.
  const auto same = [&](const auto& other) { return logged_uid(&other->tree) == uid; };
  const auto found = std::find_if(new_tensors_.begin(), new_tensors_.end(), same);
  if (found != new_tensors_.end() && (*found)->signature != tensor->signature) next_graph();
  if (const log::LogNode* offset = tensor->tree.find("raggedOffsetDesc"))
    if (const auto set = tensor->attributes.find("CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC");
        set != tensor->attributes.end() && set->second.values.size() == 1)
      addresses_[set->second.values[0]].shown = logged_uid(offset);
  tensors_[*uid] = tensor;
  new_tensors_.push_back(std::move(tensor));
  since_last_use_.push_back(*uid);
}

void LoggedDescriptors::finalize_operation(std::shared_ptr<LoggedDescriptor> operation) {
  for (const LoggedPort& port : logged_ports()) {
    if (operation->kind != port.kind || port.path.empty()) continue;
    const auto set = operation->attributes.find(port.attribute);
    if (set == operation->attributes.end() || set->second.values.size() != 1) continue;
    if (const auto uid = logged_uid(operation->tree.find(port.path))) addresses_[set->second.values[0]].shown = uid;
  }
  find_math(*operation);
  operations_.push_back(std::move(operation));
}

// The POINTWISE, RNG, … of an operation: the oldest unused one that matches the tree, otherwise the newest used one.
void LoggedDescriptors::find_math(LoggedDescriptor& operation) {
  const std::string kind = operation.kind.substr(operation_prefix.size());
  const auto is_it = [&](const log::LogNode& child) { return log::descriptor_kind(child.type) == kind; };
  const auto& children = operation.tree.children;
  const auto shown = std::find_if(children.begin(), children.end(), is_it);
  if (shown == children.end()) return;
  const std::string signature = log_signature(*shown);
  std::vector<LoggedDescriptorPointer> free, shared;
  for (const auto& candidate : math_)
    if (candidate->kind == kind && candidate->signature == signature)
      (used_math_.count(candidate.get()) == 0 ? free : shared).push_back(candidate);
  const auto& candidates = free.empty() ? shared : free;
  if (candidates.empty()) return;
  operation.math = free.empty() ? shared.back() : free.front();
  operation.math_is_certain = std::all_of(candidates.begin(), candidates.end(), [&](const auto& candidate) {
    return candidate->attributes == operation.math->attributes;
  });
  used_math_.insert(operation.math.get());
}

void LoggedDescriptors::next_graph() {
  ++graph_;
  open_.erase(graph_kind);
  cut_graph_attributes_ = 0;
  new_tensors_.clear();
  destroyed_tensors_.clear();
  graph_operations_.clear();
  last_operations_.clear();
  since_last_use_.clear();
  if (graph_ < remembered_graphs) return;
  const size_t oldest = graph_ - remembered_graphs;
  forget_older(operations_, oldest);
  forget_older(math_, oldest);
  std::erase_if(tensors_, [&](const auto& entry) { return entry.second->graph < oldest; });
  std::erase_if(addresses_, [&](const auto& entry) { return entry.second.graph < oldest; });
  if (addresses_.empty()) tensors_at_.clear();
  std::erase_if(used_math_, [&](const LoggedDescriptor* used) {
    return std::none_of(math_.begin(), math_.end(), [&](const auto& kept) { return kept.get() == used; });
  });
}

LoggedDescriptorPointer LoggedDescriptors::operation(const std::string& kind,
                                                     const std::optional<std::string>& signature,
                                                     std::set<const LoggedDescriptor*>& used) const {
  LoggedDescriptorPointer found;
  for (const auto& candidate : operations_) {
    if (candidate->kind != kind || used.count(candidate.get()) != 0) continue;
    if (signature ? candidate->signature != *signature : candidate->graph != graph_) continue;
    if (found == nullptr || candidate->graph > found->graph) found = candidate;
  }
  if (found != nullptr) used.insert(found.get());
  return found;
}

LoggedDescriptorPointer LoggedDescriptors::tensor(graph::Uid uid) const {
  const auto found = tensors_.find(uid);
  return found == tensors_.end() ? nullptr : found->second;
}

const LoggedDescriptors::Address* LoggedDescriptors::address(const std::string& text) const {
  const auto found = addresses_.find(text);
  return found == addresses_.end() ? nullptr : &found->second;
}

}  // namespace attnprobe::importers
