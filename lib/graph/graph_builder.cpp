#include "attnprobe/graph/graph_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attnprobe/error.hpp"

namespace attnprobe::graph {

Dims packed_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

GraphBuilder::GraphBuilder(std::vector<Tensor> tensors) {
  for (const Tensor& t : tensors) last_uid_ = std::max(last_uid_, t.uid);
  graph_.tensors = std::move(tensors);
}

Uid GraphBuilder::add_tensor(Tensor t) {
  t.uid = ++last_uid_;
  graph_.tensors.push_back(std::move(t));
  return graph_.tensors.back().uid;
}

Tensor& GraphBuilder::at(Uid uid) {
  // Uids count from 1, but for tensors that were given.
  const auto guess = static_cast<size_t>(uid - 1);
  if (guess < graph_.tensors.size() && graph_.tensors[guess].uid == uid) return graph_.tensors[guess];
  const auto found = std::find_if(graph_.tensors.begin(), graph_.tensors.end(),
                                  [&](const Tensor& t) { return t.uid == uid; });
  if (found == graph_.tensors.end()) throw Error(ErrorKind::internal, fmt::format("no tensor {}", uid));
  return *found;
}

Uid GraphBuilder::tensor(const std::string& name, DataType type, const Dims& dims, const Dims& strides) {
  Tensor t;
  t.name = name;
  t.data_type = type;
  t.dims = dims;
  t.strides = strides;
  return add_tensor(std::move(t));
}

Uid GraphBuilder::virtual_tensor(const std::string& name, DataType type, const Dims& dims,
                                 const Dims& strides) {
  const Uid uid = tensor(name, type, dims, strides.empty() ? packed_strides(dims) : strides);
  at(uid).is_virtual = true;
  return uid;
}

Uid GraphBuilder::scalar(const std::string& name, DataType type, double value) {
  const Uid uid = tensor(name, type, {1, 1, 1, 1}, {1, 1, 1, 1});
  at(uid).by_value = true;
  at(uid).value = value;
  return uid;
}

Uid GraphBuilder::one_element(const std::string& name, DataType type) {
  return tensor(name, type, {1, 1, 1, 1}, {1, 1, 1, 1});
}

Uid GraphBuilder::matmul(Uid a, Uid b, Uid c, std::optional<Uid> m, std::optional<Uid> n,
                         std::optional<Uid> k) {
  add(Matmul{a, b, c, m, n, k, DataType::f32});
  return c;
}

Uid GraphBuilder::pointwise(PointwiseMode mode, Uid x, std::optional<Uid> b, const Options& options) {
  const Uid y = options.into
                    ? *options.into
                    : virtual_tensor(options.name, options.out, Dims(at(x).dims), Dims(at(x).strides));
  Pointwise op;
  op.mode = mode;
  op.compute = options.compute;
  op.x = x;
  op.b = b;
  op.t = options.mask;
  op.y = y;
  add(op);
  return y;
}

Uid GraphBuilder::compare(PointwiseMode mode, Uid x, Uid b, DataType compute) {
  return pointwise(mode, x, b, {.out = DataType::boolean, .compute = compute});
}

Uid GraphBuilder::index(Uid x, int64_t axis, DataType out, DataType compute) {
  const Uid y = pointwise(PointwiseMode::GEN_INDEX, x, {},
                          {.out = out, .compute = compute, .name = axis == 2 ? "row" : "column"});
  std::get<Pointwise>(list().back()).axis = axis;
  return y;
}

Uid GraphBuilder::select(Uid x, Uid otherwise, Uid mask) {
  return pointwise(PointwiseMode::BINARY_SELECT, x, otherwise, {.mask = mask});
}

Uid GraphBuilder::activation_backward(PointwiseMode mode, Uid x, Uid dy) {
  Pointwise op;
  op.mode = mode;
  op.x = x;
  op.dy = dy;
  op.dx = virtual_tensor("", DataType::f32, Dims(at(x).dims), Dims(at(x).strides));
  add(op);
  return *op.dx;
}

Uid GraphBuilder::reduce(ReductionOperator op, Uid x, Uid y) {
  add(Reduction{op, x, y, DataType::f32});
  return y;
}

Uid GraphBuilder::reduce(ReductionOperator op, Uid x, const Dims& dims) {
  return reduce(op, x, virtual_tensor("", DataType::f32, dims));
}

Uid GraphBuilder::reshape(Uid x, Uid y) {
  add(Reshape{x, y});
  return y;
}

}  // namespace attnprobe::graph
