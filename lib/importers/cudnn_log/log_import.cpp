#include "importers/cudnn_log/log_import.hpp"

#include <algorithm>
#include <utility>

#include "graph/cudnn_names.hpp"
#include "graph/operation_table.hpp"
#include "importers/cudnn_log/log_values.hpp"

namespace attnprobe::importers {
namespace {

// Attributes that are not in an OpGraph, with their values without effect (cudnn_graph.h's defaults). Other unread
// attributes are reported as missing.
const std::map<std::string, std::vector<std::string>> harmless_attributes{
    {"CUDNN_ATTR_POINTWISE_NAN_PROPAGATION", {"CUDNN_NOT_PROPAGATE_NAN (0)", "0"}},
    {"CUDNN_ATTR_POINTWISE_SWISH_BETA", {"1"}},
    {"CUDNN_ATTR_POINTWISE_ELU_ALPHA", {"1"}},
    {"CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA", {"1"}},
    {"CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP", {"0"}},
    {"CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE", {"0"}},
    {"CUDNN_ATTR_REDUCTION_IS_DETERMINISTIC", {"false"}},
};

// The attributes of the table, and those with descriptors as values. A sub-graph's uids are read only for the forward
// operation, because no log with the backward operation is known.
template <class Op>
std::set<std::string> read_attributes() {
  std::set<std::string> names{graph::OperationTable<Op>::math_attribute.name};
  graph::for_each_row<Op>([&](const auto& row) {
    constexpr graph::RowIs is = std::decay_t<decltype(row)>::is;
    const bool is_uid = is == graph::RowIs::input_uid || is == graph::RowIs::output_uid;
    if (!is_uid || std::is_same_v<Op, graph::SdpaForward>) names.insert(row.attribute.name);
  });
  if (std::is_same_v<Op, graph::SdpaForward>)
    names.insert({graph::score_graph_attribute<graph::SdpaForward>.name, graph::inner_softmax_attribute.name});
  return names;
}

class LogImport {
 public:
  LogImport(const log::LogTree& message, LoggedDescriptors* known)
      : message_(message), known_(known), tensors_(known, result_) {}

  ImportedGraph run() {
    const log::LogNode* shown = message_.root.find("descriptor");
    if (shown != nullptr && log::descriptor_kind(shown->type) != graph_kind)
      throw Error(ErrorKind::usage, fmt::format("cuDNN log: line {} of the message: a {}, not an operation graph",
                                                shown->line, shown->type));
    LoggedOperations finder(known_, result_);
    const auto outer = finder.of_graph(shown != nullptr ? *shown : message_.root, message_.cut);
    std::vector<LoggedOperation> inner;
    for (const auto& operation : outer)
      if (const log::LogNode* graph = operation.tree->find("subgraph"))
        for (auto& each : finder.of_score_graph(*graph)) inner.push_back(std::move(each));
    if (outer.empty()) throw Error(ErrorKind::usage, "cuDNN log: the message contains no operation");
    for (const auto* list : {&outer, &std::as_const(inner)})
      for (const auto& operation : *list) tensors_.show(operation);
    for (const auto& operation : outer) add(operation, result_.graph.operations);
    for (const auto& operation : inner) add(operation, result_.graph.score_operations);
    tensors_.finish();
    for (const auto& operation : outer)
      for (const char* end : {"subgraphInputUid", "subgraphOutputUid"})
        if (const log::LogNode* uid = operation.tree->find(end); uid != nullptr && uid->value != "-1")
          require_tensor(*uid);
    read_graph_attributes();
    return std::move(result_);
  }

 private:
  // The graph's tree shows only operations.
  void read_graph_attributes() {
    if (known_ == nullptr) {
      result_.missing.emplace_back(
          "whether sizes may change at execution: the log lacks the calls that made the graph");
      return;
    }
    for (const auto& [name, attribute] : known_->graph_attributes()) {
      const bool is_true = attribute.values == std::vector<std::string>{"true"};
      if (name == graph::dynamic_shapes_attribute.name)
        result_.graph.dynamic_shapes = is_true;
      else if (name == graph::override_shapes_attribute.name)
        result_.graph.override_shapes = is_true;
      else if (name != "CUDNN_ATTR_OPERATIONGRAPH_OPS" && name != "CUDNN_ATTR_OPERATIONGRAPH_HANDLE")
        result_.missing.push_back(fmt::format("{} = {} of the graph: attnprobe has no such attribute", name,
                                              fmt::join(attribute.values, ", ")));
    }
    // Programs set the graph's handle, and rarely anything else.
    if (const size_t cut = known_->cut_graph_attributes(); cut == 1)
      result_.inferred.emplace_back(
          "sizes do not change at execution: cuDNN truncated the one message that could say so; attnprobe assumes that it sets the handle");
    else if (cut > 1)
      result_.missing.push_back(fmt::format(
          "whether sizes may change at execution: cuDNN truncated {} messages that set attributes of the graph", cut));
  }

