// The base of every builder: tensors with new uids, and operations that create their output tensor.
#pragma once

#include <string>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::build {

using graph::Role;
using Dims = std::vector<int64_t>;

/// Row-major strides.
Dims packed_strides(const Dims& dims);

/// A tensor with a role, which names it, or with only a name for display.
struct Called {
  Called(Role its_role) : role(its_role), name(graph::display_name(its_role)) {}  // NOLINT: meant to convert
  Called(std::string its_name) : name(std::move(its_name)) {}                     // NOLINT
  Called(const char* its_name) : name(its_name) {}                                // NOLINT
  Role role = Role::none;
  std::string name;
};

class GraphBuilder {
 public:
  GraphBuilder() = default;
  /// Continues a graph that already has these tensors.
  explicit GraphBuilder(std::vector<graph::Tensor> tensors);

  /// A tensor with its own memory: input or output of the graph.
  graph::Uid tensor(const Called& called, DataType type, const Dims& dims, const Dims& strides);
  /// A tensor inside the fused kernel, packed unless strides are given.
  graph::Uid virtual_tensor(const Called& called, DataType type, const Dims& dims, const Dims& strides = {});
  /// A 1x1x1x1 scalar given by value.
  graph::Uid scalar(const Called& called, DataType type, double value);
  /// A 1x1x1x1 tensor in device memory.
  graph::Uid one_element(const Called& called, DataType type);

  graph::Uid matmul(graph::Uid a, graph::Uid b, graph::Uid c, std::optional<graph::Uid> m = {},
                    std::optional<graph::Uid> n = {}, std::optional<graph::Uid> k = {});

  /// y = mode(x[, b]) into a new virtual tensor with the shape of x.
  struct Options {
    DataType out = DataType::f32, compute = DataType::f32;
    Called called = "";
    std::optional<graph::Uid> into{};  ///< an existing tensor instead of a new one
    std::optional<graph::Uid> mask{};  ///< for BINARY_SELECT
  };
  graph::Uid pointwise(graph::PointwiseMode mode, graph::Uid x, std::optional<graph::Uid> b, const Options& options);
  graph::Uid pointwise(graph::PointwiseMode mode, graph::Uid x, std::optional<graph::Uid> b = {}) {
    return pointwise(mode, x, b, Options{});
  }
  /// CMP_* and LOGICAL_*: BOOLEAN output, computed in BOOLEAN.
  graph::Uid compare(graph::PointwiseMode mode, graph::Uid x, graph::Uid b, DataType compute = DataType::boolean);
  /// Indices along `axis` of the tensor x.
  graph::Uid index(graph::Uid x, int64_t axis, DataType out, DataType compute);
  /// mask ? x : otherwise.
  graph::Uid select(graph::Uid x, graph::Uid otherwise, graph::Uid mask);
  /// The gradient of an activation at x.
  graph::Uid activation_backward(graph::PointwiseMode mode, graph::Uid x, graph::Uid dy);
  graph::Uid reduce(graph::ReductionOperator op, graph::Uid x, graph::Uid y);
  /// Reduces into a new virtual tensor with these dims.
  graph::Uid reduce(graph::ReductionOperator op, graph::Uid x, const Dims& dims);
  graph::Uid reshape(graph::Uid x, graph::Uid y);
  void add(const graph::Operation& operation) { list().push_back(operation); }

  /// Whether new operations go into the sub-graph of a unified SDPA operation.
  void inside_sdpa(bool inside) { inside_sdpa_ = inside; }

  graph::Tensor& at(graph::Uid uid);
  graph::OpGraph take() { return std::move(graph_); }

 private:
  std::vector<graph::Operation>& list() { return inside_sdpa_ ? graph_.score_operations : graph_.operations; }
  graph::Uid add_tensor(graph::Tensor t);
  graph::OpGraph graph_;
  graph::Uid last_uid_ = 0;
  bool inside_sdpa_ = false;
};

}  // namespace attnprobe::build
