#include <algorithm>

#include "importers/cudnn_log/log_import.hpp"
#include "importers/cudnn_log/log_values.hpp"

namespace attnprobe::importers {
namespace {

bool is_integer(DataType type) {
  return type == DataType::i32 || type == DataType::i64;
}

bool is_mask(DataType type) {
  return type == DataType::boolean || type == DataType::i8 || type == DataType::u8 || is_integer(type);
}

bool has_one_element(const graph::Tensor& t) {
  return std::all_of(t.dims.begin(), t.dims.end(), [](int64_t dim) { return dim == 1; });
}

const log::LogNode& required_line(const log::LogNode& node, const char* key) {
  if (const log::LogNode* found = node.find(key)) return *found;
  fail_logged(node, fmt::format("a line \"{}\" below it", key));
}

int64_t batch_of(const graph::Tensor& t) {
  return t.dims.empty() ? 0 : t.dims.front();
}

}  // namespace

const LoggedAttribute* LoggedOperation::attribute(const std::string& name) const {
  for (const LoggedDescriptor* source : {record.get(), record == nullptr ? nullptr : record->math.get()}) {
    if (source == nullptr) continue;
    if (const auto found = source->attributes.find(name); found != source->attributes.end()) return &found->second;
  }
  return nullptr;
}

void LoggedTensors::show(const LoggedOperation& operation) {
  for (const LoggedPort& port : logged_ports()) {
    if (operation.kind != port.kind || port.path.empty()) continue;
    const log::LogNode* tensor = operation.tree->find(port.path);
    if (const auto uid = logged_uid(tensor)) shown_.emplace(*uid, tensor);
    const log::LogNode* offset = tensor == nullptr ? nullptr : tensor->find("raggedOffsetDesc");
    if (const auto uid = logged_uid(offset)) shown_.emplace(*uid, offset);
  }
}

graph::Tensor LoggedTensors::read(const log::LogNode& tree) const {
  graph::Tensor t;
  t.uid = logged_integer(required_line(tree, "uid"));
  t.data_type = logged_type(required_line(tree, "type"));
  t.dims = logged_integers(required_line(tree, "dimA"));
  t.strides = logged_integers(required_line(tree, "strideA"));
  if (t.dims.size() != t.strides.size()) fail_logged(required_line(tree, "strideA"), "as many numbers as in dimA");
  t.alignment = logged_integer(required_line(tree, "alignmentInBytes"));
  t.is_virtual = logged_bool(required_line(tree, "isVirtual"));
  t.by_value = logged_bool(required_line(tree, "isByVal"));
  // From 9.24; 1 if nothing was set.
  if (const log::LogNode* multiplier = tree.find("raggedOffsetMultiplier"))
    if (const int64_t elements = logged_integer(*multiplier); elements != 1) t.ragged_multiplier = elements;
  return t;
}

void LoggedTensors::take(graph::Uid uid) {
  if (!taken_.insert(uid).second) return;
  const auto shown = shown_.find(uid);
  const LoggedDescriptorPointer record = known_ == nullptr ? nullptr : known_->tensor(uid);
  graph::Tensor t = read(shown != shown_.end() ? *shown->second : record->tree);
  if (record != nullptr) reordering(t);
  result_.graph.tensors.push_back(std::move(t));
}

void LoggedTensors::reordering(graph::Tensor& t) {
  const auto& attributes = known_->tensor(t.uid)->attributes;
  const auto set = attributes.find("CUDNN_ATTR_TENSOR_REORDERING_MODE");
  if (set == attributes.end()) return;
  const std::string value = set->second.values.empty() ? "" : set->second.values[0];
  if (const auto mode = logged_enumerator<graph::Reordering>(value))
    t.reordering = *mode;
  else
    result_.missing.push_back(fmt::format("the reordering of tensor {}: \"{}\" has no known meaning", t.uid, value));
}

graph::Uid LoggedTensors::add(graph::Tensor t) {
  graph::Uid last = 0;
  for (const auto& [uid, tree] : shown_) last = std::max(last, uid);
  for (const graph::Tensor& other : result_.graph.tensors) last = std::max(last, other.uid);
  t.uid = last + 1;
  taken_.insert(t.uid);
  result_.graph.tensors.push_back(t);
  return t.uid;
}

LoggedTensors::Fits LoggedTensors::fits(const LoggedOperation& operation, const std::string& port) {
  if (port == "seed" || port == "offset")
    return [](const graph::Tensor& t) { return is_integer(t.data_type) && has_one_element(t); };
  if (operation.kind == "OPERATION_MATMUL") {  // a length per batch entry
    const graph::Tensor a = read(required_line(*operation.tree, "aDesc"));
    return [a](const graph::Tensor& t) { return is_integer(t.data_type) && batch_of(t) == batch_of(a); };
  }
  if (operation.kind == "OPERATION_POINTWISE") {
    // No tree shows the ports of LOGICAL_AND, _OR and _NOT, nor BINARY_SELECT's operand for mask 0.
    const log::LogNode* mode = operation.tree->find("pwDesc/mode");
    const bool logical = mode != nullptr && mode->value.rfind("CUDNN_POINTWISE_LOGICAL_", 0) == 0;
    if (logical) return [](const graph::Tensor& t) { return is_mask(t.data_type) && t.is_virtual; };
    if (port == "t") return [](const graph::Tensor& t) { return is_mask(t.data_type) && !has_one_element(t); };
    return [](const graph::Tensor& t) { return !is_mask(t.data_type); };
  }
  return [](const graph::Tensor&) { return true; };
}

std::optional<graph::Uid> LoggedTensors::port(const LoggedOperation& operation, const std::string& name) {
  for (const LoggedPort& port : logged_ports()) {
    if (operation.kind != port.kind || name != port.port) continue;
    if (!port.path.empty())
      if (const auto uid = logged_uid(operation.tree->find(port.path))) {
        take(*uid);
        return uid;
      }
    const auto* set = operation.attribute(port.attribute);
    if (set == nullptr || set->type != "CUDNN_TYPE_BACKEND_DESCRIPTOR" || set->values.size() != 1) continue;
    const std::string what = fmt::format("{} of {}", name, operation.label);
    const auto uid = resolve(set->values[0], what, fits(operation, name));
    if (!uid) result_.missing.push_back(fmt::format("the tensor that is {}", what));
    return uid;
  }
  return std::nullopt;
}

std::optional<graph::Uid> LoggedTensors::resolve(const std::string& text, const std::string& what, const Fits& fits) {
  if (const auto found = resolved_.find(text); found != resolved_.end()) return found->second;
  const LoggedDescriptors::Address* address = known_->address(text);
  std::optional<graph::Uid> uid = address == nullptr ? std::nullopt : address->shown;
  const auto is_free = [&](graph::Uid candidate) {
    if (shown_.count(candidate) != 0 || taken_.count(candidate) != 0) return false;
    const auto record = known_->tensor(candidate);
    return record != nullptr && fits(read(record->tree));
  };
  std::string how;
  if (!uid && address != nullptr && address->made_for && is_free(*address->made_for)) {
    uid = address->made_for;
    how = "was made right before it was set there";
  }
  if (!uid) {
    size_t others = 0;
    for (const auto& candidate : known_->new_tensors()) {
      const auto its_uid = logged_uid(&candidate->tree);
      if (!is_free(*its_uid)) continue;
      if (uid && *uid != *its_uid)
        ++others;
      else
        uid = its_uid;
    }
    how = others == 0 ? "is the only one left that fits"
                      : fmt::format("is the first made of {} left that fit", others + 1);
  }
  if (!uid && address != nullptr && address->from_older) {
    uid = address->from_older;
    how = "was at this address in the graph before";
  }
  if (!uid || (shown_.count(*uid) == 0 && known_->tensor(*uid) == nullptr)) return std::nullopt;
  if (!how.empty()) result_.inferred.push_back(fmt::format("{} is tensor {}: it {}", what, *uid, how));
  resolved_[text] = *uid;
  known_->learn(text, *uid);  // for the graph that contains this one
  take(*uid);
  return uid;
}

void LoggedTensors::finish() {
  std::vector<std::string> unknown;
  auto& tensors = result_.graph.tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto record = known_ == nullptr ? nullptr : known_->tensor(tensors[i].uid);
    const auto shown = shown_.find(tensors[i].uid);
    if (shown != shown_.end())
      if (const auto uid = logged_uid(shown->second->find("raggedOffsetDesc"))) {
        tensors[i].ragged_offset = uid;
        take(*uid);
        continue;
      }
    if (record == nullptr) {
      if (shown != shown_.end()) unknown.push_back(std::to_string(tensors[i].uid));
      continue;
    }
    const auto set = record->attributes.find("CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC");
    if (set == record->attributes.end() || set->second.values.size() != 1) continue;
    const std::string what = fmt::format("the ragged offset of tensor {}", tensors[i].uid);
    const auto one_more = [batch = batch_of(tensors[i])](const graph::Tensor& t) {
      return is_integer(t.data_type) && batch_of(t) == batch + 1;
    };
    const auto uid = resolve(set->second.values[0], what, one_more);
    if (!uid) result_.missing.push_back(what);
    tensors[i].ragged_offset = uid;
  }
  if (!unknown.empty())
    result_.missing.push_back(
        fmt::format("reorderings and ragged offsets, if there are any, of tensors {}: the log does not have the calls "
                    "that made them",
                    fmt::join(unknown, ", ")));
}

}  // namespace attnprobe::importers
