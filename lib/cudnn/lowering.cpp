#include "attnprobe/cudnn/lowering.hpp"

#include <fmt/format.h>

#include <map>

#include "attnprobe/error.hpp"

namespace attnprobe::cudnn {
namespace {

using graph::Uid;

cudnnDataType_t cudnn_type(DataType type) {
  switch (type) {
    case DataType::f16:
      return CUDNN_DATA_HALF;
    case DataType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DataType::f32:
      return CUDNN_DATA_FLOAT;
    case DataType::f64:
      return CUDNN_DATA_DOUBLE;
    case DataType::i8:
      return CUDNN_DATA_INT8;
    case DataType::u8:
      return CUDNN_DATA_UINT8;
    case DataType::i32:
      return CUDNN_DATA_INT32;
    case DataType::i64:
      return CUDNN_DATA_INT64;
    case DataType::boolean:
      return CUDNN_DATA_BOOLEAN;
    case DataType::fp8_e4m3:
      return CUDNN_DATA_FP8_E4M3;
    case DataType::fp8_e5m2:
      return CUDNN_DATA_FP8_E5M2;
    case DataType::fp8_e8m0:
      return CUDNN_DATA_FP8_E8M0;
    case DataType::fp4_e2m1:
      return CUDNN_DATA_FP4_E2M1;
  }
  throw Error(ErrorKind::internal, "unknown data type");
}

#define ATTNPROBE_POINTWISE_CASE(name) \
  case graph::PointwiseMode::name:     \
    return CUDNN_POINTWISE_##name;
cudnnPointwiseMode_t cudnn_mode(graph::PointwiseMode mode) {
  switch (mode) { ATTNPROBE_POINTWISE_MODES(ATTNPROBE_POINTWISE_CASE) }
  throw Error(ErrorKind::internal, "unknown pointwise mode");
}
#undef ATTNPROBE_POINTWISE_CASE

#define ATTNPROBE_REDUCTION_CASE(name) \
  case graph::ReductionOperator::name: \
    return CUDNN_REDUCE_TENSOR_##name;
cudnnReduceTensorOp_t cudnn_operator(graph::ReductionOperator op) {
  switch (op) { ATTNPROBE_REDUCTION_OPERATORS(ATTNPROBE_REDUCTION_CASE) }
  throw Error(ErrorKind::internal, "unknown reduction operator");
}
#undef ATTNPROBE_REDUCTION_CASE

#define ATTNPROBE_REORDERING_CASE(name) \
  case graph::Reordering::name:         \
    return CUDNN_TENSOR_REORDERING_##name;
cudnnBackendTensorReordering_t cudnn_reordering(graph::Reordering reordering) {
  switch (reordering) { ATTNPROBE_REORDERINGS(ATTNPROBE_REORDERING_CASE) }
  throw Error(ErrorKind::internal, "unknown reordering");
}
#undef ATTNPROBE_REORDERING_CASE

class Lowering {
 public:
  Lowering(const Library& library, const graph::OpGraph& graph) : library_(library), graph_(graph) {}