  void require_tensor(const log::LogNode& uid) const {
    const auto& tensors = result_.graph.tensors;
    const graph::Uid wanted = logged_integer(uid);
    if (std::none_of(tensors.begin(), tensors.end(), [&](const graph::Tensor& t) { return t.uid == wanted; }))
      fail_logged(uid, "the uid of a tensor of the sub-graph");
  }

  void add(const LoggedOperation& source, std::vector<graph::Operation>& list) {
    if (!add_as<0>(source, list))
      result_.missing.push_back(fmt::format("{}: attnprobe does not know this operation", source.label));
  }

  template <size_t I>
  bool add_as(const LoggedOperation& source, std::vector<graph::Operation>& list) {
    if constexpr (I < std::variant_size_v<graph::Operation>) {
      using Op = std::variant_alternative_t<I, graph::Operation>;
      if (source.kind != logged_kind<Op>()) return add_as<I + 1>(source, list);
      Op op;
      read_attributes_of(source, op);
      read_by_code(source, op);
      if (read_ports(source, op)) list.push_back(op);
      report_unread<Op>(source);
      return true;
    } else {
      return false;
    }
  }

  template <class Op>
  bool read_ports(const LoggedOperation& source, Op& op) {
    std::vector<std::string> lost;
    for_each_port(op, [&](const char* name, auto& uid, graph::PortDirection) {
      if (uid != std::decay_t<decltype(uid)>{}) return;  // handled by read_by_code()
      const auto found = tensors_.port(source, name);
      if constexpr (std::is_same_v<std::decay_t<decltype(uid)>, graph::Uid>) {
        if (!found) lost.emplace_back(name);
        uid = found.value_or(0);
      } else {
        uid = found;
      }
    });
    if (!lost.empty())
      result_.missing.push_back(
          fmt::format("{}: omitted, because its {} is missing", source.label, fmt::join(lost, ", ")));
    if constexpr (std::is_same_v<Op, graph::Pointwise>) complete_select(source, op);
    return lost.empty();
  }

  // Completes BINARY_SELECT with operands that the tree omits.
  void complete_select(const LoggedOperation& source, graph::Pointwise& op) {
    if (op.mode != graph::PointwiseMode::BINARY_SELECT || !op.x) return;
    if (!op.b) {
      graph::Tensor fill;
      fill.data_type = tensor(result_.graph, *op.x).data_type;
      fill.dims = fill.strides = std::vector<int64_t>(tensor(result_.graph, *op.x).dims.size(), 1);
      fill.by_value = true;
      op.b = tensors_.add(fill);
      result_.inferred.push_back(
          fmt::format("b of {}: a scalar given by value, of the type of x, as cudnn-frontend has it", source.label));
    }
    if (op.t) return;
    if (result_.graph.operations.empty()) return;
    const auto* before = std::get_if<graph::Pointwise>(&result_.graph.operations.back());
    if (before != nullptr && before->y && tensor(result_.graph, *before->y).data_type == DataType::boolean) {
      op.t = before->y;
      result_.inferred.push_back(
          fmt::format("t of {} is tensor {}: the operation before makes this mask", source.label, *op.t));
    } else {
      result_.missing.push_back("the mask (t) of " + source.label);
    }
  }

  const log::LogNode& line(const LoggedOperation& source, std::string_view path) const {
    if (const log::LogNode* found = source.tree->find(path)) return *found;
    fail_logged(*source.tree, fmt::format("a line \"{}\" below it", path));
  }

