// OpGraph: a question to cuDNN as plain data. Builders and importers create it, a single lowering converts it to cuDNN
// descriptors, and a hash identifies it. Ports refer to tensors by uid.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/data_type.hpp"
#include "base/json.hpp"
#include "graph/modes.hpp"
#include "graph/roles.hpp"

namespace attnprobe::graph {

using Uid = int64_t;

/// A tensor of the graph (CUDNN_BACKEND_TENSOR_DESCRIPTOR).
struct Tensor {
  Uid uid = 0;
  std::string name;        ///< for messages; not in the hash, and not in cuDNN's logs
  Role role = Role::none;  ///< its role in attention; not in the hash either
  DataType data_type = DataType::f32;
  std::vector<int64_t> dims, strides;  ///< strides in elements
  int64_t alignment = 16;              ///< bytes
  bool is_virtual = false;             ///< lives only inside the fused kernel
  bool by_value = false;               ///< a scalar, passed as a host value at execution
  Reordering reordering = Reordering::NONE;
  std::optional<Uid> ragged_offset;          ///< the tensor with the offset of each batch entry
  std::optional<int64_t> ragged_multiplier;  ///< elements per unit of an offset; none: 1 (from 9.24)
  std::optional<double> value;               ///< of a by-value scalar, if known; not in the hash
};

/// C = A B, over the last two dims.
struct Matmul {
  Uid a = 0, b = 0, c = 0;
  std::optional<Uid> m_override, n_override, k_override;  ///< lengths per batch entry
  DataType compute = DataType::f32;
};

/// Elementwise. The mode determines which ports are set: unary x -> y, binary x, b -> y, select x, b, t -> y,
/// activation backward x, dy -> dx.
struct Pointwise {
  PointwiseMode mode = PointwiseMode::IDENTITY;
  DataType compute = DataType::f32;
  std::optional<Uid> x, b, t, y, dy, dx;
  std::optional<int64_t> axis;           ///< of GEN_INDEX
  std::optional<double> alpha1, alpha2;  ///< factors of x and b; unset: 1. Builders never set them
};

/// Y = X reduced along every axis where Y has extent 1 and X has more.
struct Reduction {
  ReductionOperator op = ReductionOperator::ADD;
  Uid x = 0, y = 0;
  DataType compute = DataType::f32;
};

/// Y = X in another order of axes, expressed only by dims and strides.
struct Reshape {
  Uid x = 0, y = 0;
};

/// Random numbers from Philox. BERNOULLI: 1 with the given probability (dropout keeps those elements), else 0.
struct Rng {
  RngDistribution distribution = RngDistribution::BERNOULLI;
  std::optional<double> probability;
  std::optional<int64_t> constant_seed;  ///< constant seed instead of the seed tensor
  std::optional<Uid> seed, offset;
  Uid y = 0;
};

/// Y = the tokens of a paged K or V cache, gathered block by block (from 9.5).
struct PagedCacheLoad {
  Uid container = 0, page_table = 0, sequence = 0, y = 0;
};

/// Y = X times one scale per block (from 9.7; MXFP8: blocks of 1x32).
struct BlockScaleDequantize {
  Uid x = 0, scale = 0, y = 0;
  std::vector<int64_t> block_size;
  DataType compute = DataType::f32;
  bool negative_scale = false;
};

/// Y = X with the last `dim` of each head (0: all) rotated by angles {s, 1, 1, d}, times `scale` (from 9.24).
struct Rope {
  Uid x = 0, angles = 0, y = 0;
  std::optional<double> scale;
  std::optional<int64_t> dim;
};

/// One bound of a band about the diagonal; elements outside become `fill` (from 9.21). At most one of left_bound and
/// shift_right_bound is set.
struct DiagonalBandMask {
  PointwiseMode comparison = PointwiseMode::CMP_GE;  ///< CMP_GE on the right, CMP_GT on the left
  Uid x = 0, fill = 0;
  std::optional<Uid> seq_len_q, seq_len_kv, left_bound, shift_right_bound;
  std::optional<Uid> cu_seq_len_q, cu_seq_len_kv;  ///< lengths as prefix sums (from 9.24)
  Uid y = 0;
};

/// Softmax over the last axis (from 9.21).
struct Softmax {
  Uid x = 0;
  std::optional<Uid> sink;
  Uid y = 0;
  std::optional<Uid> stats, max, sum_exp;
  std::optional<bool> stats_log2;  ///< statistics to base 2 (from 9.27)
};

/// cuDNN's unified operation for scaled dot-product attention (from 9.13.1). K is {b, h, s_kv, d}, not transposed. From
/// 9.21 it may contain a sub-graph of the scores (OpGraph::score_operations, from score_input to score_output) and a
/// separate softmax (softmax_x, softmax_y, sink, max, sum_exp).
struct SdpaForward {
  Uid q = 0, k = 0, v = 0, o = 0;
  std::optional<Uid> scale, stats, seq_len_q, seq_len_kv, block_mask, page_table_k, page_table_v;
  std::optional<Uid> score_input, score_output, softmax_x, softmax_y, sink, max, sum_exp;
  std::optional<double> dropout_probability;
  std::optional<Uid> seed, offset, rng_dump;
  std::optional<Uid> cu_seq_len_q, cu_seq_len_kv;  ///< lengths as prefix sums (from 9.24)
  // fp8 and MXFP8 (from 9.25).
  std::optional<Uid> descale_q, descale_k, descale_v, descale_s, scale_s, scale_o, amax_s, amax_o;
  std::optional<bool> unfuse_fma, stats_log2;
};

/// The backward pass of SdpaForward. cuDNN 9.19 declares it but refuses every graph with it.
struct SdpaBackward {
  Uid q = 0, k = 0, v = 0, o = 0, d_o = 0, stats = 0, dq = 0, dk = 0, dv = 0;
  std::optional<Uid> scale, seq_len_q, seq_len_kv, score_input, score_output, sink, d_sink, d_bias;
  std::optional<int64_t> max_total_seqlen_q, max_total_seqlen_kv;
  std::optional<double> dropout_probability;
  std::optional<Uid> seed, offset;
  std::optional<Uid> cu_seq_len_q, cu_seq_len_kv;  ///< in the header of 9.28
};

using Operation = std::variant<Matmul, Pointwise, Reduction, Reshape, Rng, PagedCacheLoad, BlockScaleDequantize,
                               DiagonalBandMask, Softmax, SdpaForward, SdpaBackward, Rope>;

struct OpGraph {
  std::vector<Tensor> tensors;
  std::vector<Operation> operations;
  std::vector<Operation> score_operations;  ///< the sub-graph inside an SdpaForward or SdpaBackward
  /// Extents may change when the plan runs. Dynamic: the kernels accept any extents. Override: they are given at run
  /// time (from 9.21).
  bool dynamic_shapes = false, override_shapes = false;
};

/// Throws Error(internal) if the graph has no tensor with that uid.
const Tensor& tensor(const OpGraph& graph, Uid uid);

/// One word per operation: "matmul", "mul", "reduce_max", "sdpa_forward", ….
std::string operation_name(const Operation& operation);

/// One port of an operation.
struct Port {
  std::string name;  ///< "a", "m_override", "seq_len_q", …
  Uid uid;
  bool is_output;
};

/// The ports that are set, inputs before outputs.
std::vector<Port> ports(const Operation& operation);

/// The JSON form: {"tensors": […], "operations": […]}, ports as uids.
Json to_json(const OpGraph& graph);

/// The inverse of to_json. Throws Error(usage) naming the problem.
OpGraph from_json(const Json& json);

/// 32 hexadecimal digits (XXH3-128), stable across releases. Ignores what does not affect cuDNN's verdict: uids, names,
/// values of by-value scalars, and the order of tensors and operations.
std::string hash(const OpGraph& graph);

/// Graphviz text: operations as boxes, tensors on the edges, inputs and outputs of the graph as ellipses.
std::string to_dot(const OpGraph& graph, const std::string& title);

}  // namespace attnprobe::graph
