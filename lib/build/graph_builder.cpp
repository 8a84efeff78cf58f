#include "build/graph_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace attnprobe::build {

Dims packed_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

GraphBuilder::GraphBuilder(std::vector<graph::Tensor> tensors) {
  for (const graph::Tensor& t : tensors) last_uid_ = std::max(last_uid_, t.uid);
  graph_.tensors = std::move(tensors);
}

graph::Uid GraphBuilder::add_tensor(graph::Tensor t) {
  t.uid = ++last_uid_;
  graph_.tensors.push_back(std::move(t));
  return graph_.tensors.back().uid;
}

graph::Tensor& GraphBuilder::at(graph::Uid uid) {
  // New uids count from 1; given tensors may have any uid.
  const auto guess = static_cast<size_t>(uid - 1);
  if (guess < graph_.tensors.size() && graph_.tensors[guess].uid == uid) return graph_.tensors[guess];
  const auto found =
      std::find_if(graph_.tensors.begin(), graph_.tensors.end(), [&](const graph::Tensor& t) { return t.uid == uid; });
  if (found == graph_.tensors.end()) throw Error(ErrorKind::internal, fmt::format("no tensor {}", uid));
  return *found;
}

graph::Uid GraphBuilder::tensor(const Called& called, DataType type, const Dims& dims, const Dims& strides) {
  graph::Tensor t;
  t.name = called.name;
  t.role = called.role;
  t.data_type = type;
  t.dims = dims;
  t.strides = strides;
  return add_tensor(std::move(t));
}

graph::Uid GraphBuilder::virtual_tensor(const Called& called, DataType type, const Dims& dims, const Dims& strides) {
  const graph::Uid uid = tensor(called, type, dims, strides.empty() ? packed_strides(dims) : strides);
  at(uid).is_virtual = true;
  return uid;
}

graph::Uid GraphBuilder::scalar(const Called& called, DataType type, double value) {
  const graph::Uid uid = tensor(called, type, {1, 1, 1, 1}, {1, 1, 1, 1});
  at(uid).by_value = true;
  at(uid).value = value;
  return uid;
}

graph::Uid GraphBuilder::one_element(const Called& called, DataType type) {
  return tensor(called, type, {1, 1, 1, 1}, {1, 1, 1, 1});
}

graph::Uid GraphBuilder::matmul(graph::Uid a, graph::Uid b, graph::Uid c, std::optional<graph::Uid> m,
                                std::optional<graph::Uid> n, std::optional<graph::Uid> k) {
  add(graph::Matmul{a, b, c, m, n, k, DataType::f32});
  return c;
}

graph::Uid GraphBuilder::pointwise(graph::PointwiseMode mode, graph::Uid x, std::optional<graph::Uid> b,
                                   const Options& options) {
  const graph::Uid y =
      options.into ? *options.into : virtual_tensor(options.called, options.out, Dims(at(x).dims), Dims(at(x).strides));
  graph::Pointwise op;
  op.mode = mode;
  op.compute = options.compute;
  op.x = x;
  op.b = b;
  op.t = options.mask;
  op.y = y;
  add(op);
  return y;
}

graph::Uid GraphBuilder::compare(graph::PointwiseMode mode, graph::Uid x, graph::Uid b, DataType compute) {
  return pointwise(mode, x, b, {.out = DataType::boolean, .compute = compute});
}

graph::Uid GraphBuilder::index(graph::Uid x, int64_t axis, DataType out, DataType compute) {
  const graph::Uid y = pointwise(graph::PointwiseMode::GEN_INDEX, x, {},
                                 {.out = out, .compute = compute, .called = axis == 2 ? "row" : "column"});
  std::get<graph::Pointwise>(list().back()).axis = axis;
  return y;
}

graph::Uid GraphBuilder::select(graph::Uid x, graph::Uid otherwise, graph::Uid mask) {
  return pointwise(graph::PointwiseMode::BINARY_SELECT, x, otherwise, {.mask = mask});
}

graph::Uid GraphBuilder::activation_backward(graph::PointwiseMode mode, graph::Uid x, graph::Uid dy) {
  graph::Pointwise op;
  op.mode = mode;
  op.x = x;
  op.dy = dy;
  op.dx = virtual_tensor("", DataType::f32, Dims(at(x).dims), Dims(at(x).strides));
  add(op);
  return *op.dx;
}

graph::Uid GraphBuilder::reduce(graph::ReductionOperator op, graph::Uid x, graph::Uid y) {
  add(graph::Reduction{op, x, y, DataType::f32});
  return y;
}

graph::Uid GraphBuilder::reduce(graph::ReductionOperator op, graph::Uid x, const Dims& dims) {
  return reduce(op, x, virtual_tensor("", DataType::f32, dims));
}

graph::Uid GraphBuilder::reshape(graph::Uid x, graph::Uid y) {
  add(graph::Reshape{x, y});
  return y;
}

}  // namespace attnprobe::build