  // Reads the attributes in the table: types and modes are in the tree, integers in the call that set them.
  template <class Op>
  void read_attributes_of(const LoggedOperation& source, Op& op) {
    graph::for_each_row<Op>([&](const auto& row) {
      if constexpr (!std::decay_t<decltype(row)>::is_port)
        if (row.log != graph::by_code) read_attribute(source, row, op.*row.member);
    });
  }
  template <class Row>
  void read_attribute(const LoggedOperation& source, const Row& row, DataType& type) {
    type = logged_type(line(source, row.log));
  }
  template <class Row, class E>
  requires std::is_enum_v<E>
  void read_attribute(const LoggedOperation& source, const Row& row, E& value) {
    value = logged_enum<E>(line(source, row.log), graph::cudnn_prefix<E>);
  }
  template <class Row>
  void read_attribute(const LoggedOperation& source, const Row& row, std::optional<int64_t>& value) {
    const LoggedAttribute* set = source.attribute(row.attribute.name);
    if (set != nullptr && set->values.size() == 1) value = logged_number<int64_t>(set->values[0]);
  }
  // An unset flag counts as absent.
  template <class Row>
  void read_attribute(const LoggedOperation& source, const Row& row, std::optional<bool>& value) {
    const LoggedAttribute* set = source.attribute(row.attribute.name);
    if (set != nullptr && set->values == std::vector<std::string>{"true"}) value = true;
  }
  // A factor of 1 is treated as absent.
  template <class Row>
  void read_attribute(const LoggedOperation& source, const Row& row, std::optional<double>& value) {
    const log::LogNode* shown = source.tree->find(row.log);
    if (shown == nullptr || shown->value == "1") return;
    value = logged_number<double>(shown->value);
    if (!value) fail_logged(*shown, "a number");
  }
  template <class Row, class T>
  void read_attribute(const LoggedOperation&, const Row&, T&) {
    throw Error(ErrorKind::internal, "the table of operations says where a log shows what only code can read");
  }

  // Handles attributes without a rule.
  template <class Op>
  void read_by_code(const LoggedOperation&, Op&) {}

  void read_by_code(const LoggedOperation& source, graph::Matmul&) {
    if (source.record == nullptr)
      result_.missing.push_back("lengths for each batch entry (M, N, K), if there are any, of " + source.label);
  }

  void read_by_code(const LoggedOperation& source, graph::Pointwise& op) {
    if (op.mode != graph::PointwiseMode::GEN_INDEX) return;
    if (!op.axis)
      result_.missing.push_back("the axis of " + source.label);
    else if (!source.record->math_is_certain)
      result_.inferred.push_back(fmt::format(
          "the axis of {} is {}: there were several POINTWISE descriptors that look alike, and this one was made "
          "first",
          source.label, *op.axis));
  }

  void read_by_code(const LoggedOperation& source, graph::Rng& op) {
    const log::LogNode& distribution = line(source, "rngDesc/distribution");
    const auto known = logged_enumerator<graph::RngDistribution>(distribution.value);
    if (!known) fail_logged(distribution, "0, 1 or 2");
    op.distribution = *known;
    if (op.distribution == graph::RngDistribution::BERNOULLI)
      op.probability = probability(line(source, "rngDesc/bernoulliProbability").value, source);
    const LoggedAttribute* seed = source.attribute("CUDNN_ATTR_OPERATION_RNG_SEED");
    if (seed != nullptr && seed->type == "CUDNN_TYPE_INT64" && seed->values.size() == 1)
      op.constant_seed = logged_number<int64_t>(seed->values[0]);
    if (source.record == nullptr) result_.missing.push_back("seed and offset of " + source.label);
  }

  void read_by_code(const LoggedOperation& source, graph::BlockScaleDequantize& op) {
    const auto* blocks = source.attribute("CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE");
    if (blocks != nullptr)
      for (const std::string& size : blocks->values) op.block_size.push_back(logged_number<int64_t>(size).value_or(0));
    else if (const log::LogNode& size = line(source, "block_size"); size.value.rfind('[', 0) == 0)
      op.block_size = logged_integers(size);
    else  // 9.9 and 9.10
      result_.missing.push_back("the block size, except its first number, of " + source.label);
    const auto* negative = source.attribute("CUDNN_ATTR_OPERATION_BLOCK_SCALE_DEQUANTIZE_NEG_SCALE");
    op.negative_scale = negative != nullptr && negative->values == std::vector<std::string>{"true"};
    if (source.record == nullptr) result_.missing.push_back("whether the scale is negative of " + source.label);
  }

