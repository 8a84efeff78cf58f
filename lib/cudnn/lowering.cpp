#include "cudnn/lowering.hpp"

#include <fmt/format.h>

#include <map>

#include "base/error.hpp"
#include "base/version.hpp"
#include "cudnn/enums.hpp"
#include "cudnn/newer_api.hpp"

namespace attnprobe::cudnn {
namespace {

using graph::Uid;

class Lowering {
 public:
  Lowering(const Library& library, const graph::OpGraph& graph) : library_(library), graph_(graph) {}

  LoweredGraph run(cudnnHandle_t handle) {
    Descriptor whole = operation_graph("operation", graph_.operations, handle);
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
      whole.finalize();
    });
    return whole;
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
    if (t.ragged_offset) d.set(ATTNPROBE_ATTRIBUTE(TENSOR_RAGGED_OFFSET_DESC), parts_[tensor(*t.ragged_offset)]);
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
    if (op.alpha1) d.set(ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_ALPHA1), *op.alpha1);
    if (op.alpha2) d.set(ATTNPROBE_ATTRIBUTE(OPERATION_POINTWISE_ALPHA2), *op.alpha2);
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

  size_t operation(const graph::Reshape& op) {
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_RESHAPE_XDESC), op.x);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_RESHAPE_YDESC), op.y);
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::Rng& op) {
    Descriptor math(library_, CUDNN_BACKEND_RNG_DESCRIPTOR);
    math.set(ATTNPROBE_ATTRIBUTE(RNG_DISTRIBUTION), cudnn_distribution(op.distribution));
    if (op.probability) math.set(ATTNPROBE_ATTRIBUTE(RNG_BERNOULLI_DIST_PROBABILITY), *op.probability);
    math.finalize();
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
    d.set(ATTNPROBE_ATTRIBUTE(OPERATION_RNG_DESC), math);
    keep(std::move(math));
    if (op.constant_seed) d.set(ATTNPROBE_ATTRIBUTE(OPERATION_RNG_SEED), *op.constant_seed);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_RNG_SEED), op.seed);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_RNG_OFFSET_DESC), op.offset);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_RNG_YDESC), op.y);
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::PagedCacheLoad& op) {
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC), op.container);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC), op.page_table);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC), op.sequence);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_PAGED_CACHE_LOAD_YDESC), op.y);
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::BlockScaleDequantize& op) {
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_BLOCK_SCALE_DEQUANTIZE_DESCRIPTOR);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_BLOCK_SCALE_DEQUANTIZE_XDESC), op.x);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC), op.scale);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC), op.y);
    d.set(ATTNPROBE_ATTRIBUTE(OPERATION_BLOCK_SCALE_DEQUANTIZE_MATH_PREC), cudnn_type(op.compute));
    const std::vector<int32_t> block_size(op.block_size.begin(), op.block_size.end());
    d.set_all(ATTNPROBE_ATTRIBUTE(OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE), std::span<const int32_t>(block_size));
    constexpr CudnnVersion first_with_negative_scales{9, 14, 0};  // cudnn-frontend 1.23, block_scale_dequantize.h
    if (library_.version() >= first_with_negative_scales)
      d.set(ATTNPROBE_ATTRIBUTE(OPERATION_BLOCK_SCALE_DEQUANTIZE_NEG_SCALE), op.negative_scale);
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::DiagonalBandMask& op) {
    Descriptor d(library_, newer::diagonal_band_mask_descriptor);
    port(d, newer::DIAGONAL_BAND_MASK_XDESC, op.x);
    port(d, newer::DIAGONAL_BAND_MASK_BDESC, op.fill);
    port(d, newer::DIAGONAL_BAND_MASK_SEQ_LEN_QDESC, op.seq_len_q);
    port(d, newer::DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC, op.seq_len_kv);
    port(d, newer::DIAGONAL_BAND_MASK_LEFT_BOUND_DESC, op.left_bound);
    port(d, newer::DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC, op.shift_right_bound);
    port(d, newer::DIAGONAL_BAND_MASK_YDESC, op.y);
    d.set(newer::DIAGONAL_BAND_MASK_COMPARISON_MODE, cudnn_mode(op.comparison));
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::Softmax& op) {
    Descriptor d(library_, newer::softmax_descriptor);
    port(d, newer::SOFTMAX_XDESC, op.x);
    port(d, newer::SOFTMAX_YDESC, op.y);
    port(d, newer::SOFTMAX_SINK_DESC, op.sink);
    port(d, newer::SOFTMAX_STATS_DESC, op.stats);
    port(d, newer::SOFTMAX_MAX_DESC, op.max);
    port(d, newer::SOFTMAX_SUM_EXP_DESC, op.sum_exp);
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
    if (op.softmax_x) {
      const graph::Softmax softmax{*op.softmax_x, op.sink, *op.softmax_y, op.stats, op.max, op.sum_exp};
      d.set(newer::SDPA_FWD_SOFTMAX_DESC, parts_[operation(softmax)]);
    } else {
      port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_STATSDESC), op.stats);
    }
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_SEQ_LEN_QDESC), op.seq_len_q);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), op.seq_len_kv);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_BLOCK_MASK_DESC), op.block_mask);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC), op.page_table_k);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC), op.page_table_v);
    score_graph(d, op, newer::SDPA_FWD_SUBGRAPH, newer::SDPA_FWD_SUBGRAPH_INPUT_UID,
                newer::SDPA_FWD_SUBGRAPH_OUTPUT_UID);
    if (op.dropout_probability) d.set(newer::SDPA_FWD_DROPOUT_PROBABILITY, static_cast<float>(*op.dropout_probability));
    port(d, newer::SDPA_FWD_DROPOUT_SEED_DESC, op.seed);
    port(d, newer::SDPA_FWD_DROPOUT_OFFSET_DESC, op.offset);
    port(d, newer::SDPA_FWD_DROPOUT_RNG_DUMP_DESC, op.rng_dump);
    d.finalize();
    return keep(std::move(d));
  }

  size_t operation(const graph::SdpaBackward& op) {
    Descriptor d(library_, CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_QDESC), op.q);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_KDESC), op.k);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_VDESC), op.v);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_ODESC), op.o);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_DODDESC), op.d_o);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_STATSDESC), op.stats);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_SCALEDESC), op.scale);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_SEQ_LEN_QDESC), op.seq_len_q);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_SEQ_LEN_KVDESC), op.seq_len_kv);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_DQDESC), op.dq);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_DKDESC), op.dk);
    port(d, ATTNPROBE_ATTRIBUTE(OPERATION_SDPA_BWD_DVDESC), op.dv);
    port(d, newer::SDPA_BWD_SINK_DESC, op.sink);
    port(d, newer::SDPA_BWD_DSINK_DESC, op.d_sink);
    port(d, newer::SDPA_BWD_DBIAS_DESC, op.d_bias);
    if (op.max_total_seqlen_q) d.set(newer::SDPA_BWD_MAX_TOTAL_SEQ_LEN_Q, *op.max_total_seqlen_q);
    if (op.max_total_seqlen_kv) d.set(newer::SDPA_BWD_MAX_TOTAL_SEQ_LEN_KV, *op.max_total_seqlen_kv);
    score_graph(d, op, newer::SDPA_BWD_SUBGRAPH, newer::SDPA_BWD_SUBGRAPH_INPUT_UID,
                newer::SDPA_BWD_SUBGRAPH_OUTPUT_UID);
    if (op.dropout_probability) d.set(newer::SDPA_BWD_DROPOUT_PROBABILITY, static_cast<float>(*op.dropout_probability));
    port(d, newer::SDPA_BWD_DROPOUT_SEED_DESC, op.seed);
    port(d, newer::SDPA_BWD_DROPOUT_OFFSET_DESC, op.offset);
    d.finalize();
    return keep(std::move(d));
  }

  // The operations on the scores that a single SDPA operation holds inside.
  template <class Op>
  void score_graph(Descriptor& d, const Op& op, Attribute graph, Attribute input, Attribute output) {
    if (!op.score_input) return;
    Descriptor inside = operation_graph("score operation", graph_.score_operations, nullptr);
    d.set(graph, inside);
    keep(std::move(inside));
    d.set(input, *op.score_input);
    d.set(output, *op.score_output);
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
