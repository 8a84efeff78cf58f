#include "emit/cpp_graph.hpp"

#include <cudnn_graph.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "cudnn/enums.hpp"
#include "emit/cpp_text.hpp"
#include "graph/cudnn_names.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::emit {
namespace {

using graph::CudnnName;
using graph::Uid;

// A constant of cuDNN's header with its name.
struct Constant {
  const char* name;
  int value;
};

#define ATTNPROBE_CONSTANT(name)    \
  Constant {                        \
#name, static_cast < int>(name) \
  }

// Constants used by cpp_main and the statements for every graph.
constexpr std::array fixed_names{ATTNPROBE_CONSTANT(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
                                 ATTNPROBE_CONSTANT(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
                                 ATTNPROBE_CONSTANT(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR),
                                 ATTNPROBE_CONSTANT(CUDNN_BACKEND_ENGINE_DESCRIPTOR),
                                 ATTNPROBE_CONSTANT(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
                                 ATTNPROBE_CONSTANT(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR),
                                 ATTNPROBE_CONSTANT(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
                                 ATTNPROBE_CONSTANT(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_UNIQUE_ID),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_DATA_TYPE),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_DIMENSIONS),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_STRIDES),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_IS_VIRTUAL),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_IS_BY_VALUE),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_REORDERING_MODE),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_OPERATIONGRAPH_OPS),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_OPERATIONGRAPH_HANDLE),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINEHEUR_MODE),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINEHEUR_RESULTS),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINE_OPERATION_GRAPH),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINE_GLOBAL_INDEX),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINE_DEVICEPROP),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINECFG_ENGINE),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP),
                                 ATTNPROBE_CONSTANT(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)};

constexpr std::array fixed_values{ATTNPROBE_CONSTANT(CUDNN_TYPE_HANDLE),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_DATA_TYPE),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_BOOLEAN),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_INT64),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_INT32),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_FLOAT),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_DOUBLE),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_CHAR),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_HEUR_MODE),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_KNOB_TYPE),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_BACKEND_DESCRIPTOR),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_POINTWISE_MODE),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_REDUCTION_OPERATOR_TYPE),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_RNG_DISTRIBUTION),
                                  ATTNPROBE_CONSTANT(CUDNN_TYPE_TENSOR_REORDERING_MODE),
                                  ATTNPROBE_CONSTANT(CUDNN_HEUR_MODE_A),
                                  ATTNPROBE_CONSTANT(CUDNN_SEV_ERROR_EN),
                                  ATTNPROBE_CONSTANT(CUDNN_SEV_WARNING_EN),
                                  ATTNPROBE_CONSTANT(CUDNN_SEV_INFO_EN)};
#undef ATTNPROBE_CONSTANT

// The type of an attribute with such a value.
template <class E>
constexpr const char* attribute_type = "";
template <>
constexpr const char* attribute_type<DataType> = "CUDNN_TYPE_DATA_TYPE";
template <>
constexpr const char* attribute_type<graph::PointwiseMode> = "CUDNN_TYPE_POINTWISE_MODE";
template <>
constexpr const char* attribute_type<graph::ReductionOperator> = "CUDNN_TYPE_REDUCTION_OPERATOR_TYPE";
template <>
constexpr const char* attribute_type<graph::RngDistribution> = "CUDNN_TYPE_RNG_DISTRIBUTION";
template <>
constexpr const char* attribute_type<graph::Reordering> = "CUDNN_TYPE_TENSOR_REORDERING_MODE";

template <class E>
std::string cudnn_name(E value) {
  if constexpr (std::is_same_v<E, DataType>) {
    for (const auto& [type, name] : graph::cudnn_data_types)
      if (type == value) return std::string(name);
  }
  return fmt::format("{}{}", graph::cudnn_prefix<E>, name_of(value));
}

std::string literal(int64_t value) {
  return value == std::numeric_limits<int64_t>::min() ? "INT64_MIN" : fmt::format("{}", value);
}
std::string literal(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

template <class T>
std::string list_of(const std::vector<T>& values) {
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const T& value : values) words.push_back(literal(int64_t{value}));
  return fmt::format("{{{}}}", fmt::join(words, ", "));
}

// Attributes of all cuDNN versions, set by their C++ type.
constexpr const char* setters = R"text(
void int64s(const Descriptor& d, Name name, const std::vector<int64_t>& values) {
  set(d, name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}
void int32s(const Descriptor& d, Name name, const std::vector<int32_t>& values) {
  set(d, name, CUDNN_TYPE_INT32, static_cast<int64_t>(values.size()), values.data());
}
void float64(const Descriptor& d, Name name, double value) { set(d, name, CUDNN_TYPE_DOUBLE, 1, &value); }
void float32(const Descriptor& d, Name name, double value) {
  const float narrow = static_cast<float>(value);
  set(d, name, CUDNN_TYPE_FLOAT, 1, &narrow);
}
void boolean(const Descriptor& d, Name name, bool value) { set(d, name, CUDNN_TYPE_BOOLEAN, 1, &value); }
void enumerator(const Descriptor& d, Name name, int type, int value) { set(d, name, type, 1, &value); }
void descriptors(const Descriptor& d, Name name, const std::vector<Descriptor>& values) {
  std::vector<void*> handles;
  for (const Descriptor& value : values) handles.push_back(value.handle);
  set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(handles.size()), handles.data());
}

