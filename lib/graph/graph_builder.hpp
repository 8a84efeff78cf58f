// What every builder needs: tensors with fresh uids, and operations that make their output tensor.
#pragma once

#include <string>
#include <vector>

#include "attnprobe/graph/op_graph.hpp"

namespace attnprobe::graph {

using Dims = std::vector<int64_t>;

/// Row-major strides.
Dims packed_strides(const Dims& dims);

class GraphBuilder {
 public:
  GraphBuilder() = default;
  /// Goes on from tensors that are there.
  explicit GraphBuilder(std::vector<Tensor> tensors);

  /// A tensor with memory of its own: input or output of the graph.
  Uid tensor(const std::string& name, DataType type, const Dims& dims, const Dims& strides);
  /// A tensor inside the fused kernel, packed unless strides are given.
  Uid virtual_tensor(const std::string& name, DataType type, const Dims& dims, const Dims& strides = {});
  /// A 1x1x1x1 scalar given by value.
  Uid scalar(const std::string& name, DataType type, double value);
  /// A 1x1x1x1 tensor in device memory.
  Uid one_element(const std::string& name, DataType type);

  Uid matmul(Uid a, Uid b, Uid c, std::optional<Uid> m = {}, std::optional<Uid> n = {},
             std::optional<Uid> k = {});

  /// y = mode(x[, b]) into a new virtual tensor shaped as x.
  struct Options {
    DataType out = DataType::f32, compute = DataType::f32;
    std::string name{};
    std::optional<Uid> into{};  ///< an existing tensor instead of a new one
    std::optional<Uid> mask{};  ///< of BINARY_SELECT
  };
  Uid pointwise(PointwiseMode mode, Uid x, std::optional<Uid> b, const Options& options);
  Uid pointwise(PointwiseMode mode, Uid x, std::optional<Uid> b = {}) {
    return pointwise(mode, x, b, Options{});
  }
  /// CMP_* and LOGICAL_*: BOOLEAN output, computed in BOOLEAN.
  Uid compare(PointwiseMode mode, Uid x, Uid b, DataType compute = DataType::boolean);
  /// Indices along `axis` of the tensor x.
  Uid index(Uid x, int64_t axis, DataType out, DataType compute);
  /// mask ? x : otherwise.
  Uid select(Uid x, Uid otherwise, Uid mask);
  /// The gradient of an activation at x.
  Uid activation_backward(PointwiseMode mode, Uid x, Uid dy);
  Uid reduce(ReductionOperator op, Uid x, Uid y);
  /// Into a new virtual tensor of these dims.
  Uid reduce(ReductionOperator op, Uid x, const Dims& dims);
  Uid reshape(Uid x, Uid y);
  void add(const Operation& operation) { list().push_back(operation); }

  /// What is added from here on goes into the sub-graph of a single SDPA operation, or back outside it.
  void inside_sdpa(bool inside) { inside_sdpa_ = inside; }

  Tensor& at(Uid uid);
  OpGraph take() { return std::move(graph_); }

 private:
  std::vector<Operation>& list() { return inside_sdpa_ ? graph_.score_operations : graph_.operations; }
  Uid add_tensor(Tensor t);
  OpGraph graph_;
  Uid last_uid_ = 0;
  bool inside_sdpa_ = false;
};

}  // namespace attnprobe::graph
