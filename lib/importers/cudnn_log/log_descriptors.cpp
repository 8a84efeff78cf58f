#include "importers/cudnn_log/log_descriptors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attnprobe::importers {
namespace {

// Graphs whose descriptors are remembered, for operations that go into several graphs.
constexpr size_t remembered_graphs = 4;

constexpr std::string_view operation_prefix = "OPERATION_";

bool is_operation(const std::string& kind) {
  return kind.rfind(operation_prefix, 0) == 0;
}

std::string value_word(const log::LogNode* node) {
  return node == nullptr ? "" : node->value.substr(0, node->value.find(' '));
}

bool is_logged_math(const std::string& kind) {
  return kind == "MATMUL" || kind == "POINTWISE" || kind == "REDUCTION" || kind == "RNG";
}

template <class List>
void forget_older(List& list, size_t oldest) {
  std::erase_if(list, [&](const auto& descriptor) { return descriptor->graph < oldest; });
}

}  // namespace

const std::vector<LoggedPort>& logged_ports() {
  // Keys as cuDNN 9.0 to 9.28 write them; attributes as cudnn_graph.h names them.
  static const std::vector<LoggedPort> all{
      {"OPERATION_MATMUL", "a", "aDesc", "MATMUL_ADESC"},
      {"OPERATION_MATMUL", "b", "bDesc", "MATMUL_BDESC"},
      {"OPERATION_MATMUL", "c", "cDesc", "MATMUL_CDESC"},
      {"OPERATION_MATMUL", "m_override", "", "MATMUL_GEMM_M_OVERRIDE_DESC"},
      {"OPERATION_MATMUL", "n_override", "", "MATMUL_GEMM_N_OVERRIDE_DESC"},
      {"OPERATION_MATMUL", "k_override", "", "MATMUL_GEMM_K_OVERRIDE_DESC"},
      {"OPERATION_POINTWISE", "x", "xDesc", "POINTWISE_XDESC"},
      {"OPERATION_POINTWISE", "b", "bDesc", "POINTWISE_BDESC"},
      {"OPERATION_POINTWISE", "t", "tDesc", "POINTWISE_TDESC"},
      {"OPERATION_POINTWISE", "y", "yDesc", "POINTWISE_YDESC"},
      {"OPERATION_POINTWISE", "dy", "dyDesc", "POINTWISE_DYDESC"},
      {"OPERATION_POINTWISE", "dx", "dxDesc", "POINTWISE_DXDESC"},
      {"OPERATION_REDUCTION", "x", "xDesc", "REDUCTION_XDESC"},
      {"OPERATION_REDUCTION", "y", "yDesc", "REDUCTION_YDESC"},
      {"OPERATION_RESHAPE", "x", "inputDesc", "RESHAPE_XDESC"},
      {"OPERATION_RESHAPE", "y", "outputDesc", "RESHAPE_YDESC"},
      {"OPERATION_RNG", "y", "yDesc", "RNG_YDESC"},
      {"OPERATION_RNG", "seed", "", "RNG_SEED"},
      {"OPERATION_RNG", "offset", "", "RNG_OFFSET_DESC"},
      {"OPERATION_PAGED_CACHE_LOAD", "container", "#0", "PAGED_CACHE_LOAD_CONTAINER_DESC"},
      {"OPERATION_PAGED_CACHE_LOAD", "sequence", "#1", "PAGED_CACHE_LOAD_SEQUENCE_DESC"},
      {"OPERATION_PAGED_CACHE_LOAD", "page_table", "#2", "PAGED_CACHE_LOAD_PAGE_TABLE_DESC"},
      {"OPERATION_PAGED_CACHE_LOAD", "y", "#3", "PAGED_CACHE_LOAD_YDESC"},
      {"OPERATION_BLOCK_SCALE_DEQUANTIZE", "x", "xDesc", "BLOCK_SCALE_DEQUANTIZE_XDESC"},
      {"OPERATION_BLOCK_SCALE_DEQUANTIZE", "scale", "scaleDesc", "BLOCK_SCALE_DEQUANTIZE_SCALE_DESC"},
      {"OPERATION_BLOCK_SCALE_DEQUANTIZE", "y", "yDesc", "BLOCK_SCALE_DEQUANTIZE_YDESC"},
      {"OPERATION_DIAGONAL_BAND_MASK", "x", "xDesc", "DIAGONAL_BAND_MASK_XDESC"},
      {"OPERATION_DIAGONAL_BAND_MASK", "fill", "bDesc", "DIAGONAL_BAND_MASK_BDESC"},
      {"OPERATION_DIAGONAL_BAND_MASK", "seq_len_q", "seqLenQDesc", "DIAGONAL_BAND_MASK_SEQ_LEN_QDESC"},
      {"OPERATION_DIAGONAL_BAND_MASK", "seq_len_kv", "seqLenKVDesc", "DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC"},
      {"OPERATION_DIAGONAL_BAND_MASK", "left_bound", "leftBoundDesc", "DIAGONAL_BAND_MASK_LEFT_BOUND_DESC"},
      {"OPERATION_DIAGONAL_BAND_MASK", "shift_right_bound", "shiftRightBoundDesc",
       "DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC"},
      {"OPERATION_DIAGONAL_BAND_MASK", "y", "yDesc", "DIAGONAL_BAND_MASK_YDESC"},
      {"OPERATION_SOFTMAX", "x", "xDesc", "SOFTMAX_XDESC"},
      {"OPERATION_SOFTMAX", "sink", "sinkDesc", "SOFTMAX_SINK_DESC"},
      {"OPERATION_SOFTMAX", "y", "yDesc", "SOFTMAX_YDESC"},
      {"OPERATION_SOFTMAX", "stats", "statsDesc", "SOFTMAX_STATS_DESC"},
      {"OPERATION_SOFTMAX", "max", "maxDesc", "SOFTMAX_MAX_DESC"},
      {"OPERATION_SOFTMAX", "sum_exp", "sumExpDesc", "SOFTMAX_SUM_EXP_DESC"},
      {"OPERATION_SDPA_FWD", "q", "qDesc", "SDPA_FWD_QDESC"},
      {"OPERATION_SDPA_FWD", "k", "kDesc", "SDPA_FWD_KDESC"},
      {"OPERATION_SDPA_FWD", "v", "vDesc", "SDPA_FWD_VDESC"},
      {"OPERATION_SDPA_FWD", "o", "oDesc", "SDPA_FWD_ODESC"},
      {"OPERATION_SDPA_FWD", "scale", "scaleDesc", "SDPA_FWD_SCALEDESC"},
      {"OPERATION_SDPA_FWD", "stats", "statsDesc", "SDPA_FWD_STATSDESC"},
      {"OPERATION_SDPA_FWD", "seq_len_q", "seqLenQDesc", "SDPA_FWD_SEQ_LEN_QDESC"},
      {"OPERATION_SDPA_FWD", "seq_len_kv", "seqLenKVDesc", "SDPA_FWD_SEQ_LEN_KVDESC"},
      {"OPERATION_SDPA_FWD", "block_mask", "blockMaskDesc", "SDPA_FWD_BLOCK_MASK_DESC"},
      {"OPERATION_SDPA_FWD", "page_table_k", "pageTableKDesc", "SDPA_FWD_PAGE_TABLE_KDESC"},
      {"OPERATION_SDPA_FWD", "page_table_v", "pageTableVDesc", "SDPA_FWD_PAGE_TABLE_VDESC"},
      {"OPERATION_SDPA_FWD", "seed", "dropoutSeedDesc", "SDPA_FWD_DROPOUT_SEED_DESC"},
      {"OPERATION_SDPA_FWD", "offset", "dropoutOffsetDesc", "SDPA_FWD_DROPOUT_OFFSET_DESC"},
      {"OPERATION_SDPA_FWD", "rng_dump", "dropoutRngDumpDesc", "SDPA_FWD_DROPOUT_RNG_DUMP_DESC"},
      {"OPERATION_SDPA_FWD", "softmax_x", "softmaxDesc/xDesc", ""},
      {"OPERATION_SDPA_FWD", "softmax_y", "softmaxDesc/yDesc", ""},
      {"OPERATION_SDPA_FWD", "stats", "softmaxDesc/statsDesc", ""},
      {"OPERATION_SDPA_FWD", "max", "softmaxDesc/maxDesc", ""},
      {"OPERATION_SDPA_FWD", "sum_exp", "softmaxDesc/sumExpDesc", ""},
      {"OPERATION_SDPA_FWD", "sink", "softmaxDesc/sinkDesc", ""},
      {"OPERATION_SDPA_BWD", "q", "", "SDPA_BWD_QDESC"},
      {"OPERATION_SDPA_BWD", "k", "", "SDPA_BWD_KDESC"},
      {"OPERATION_SDPA_BWD", "v", "", "SDPA_BWD_VDESC"},
      {"OPERATION_SDPA_BWD", "o", "", "SDPA_BWD_ODESC"},
      {"OPERATION_SDPA_BWD", "d_o", "", "SDPA_BWD_DODDESC"},
      {"OPERATION_SDPA_BWD", "stats", "", "SDPA_BWD_STATSDESC"},
      {"OPERATION_SDPA_BWD", "scale", "", "SDPA_BWD_SCALEDESC"},
      {"OPERATION_SDPA_BWD", "seq_len_q", "", "SDPA_BWD_SEQ_LEN_QDESC"},
      {"OPERATION_SDPA_BWD", "seq_len_kv", "", "SDPA_BWD_SEQ_LEN_KVDESC"},
      {"OPERATION_SDPA_BWD", "dq", "", "SDPA_BWD_DQDESC"},
      {"OPERATION_SDPA_BWD", "dk", "", "SDPA_BWD_DKDESC"},
      {"OPERATION_SDPA_BWD", "dv", "", "SDPA_BWD_DVDESC"},
      {"OPERATION_SDPA_BWD", "sink", "", "SDPA_BWD_SINK_DESC"},
      {"OPERATION_SDPA_BWD", "d_sink", "", "SDPA_BWD_DSINK_DESC"},
      {"OPERATION_SDPA_BWD", "d_bias", "", "SDPA_BWD_DBIAS_DESC"},
      {"OPERATION_SDPA_BWD", "seed", "", "SDPA_BWD_DROPOUT_SEED_DESC"},
      {"OPERATION_SDPA_BWD", "offset", "", "SDPA_BWD_DROPOUT_OFFSET_DESC"},
  };
  return all;
}

