#include "cudnn/lowering.hpp"

#include <fmt/format.h>

#include <map>

#include "base/error.hpp"
#include "cudnn/enums.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::cudnn {
namespace {

using graph::Uid;

// The table's numbers; the headers must be new enough for all except the LATER ones.
#if CUDNN_VERSION >= 91900
#define ATTNPROBE_CHECK(member, is, suffix, number, ...) static_assert(CUDNN_ATTR_##suffix == (number));
#define ATTNPROBE_LATER(...)
#define ATTNPROBE_CHECK_OPERATION(Kind, name, suffix, number)               \
  static_assert(CUDNN_BACKEND_OPERATION_##suffix##_DESCRIPTOR == (number)); \
  ATTNPROBE_ROWS_##Kind(ATTNPROBE_CHECK, ATTNPROBE_LATER, ATTNPROBE_LATER)
#define ATTNPROBE_CHECK_COMPUTED(Kind, name, suffix, number, math, math_number, attribute, attribute_number) \
  ATTNPROBE_CHECK_OPERATION(Kind, name, suffix, number)                                                      \
  static_assert(CUDNN_BACKEND_##math##_DESCRIPTOR == (math_number) && CUDNN_ATTR_##attribute == (attribute_number));
ATTNPROBE_OPERATIONS(ATTNPROBE_CHECK_OPERATION, ATTNPROBE_CHECK_COMPUTED, ATTNPROBE_LATER)
#undef ATTNPROBE_CHECK_COMPUTED
#undef ATTNPROBE_CHECK_OPERATION
#undef ATTNPROBE_LATER
#undef ATTNPROBE_CHECK
#endif

Attribute attribute(const graph::CudnnName& name) {
  return {static_cast<cudnnBackendAttributeName_t>(name.number), name.name};
}

cudnnBackendDescriptorType_t descriptor_type(const graph::CudnnName& name) {
  return static_cast<cudnnBackendDescriptorType_t>(name.number);
}

class Lowering {
 public:
  Lowering(const Library& library, const graph::OpGraph& graph) : library_(library), graph_(graph) {}

  LoweredGraph run(cudnnHandle_t handle) {
    Descriptor whole = operation_graph("operation", graph_.operations, handle);
    return {std::move(parts_), std::move(whole)};
  }

 private:
  // Rethrows a cuDNN error inside `body`, prefixed with what was being lowered.
  template <class F>
  auto named(const std::string& what, F body) -> decltype(body()) {
    try {
      return body();
    } catch (const Error& e) {
      if (!e.cudnn()) throw;
      throw Error(*e.cudnn(), what + ": " + e.what());
    }
  }

  Descriptor operation_graph(const std::string& what, const std::vector<graph::Operation>& operations,
                             cudnnHandle_t handle) {
    std::vector<size_t> indices;
    for (size_t i = 0; i < operations.size(); ++i)
      indices.push_back(named(fmt::format("{} {} ({})", what, i, operation_name(operations[i])), [&] {
        return std::visit([&](const auto& op) { return operation(op); }, operations[i]);
      }));
    Descriptor whole(library_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    named(fmt::format("the {} graph", what), [&] {
      std::vector<cudnnBackendDescriptor_t> raw;
      raw.reserve(indices.size());
      for (const size_t index : indices) raw.push_back(parts_[index].get());
      whole.set_all(ATTNPROBE_ATTRIBUTE(OPERATIONGRAPH_OPS), std::span<const cudnnBackendDescriptor_t>(raw));
      if (handle != nullptr) whole.set(ATTNPROBE_ATTRIBUTE(OPERATIONGRAPH_HANDLE), handle);
      if (graph_.dynamic_shapes) whole.set(attribute(graph::dynamic_shapes_attribute), true);
      if (graph_.override_shapes) whole.set(attribute(graph::override_shapes_attribute), true);
      whole.finalize();
    });
    return whole;
  }

  size_t keep(Descriptor descriptor) {
    parts_.push_back(std::move(descriptor));
    return parts_.size() - 1;
  }

  // The index of the tensor's descriptor, which is created at first use.
  size_t tensor(Uid uid) {
    if (const auto found = tensors_.find(uid); found != tensors_.end()) return found->second;
    const graph::Tensor& t = graph::tensor(graph_, uid);
    const size_t index = named(fmt::format("tensor {} \"{}\"", uid, t.name), [&] { return make_tensor(t); });
    tensors_[uid] = index;
    return index;
  }

  size_t make_tensor(const graph::Tensor& t) {
    Descriptor d(library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_UNIQUE_ID), t.uid);
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_DATA_TYPE), cudnn_value(t.data_type));
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_BYTE_ALIGNMENT), t.alignment);
    d.set_all(ATTNPROBE_ATTRIBUTE(TENSOR_DIMENSIONS), std::span<const int64_t>(t.dims));
    d.set_all(ATTNPROBE_ATTRIBUTE(TENSOR_STRIDES), std::span<const int64_t>(t.strides));
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_IS_VIRTUAL), t.is_virtual);
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_IS_BY_VALUE), t.by_value);
    if (t.reordering != graph::Reordering::NONE)
      d.set(ATTNPROBE_ATTRIBUTE(TENSOR_REORDERING_MODE), cudnn_value(t.reordering));
    if (t.ragged_offset) d.set(ATTNPROBE_ATTRIBUTE(TENSOR_RAGGED_OFFSET_DESC), parts_[tensor(*t.ragged_offset)]);
    if (t.ragged_multiplier) d.set(attribute(graph::ragged_multiplier_attribute), *t.ragged_multiplier);
    d.finalize();
    return keep(std::move(d));
  }

  // Creates the separate descriptor of what the operation computes first.
  template <class Op>
  size_t operation(const Op& op) {
    using Table = graph::OperationTable<Op>;
    std::optional<size_t> math;
    if constexpr (Table::has_math) {
      Descriptor part(library_, descriptor_type(Table::math));
      graph::for_each_row<Op>([&](const auto& row) {
        if constexpr (std::decay_t<decltype(row)>::is == graph::RowIs::math)
          set_value(part, attribute(row.attribute), op.*row.member);
      });
      part.finalize();
      math = keep(std::move(part));
    }
    Descriptor d(library_, descriptor_type(Table::descriptor));
    if (math) d.set(attribute(Table::math_attribute), parts_[*math]);
    graph::for_each_row<Op>([&](const auto& row) { set_row(d, op, row); });
    d.finalize();
    return keep(std::move(d));
  }

  template <graph::RowIs is, class Op, class Value>
  void set_row(Descriptor& d, const Op& op, const graph::OperationRow<is, Op, Value>& row) {
    using graph::RowIs;
    const Value& value = op.*row.member;
    if constexpr (std::is_same_v<Op, graph::SdpaForward> && is == RowIs::output && !std::is_same_v<Value, Uid>)
      if (row.member == &Op::stats && op.softmax_x) {
        inner_softmax(d, op);
        return;
      }
    if (row.attribute.number == graph::no_cudnn_name.number || is == RowIs::math) return;
    if constexpr (is == RowIs::output_uid) score_graph(d, op);
    if constexpr (is == RowIs::input || is == RowIs::output)
      port(d, attribute(row.attribute), value);
    else if constexpr (is == RowIs::f32_value) {
      if (value) d.set(attribute(row.attribute), static_cast<float>(*value));
    } else {
      // A cuDNN without the flag behaves as if it were unset.
      if (std::is_same_v<Value, bool> && library_.version() < row.since) return;
      set_value(d, attribute(row.attribute), value);
    }
  }

  void port(Descriptor& d, Attribute attribute, std::optional<Uid> uid) {
    if (uid) d.set(attribute, parts_[tensor(*uid)]);
  }

  template <class T>
  static void set_value(Descriptor& d, Attribute attribute, const T& value) {
    if constexpr (std::is_enum_v<T>)
      d.set(attribute, cudnn_value(value));
    else
      d.set(attribute, value);
  }
  template <class T>
  static void set_value(Descriptor& d, Attribute attribute, const std::optional<T>& value) {
    if (value) set_value(d, attribute, *value);
  }
  static void set_value(Descriptor& d, Attribute attribute, const std::vector<int64_t>& values) {
    const std::vector<int32_t> narrow(values.begin(), values.end());
    d.set_all(attribute, std::span<const int32_t>(narrow));
  }

  // The operations on the scores inside an SDPA operation.
  template <class Op>
  void score_graph(Descriptor& d, const Op& op) {
    if (!op.score_input) return;
    Descriptor inside = operation_graph("score operation", graph_.score_operations, nullptr);
    d.set(attribute(graph::score_graph_attribute<Op>), inside);
    keep(std::move(inside));
  }

  // From 9.21, statistics, maxima, sums and sink are ports of a softmax inside the operation.
  void inner_softmax(Descriptor& d, const graph::SdpaForward& op) {
    const graph::Softmax softmax{*op.softmax_x, op.sink, *op.softmax_y, op.stats, op.max, op.sum_exp, op.stats_log2};
    d.set(attribute(graph::inner_softmax_attribute), parts_[operation(softmax)]);
  }

  const Library& library_;
  const graph::OpGraph& graph_;
  std::vector<Descriptor> parts_;
  std::map<Uid, size_t> tensors_;
};

}  // namespace

LoweredGraph::~LoweredGraph() {
  while (!parts_.empty()) parts_.pop_back();
}

LoweredGraph lower(const Library& library, const graph::OpGraph& graph, cudnnHandle_t handle) {
  return Lowering(library, graph).run(handle);
}

}  // namespace attnprobe::cudnn
