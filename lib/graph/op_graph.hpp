// OpGraph: what cuDNN is asked, as plain data. Builders and importers make it, one lowering turns it into
// cuDNN descriptors, one hash names it. Ports refer to tensors by uid.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attnprobe/attention/data_type.hpp"
#include "attnprobe/graph/modes.hpp"
#include "attnprobe/json.hpp"

namespace attnprobe::graph {

using Uid = int64_t;

/// A tensor of the graph (CUDNN_BACKEND_TENSOR_DESCRIPTOR).
struct Tensor {
  Uid uid = 0;
  std::string name;  ///< for people; not part of the hash, and in no cuDNN log
  DataType data_type = DataType::f32;
  std::vector<int64_t> dims, strides;  ///< strides in elements
  int64_t alignment = 16;              ///< bytes
  bool is_virtual = false;             ///< lives only inside the fused kernel
  bool by_value = false;               ///< a scalar given as a host value at execute time
  Reordering reordering = Reordering::NONE;
  std::optional<Uid> ragged_offset;  ///< the tensor that holds the offset of each batch entry
  std::optional<double> value;       ///< of a by-value scalar, where known; not part of the hash
};

/// C = A B, over the last two dims.
struct Matmul {
  Uid a = 0, b = 0, c = 0;
  std::optional<Uid> m_override, n_override, k_override;  ///< lengths per batch entry
  DataType compute = DataType::f32;
};

/// Element by element. Which ports are set depends on the mode: unary x -> y, binary x, b -> y, select x, b,
/// t -> y, activation backward x, dy -> dx.
struct Pointwise {
  PointwiseMode mode = PointwiseMode::IDENTITY;
  DataType compute = DataType::f32;
  std::optional<Uid> x, b, t, y, dy, dx;
  std::optional<int64_t> axis;  ///< of GEN_INDEX
};

/// Y = X reduced along every axis in which Y has extent 1 and X has more.
struct Reduction {
  ReductionOperator op = ReductionOperator::ADD;
  Uid x = 0, y = 0;
  DataType compute = DataType::f32;
};

/// cuDNN's single operation for scaled dot-product attention (from 9.13.1). K is {b, h, s_kv, d}, not
/// transposed.
struct SdpaForward {
  Uid q = 0, k = 0, v = 0, o = 0;
  std::optional<Uid> scale, stats, seq_len_q, seq_len_kv;
};

using Operation = std::variant<Matmul, Pointwise, Reduction, SdpaForward>;

struct OpGraph {
  std::vector<Tensor> tensors;
  std::vector<Operation> operations;
};

/// Throws Error(internal) if the graph has no tensor of that uid.
const Tensor& tensor(const OpGraph& graph, Uid uid);

/// "matmul", "mul", "reduce_max", "sdpa_forward", …: one word an operation.
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

/// The way back. Throws Error(usage) naming what is wrong.
OpGraph from_json(const Json& json);

/// 32 hexadecimal digits (XXH3-128) of the graph's canonical form: equal for graphs that differ only in uids,
/// names and values of by-value scalars, none of which cuDNN's verdict depends on; stable across releases.
std::string hash(const OpGraph& graph);

/// Graphviz text: operations as boxes, tensors on the edges, inputs and outputs of the graph as ellipses.
std::string to_dot(const OpGraph& graph, const std::string& title);

}  // namespace attnprobe::graph