bool is_logged_output(const LoggedPort& port) {
  static const std::set<std::string_view> outputs{"c",  "y",   "dx",      "o",        "dq",     "dk",
                                                  "dv", "max", "sum_exp", "rng_dump", "d_sink", "d_bias"};
  return outputs.count(port.port) != 0 ||
         (std::string_view(port.port) == "stats" && std::string_view(port.kind) != "OPERATION_SDPA_BWD");
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
}

void LoggedDescriptors::set(const log::LogTree& message) {
  const log::LogNode& root = message.root;
  const log::LogNode* receiver = root.find("descriptor");
  const std::string name = value_word(root.find("attributeName"));
  if (receiver == nullptr || name.empty() || message.cut) return;
  LoggedAttribute attribute{value_word(root.find("attributeType")), {}};
  const std::string kind = log::descriptor_kind(receiver->type);
  std::vector<std::string> kinds;
  for (const log::LogNode& child : root.children) {
    if (child.key.empty() || child.key.front() != '[') continue;
    kinds.push_back(log::descriptor_kind(child.type));
    attribute.values.push_back(kinds.back() == "TENSOR" ? use_address(child.value, kind == "TENSOR") : child.value);
  }
  if (name == "CUDNN_ATTR_OPERATIONGRAPH_OPS") set_operations(std::move(kinds));
  open_[kind][name] = std::move(attribute);
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
  // Another tensor with a uid of this graph: the graph before it was given up.
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
    if (operation->kind != port.kind || *port.path == '\0' || *port.attribute == '\0') continue;
    const auto set = operation->attributes.find(std::string("CUDNN_ATTR_OPERATION_") + port.attribute);
    if (set == operation->attributes.end() || set->second.values.size() != 1) continue;
    if (const auto uid = logged_uid(operation->tree.find(port.path))) addresses_[set->second.values[0]].shown = uid;
  }
  find_math(*operation);
  operations_.push_back(std::move(operation));
}

// The POINTWISE, RNG, … of an operation: the oldest that looks like what the tree shows and that no other operation
// has, else the youngest that one has.
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