  void read_by_code(const LoggedOperation& source, graph::SdpaForward& op) {
    const log::LogNode* graph = source.tree->find("subgraph");
    if (graph != nullptr && !graph->children.empty()) {
      op.score_input = logged_integer(line(source, "subgraphInputUid"));
      op.score_output = logged_integer(line(source, "subgraphOutputUid"));
    }
    if (is_true(source.tree->find("unfuseFma"))) op.unfuse_fma = true;
    if (is_true(source.tree->find("softmaxDesc/statsLog2"))) op.stats_log2 = true;
    // Dropout exists from 9.21; the tree shows 0 if it was not set.
    const log::LogNode* shown = source.tree->find("dropoutProbability");
    const bool set = source.attribute("CUDNN_ATTR_OPERATION_SDPA_FWD_DROPOUT_PROBABILITY") != nullptr;
    if (shown != nullptr && (set || shown->value != "0")) op.dropout_probability = probability(shown->value, source);
  }

  void read_by_code(const LoggedOperation& source, graph::Softmax& op) {
    if (is_true(source.tree->find("statsLog2"))) op.stats_log2 = true;
  }

  // Its tree shows only tensors.
  void read_by_code(const LoggedOperation& source, graph::Rope& op) {
    const LoggedAttribute* scale = source.attribute("CUDNN_ATTR_OPERATION_ROPE_FWD_OUTPUT_SCALE");
    const LoggedAttribute* dim = source.attribute("CUDNN_ATTR_OPERATION_ROPE_FWD_ROPE_DIM");
    if (scale != nullptr && scale->values.size() == 1) op.scale = logged_number<double>(scale->values[0]);
    if (dim != nullptr && dim->values.size() == 1) op.dim = logged_number<int64_t>(dim->values[0]);
    if (source.record == nullptr) result_.missing.push_back("scale and width of " + source.label);
  }

  static bool is_true(const log::LogNode* shown) { return shown != nullptr && shown->value == "true"; }

  void read_by_code(const LoggedOperation& source, graph::SdpaBackward& op) {
    const auto* set = source.attribute("CUDNN_ATTR_OPERATION_SDPA_BWD_DROPOUT_PROBABILITY");
    if (set != nullptr && set->values.size() == 1) op.dropout_probability = probability(set->values[0], source);
  }

  std::optional<double> probability(const std::string& text, const LoggedOperation& source) {
    const auto value = logged_number<double>(text);
    if (!value || *value < 0) return std::nullopt;  // -1 if none was set
    constexpr size_t logged_digits = 6;
    if (text.size() - std::min(text.size(), text.find_first_not_of("0.")) >= logged_digits)
      result_.inferred.push_back(
          fmt::format("the probability of {}: {} is what cuDNN rounded it to", source.label, text));
    return value;
  }

  // Reports ports and attributes that are set but not in the OpGraph.
  template <class Op>
  void report_unread(const LoggedOperation& source) {
    const std::set<std::string> attributes = read_attributes<Op>();
    std::set<std::string> ports;
    for (const LoggedPort& port : logged_ports())
      if (source.kind == port.kind) ports.insert(port.path);
    for (const log::LogNode& child : source.tree->children)
      if (log::descriptor_kind(child.type) == "TENSOR" && !child.key.empty() && ports.count(child.key) == 0)
        if (const auto uid = logged_uid(&child))
          result_.missing.push_back(
              fmt::format("{} (tensor {}) of {}: attnprobe has no such port", child.key, *uid, source.label));
    for (const LoggedDescriptor* made : {source.record.get(), source.record ? source.record->math.get() : nullptr})
      if (made != nullptr)
        for (const auto& [name, attribute] : made->attributes) {
          const auto harmless = harmless_attributes.find(name);
          if (attributes.count(name) != 0 ||
              (harmless != harmless_attributes.end() && attribute.values.size() == 1 &&
               std::count(harmless->second.begin(), harmless->second.end(), attribute.values[0]) != 0))
            continue;
          result_.missing.push_back(fmt::format("{} = {} of {}: attnprobe has no such attribute", name,
                                                fmt::join(attribute.values, ", "), source.label));
        }
  }

  const log::LogTree& message_;
  LoggedDescriptors* known_;
  ImportedGraph result_;
  LoggedTensors tensors_;
};

}  // namespace

ImportedGraph import_logged_graph(const log::LogTree& message, LoggedDescriptors* known) {
  return LogImport(message, known).run();
}

}  // namespace attnprobe::importers