  LoweredGraph run(cudnnHandle_t handle) {
    std::vector<size_t> operations;
    for (size_t i = 0; i < graph_.operations.size(); ++i)
      operations.push_back(named(
          fmt::format("operation {} ({})", i, operation_name(graph_.operations[i])),
          [&] { return std::visit([&](const auto& op) { return operation(op); }, graph_.operations[i]); }));
    Descriptor whole(library_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    named("the operation graph", [&] {
      std::vector<cudnnBackendDescriptor_t> raw;
      raw.reserve(operations.size());
      for (const size_t index : operations) raw.push_back(parts_[index].get());
      whole.set_all(ATTNPROBE_ATTRIBUTE(OPERATIONGRAPH_OPS), std::span<const cudnnBackendDescriptor_t>(raw));
      if (handle != nullptr) whole.set(ATTNPROBE_ATTRIBUTE(OPERATIONGRAPH_HANDLE), handle);
      whole.finalize();
    });
    return {std::move(parts_), std::move(whole)};
  }

 private:
  // A cuDNN error inside `body` is thrown again with what was being lowered in front.
  template <class F>
  auto named(const std::string& what, F body) -> decltype(body()) {
    try {
      return body();
    } catch (const Error& e) {
      if (!e.cudnn()) throw;
      throw Error(*e.cudnn(), what + ": " + e.what());
    }
  }

  size_t keep(Descriptor descriptor) {
    parts_.push_back(std::move(descriptor));
    return parts_.size() - 1;
  }

  // Index of the tensor's descriptor, made at first use.
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
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_DATA_TYPE), cudnn_type(t.data_type));
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_BYTE_ALIGNMENT), t.alignment);
    d.set_all(ATTNPROBE_ATTRIBUTE(TENSOR_DIMENSIONS), std::span<const int64_t>(t.dims));
    d.set_all(ATTNPROBE_ATTRIBUTE(TENSOR_STRIDES), std::span<const int64_t>(t.strides));
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_IS_VIRTUAL), t.is_virtual);
    d.set(ATTNPROBE_ATTRIBUTE(TENSOR_IS_BY_VALUE), t.by_value);
    if (t.reordering != graph::Reordering::NONE)
      d.set(ATTNPROBE_ATTRIBUTE(TENSOR_REORDERING_MODE), cudnn_reordering(t.reordering));
    if (t.ragged_offset)
      d.set(ATTNPROBE_ATTRIBUTE(TENSOR_RAGGED_OFFSET_DESC), parts_[tensor(*t.ragged_offset)]);
    d.finalize();
    return keep(std::move(d));
  }

  void port(Descriptor& d, Attribute attribute, std::optional<Uid> uid) {
    if (uid) d.set(attribute, parts_[tensor(*uid)]);
  }

  size_t operation(const graph::Matmul& op) {
    Descriptor math(library_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    math.set(ATTNPROBE_ATTRIBUTE(MATMUL_COMP_TYPE), cudnn_type(op.compute));
    math.finalize();
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    d.set(ATTNPROBE_ATTRIBUTE(OPERATION_MATMUL_DESC), math);
    keep(std::move(math));
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_MATMUL_ADESC), op.a);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_MATMUL_BDESC), op.b);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_MATMUL_CDESC), op.c);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC), op.m_override);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC), op.n_override);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC), op.k_override);
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::Pointwise& op) {
    Descriptor math(library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    math.set(ATTNPROBE_ATTRIBUTE(POINTWISE_MODE), cudnn_mode(op.mode));
    math.set(ATTNPROBE_ATTRIBUTE(POINTWISE_MATH_PREC), cudnn_type(op.compute));
    if (op.axis) math.set(ATTNPROBE_ATTRIBUTE(POINTWISE_AXIS), *op.axis);
    math.finalize();
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    d.set(ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_PW_DESCRIPTOR), math);
    keep(std::move(math));
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_XDESC), op.x);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_BDESC), op.b);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_TDESC), op.t);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_YDESC), op.y);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_DYDESC), op.dy);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_DXDESC), op.dx);
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::Reduction& op) {
    Descriptor math(library_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    math.set(ATTNPROBE_ATTRIBUTE(REDUCTION_OPERATOR), cudnn_operator(op.op));
    math.set(ATTNPROBE_ATTRIBUTE(REDUCTION_COMP_TYPE), cudnn_type(op.compute));
    math.finalize();
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    d.set(ATTNPROBE_ATTRIBUTE(OPERATION_REDUCTION_DESC), math);
    keep(std::move(math));
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_REDUCTION_XDESC), op.x);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_REDUCTION_YDESC), op.y);
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::SdpaForward& op) {
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_QDESC), op.q);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_KDESC), op.k);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_VDESC), op.v);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_ODESC), op.o);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_SCALEDESC), op.scale);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_STATSDESC), op.stats);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_SEQ_LEN_QDESC), op.seq_len_q);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), op.seq_len_kv);
    d.finalize();
    return keep(std::move(d));
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