// Not finalized yet.
Descriptor tensor(int64_t uid, int data_type, int64_t alignment, const std::vector<int64_t>& dims,
                  const std::vector<int64_t>& strides, bool is_virtual, bool by_value) {
  const Descriptor d = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  int64s(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, {uid});
  enumerator(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, data_type);
  int64s(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {alignment});
  int64s(d, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  int64s(d, CUDNN_ATTR_TENSOR_STRIDES, strides);
  boolean(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  boolean(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value);
  return d;
}

)text";

class GraphText {
 public:
  explicit GraphText(const graph::OpGraph& graph) : graph_(graph) {}

  std::string run() {
    operation_graph("graph", graph_.operations, true);
    std::string text = constants() + setters;
    text += "constexpr bool is_virtual = true, by_value = true;\n\nDescriptor make_graph(void* handle) {\n" + body_;
    return text + "  return graph;\n}\n";
  }

 private:
  std::string constants() const {
    std::string text = "// Of cudnn_graph.h.\n";
    for (const auto& [name, value] : names_)
      text += fmt::format("constexpr Name {}{{{}, \"{}\"}};\n", name, value, name);
    for (const Constant& each : fixed_names)
      if (names_.count(each.name) == 0)
        text += fmt::format("constexpr Name {}{{{}, \"{}\"}};\n", each.name, each.value, each.name);
    for (const Constant& each : fixed_values) text += fmt::format("constexpr int {} = {};\n", each.name, each.value);
    for (const auto& [name, value] : values_) text += fmt::format("constexpr int {} = {};\n", name, value);
    return text;
  }

  const char* use(const CudnnName& name) {
    names_[name.name] = name.number;
    return name.name;
  }
  template <class E>
  std::string use(E value) {
    std::string name = cudnn_name(value);
    values_[name] = static_cast<int>(cudnn::cudnn_value(value));
    return name;
  }

  void add(const std::string& statement) { body_ += "  " + statement + "\n"; }

  void operation_graph(const std::string& name, const std::vector<graph::Operation>& operations, bool is_whole) {
    std::vector<std::string> made;
    made.reserve(operations.size());
    for (const graph::Operation& each : operations) {
      made.push_back(fmt::format("{}_{}", is_whole ? "operation" : "score_operation", made.size()));
      std::visit([&](const auto& op) { operation(made.back(), op); }, each);
    }
    add(fmt::format("const Descriptor {} = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);", name));
    add(fmt::format("descriptors({}, CUDNN_ATTR_OPERATIONGRAPH_OPS, {{{}}});", name, fmt::join(made, ", ")));
    if (is_whole)
      add(fmt::format(
          "if (handle != nullptr) set({}, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);", name));
    if (graph_.dynamic_shapes) add(fmt::format("boolean({}, {}, true);", name, use(graph::dynamic_shapes_attribute)));
    if (graph_.override_shapes) add(fmt::format("boolean({}, {}, true);", name, use(graph::override_shapes_attribute)));
    add(fmt::format("finalize({});", name));
  }

  // The variable of the tensor's descriptor, which is created at first use.
  std::string tensor(Uid uid) {
    if (const auto found = tensors_.find(uid); found != tensors_.end()) return found->second;
    const graph::Tensor& t = graph::tensor(graph_, uid);
    const std::string offset = t.ragged_offset ? tensor(*t.ragged_offset) : "";
    std::string name = fmt::format("tensor_{}", tensors_.size());
    tensors_[uid] = name;
    if (!t.name.empty()) add(cpp_comment(t.name));
    add(fmt::format("const Descriptor {} = tensor({}, {}, {}, {}, {}, {}, {});", name, literal(t.uid), use(t.data_type),
                    literal(t.alignment), list_of(t.dims), list_of(t.strides),
                    t.is_virtual ? "is_virtual" : "!is_virtual", t.by_value ? "by_value" : "!by_value"));
    if (t.reordering != graph::Reordering::NONE)
      set_value(name, {CUDNN_ATTR_TENSOR_REORDERING_MODE, "CUDNN_ATTR_TENSOR_REORDERING_MODE"}, t.reordering);
    if (t.ragged_offset)
      add(fmt::format("descriptors({}, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, {{{}}});", name, offset));
    if (t.ragged_multiplier) set_value(name, graph::ragged_multiplier_attribute, *t.ragged_multiplier);
    add(fmt::format("finalize({});", name));
    return name;
  }

  // Emits the operation's computation descriptor, before the operation.
  template <class Op>
  void operation(const std::string& name, const Op& op) {
    using Table = graph::OperationTable<Op>;
    graph::for_each_port(op, [&](const char*, const auto& uid, graph::PortDirection) {
      if (const std::optional<Uid> port = uid) tensor(*port);
    });
    if constexpr (std::is_same_v<Op, graph::SdpaForward> || std::is_same_v<Op, graph::SdpaBackward>)
      if (op.score_input) operation_graph("score_graph", graph_.score_operations, false);
    if constexpr (std::is_same_v<Op, graph::SdpaForward>)
      if (op.softmax_x)
        operation("inner_softmax",
                  graph::Softmax{*op.softmax_x, op.sink, *op.softmax_y, op.stats, op.max, op.sum_exp, op.stats_log2});
    add("");
    if constexpr (Table::has_math) {
      add(fmt::format("const Descriptor {}_math = create({});", name, use(Table::math)));
      graph::for_each_row<Op>([&](const auto& row) {
        if constexpr (std::decay_t<decltype(row)>::is == graph::RowIs::math)
          set_value(name + "_math", row.attribute, op.*row.member);
      });
      add(fmt::format("finalize({}_math);", name));
    }
    add(fmt::format("const Descriptor {} = create({});", name, use(Table::descriptor)));
    if constexpr (Table::has_math)
      add(fmt::format("descriptors({0}, {1}, {{{0}_math}});", name, use(Table::math_attribute)));
    graph::for_each_row<Op>([&](const auto& row) { set_row(name, op, row); });
    add(fmt::format("finalize({});", name));
  }

  template <graph::RowIs is, class Op, class Value>
  void set_row(const std::string& name, const Op& op, const graph::OperationRow<is, Op, Value>& row) {
    using graph::RowIs;
    const Value& value = op.*row.member;
    if constexpr (std::is_same_v<Op, graph::SdpaForward> && is == RowIs::output && !std::is_same_v<Value, Uid>)
      if (row.member == &Op::stats && op.softmax_x) {
        add(fmt::format("descriptors({}, {}, {{inner_softmax}});", name, use(graph::inner_softmax_attribute)));
        return;
      }
    if (row.attribute.number == graph::no_cudnn_name.number || is == RowIs::math) return;
    if constexpr (is == RowIs::output_uid)
      if (op.score_input)
        add(fmt::format("descriptors({}, {}, {{score_graph}});", name, use(graph::score_graph_attribute<Op>)));
    if constexpr (is == RowIs::input || is == RowIs::output) {
      const std::optional<Uid> uid = value;
      if (uid) add(fmt::format("descriptors({}, {}, {{{}}});", name, use(row.attribute), tensor(*uid)));
    } else if constexpr (is == RowIs::f32_value) {
      if (value) add(fmt::format("float32({}, {}, {});", name, use(row.attribute), literal(*value)));
    } else {
      // A cuDNN without the flag behaves as if it were unset.
      if (std::is_same_v<Value, bool> && row.since.is_known())
        body_ += fmt::format("  if (cudnn.GetVersion() >= {})\n  ", row.since.number());
      set_value(name, row.attribute, value);
    }
  }

  void set_value(const std::string& d, const CudnnName& attribute, int64_t value) {
    add(fmt::format("int64s({}, {}, {{{}}});", d, use(attribute), literal(value)));
  }
  void set_value(const std::string& d, const CudnnName& attribute, double value) {
    add(fmt::format("float64({}, {}, {});", d, use(attribute), literal(value)));
  }
  void set_value(const std::string& d, const CudnnName& attribute, bool value) {
    add(fmt::format("boolean({}, {}, {});", d, use(attribute), value));
  }
  void set_value(const std::string& d, const CudnnName& attribute, const std::vector<int64_t>& values) {
    add(fmt::format("int32s({}, {}, {});", d, use(attribute), list_of(values)));
  }
  template <class E>
  requires std::is_enum_v<E>
  void set_value(const std::string& d, const CudnnName& attribute, E value) {
    add(fmt::format("enumerator({}, {}, {}, {});", d, use(attribute), attribute_type<E>, use(value)));
  }
  template <class T>
  void set_value(const std::string& d, const CudnnName& attribute, const std::optional<T>& value) {
    if (value) set_value(d, attribute, *value);
  }

  const graph::OpGraph& graph_;
  std::string body_;
  std::map<Uid, std::string> tensors_;
  std::map<std::string, int> names_, values_;  // constants of cuDNN's header that the graph uses
};

}  // namespace

std::string cpp_graph(const graph::OpGraph& graph) {
  return GraphText(graph).run();
}

}  // namespace attnprobe::emit
