#include "graph_edits.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>

#include "base/text.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::test {
namespace {

using namespace graph;

Tensor& named(OpGraph& graph, const std::string& name) {
  for (auto& tensor : graph.tensors)
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + name);
}

size_t first(const OpGraph& graph, PointwiseMode mode) {
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    const auto* op = std::get_if<Pointwise>(&graph.operations[i]);
    if (op != nullptr && op->mode == mode) return i;
  }
  throw std::runtime_error("no such operation");
}

Pointwise& pointwise_at(OpGraph& graph, size_t index) {
  return std::get<Pointwise>(graph.operations.at(index));
}

Matmul& first_matmul(OpGraph& graph) {
  for (auto& operation : graph.operations)
    if (auto* matmul = std::get_if<Matmul>(&operation)) return *matmul;
  throw std::runtime_error("no matmul");
}

void erase(OpGraph& graph, size_t index) {
  graph.operations.erase(graph.operations.begin() + static_cast<std::ptrdiff_t>(index));
}

void insert(OpGraph& graph, size_t index, const Pointwise& op) {
  graph.operations.insert(graph.operations.begin() + static_cast<std::ptrdiff_t>(index), op);
}

Uid add_tensor(OpGraph& graph, Tensor tensor) {
  tensor.uid = static_cast<Uid>(graph.tensors.size()) + 1;
  graph.tensors.push_back(tensor);
  return tensor.uid;
}

Uid add_like(OpGraph& graph, Uid uid, DataType type) {
  Tensor copy = tensor(graph, uid);
  copy.is_virtual = true;
  copy.data_type = type;
  return add_tensor(graph, copy);
}

Uid add_scalar(OpGraph& graph, DataType type) {
  Tensor scalar;
  scalar.data_type = type;
  scalar.dims = scalar.strides = {1, 1, 1, 1};
  scalar.by_value = true;
  return add_tensor(graph, scalar);
}

// From operation `begin` on, every input that read `from` reads `to`.
void rewire(OpGraph& graph, Uid from, Uid to, size_t begin = 0) {
  for (size_t i = begin; i < graph.operations.size(); ++i) {
    auto replace = [&](const char*, auto& uid, PortDirection direction) {
      if (direction == PortDirection::input && uid == from) uid = to;
    };
    std::visit([&](auto& op) { for_each_port(op, replace); }, graph.operations[i]);
  }
}

Pointwise product(Uid x, Uid factor, Uid y) {
  Pointwise op;
  op.mode = PointwiseMode::MUL;
  op.x = x;
  op.b = factor;
  op.y = y;
  return op;
}

// Multiplies an input of the first matmul before the matmul.
void scale_operand(OpGraph& graph, Uid Matmul::*operand, DataType scalar) {
  const Uid x = first_matmul(graph).*operand;
  const Uid y = add_like(graph, x, tensor(graph, x).data_type);
  const Uid factor = add_scalar(graph, scalar);
  first_matmul(graph).*operand = y;
  insert(graph, 0, product(x, factor, y));
}

void drop_stats(OpGraph& graph) {
  const size_t log = first(graph, PointwiseMode::LOG);
  erase(graph, log + 1);
  erase(graph, log);
}

void scale_after_bias(OpGraph& graph) {
  const size_t add = first(graph, PointwiseMode::ADD);
  const Uid biased = *pointwise_at(graph, add).y, scaled = add_like(graph, biased, DataType::f32);
  rewire(graph, biased, scaled, add + 1);
  insert(graph, add + 1, product(biased, add_scalar(graph, DataType::f32), scaled));
}

void reciprocal(OpGraph& graph) {
  const size_t div = first(graph, PointwiseMode::DIV);
  Pointwise inverse;
  inverse.mode = PointwiseMode::RECIPROCAL;
  inverse.x = pointwise_at(graph, div).b;
  inverse.y = add_like(graph, *inverse.x, DataType::f32);
  pointwise_at(graph, div).mode = PointwiseMode::MUL;
  pointwise_at(graph, div).b = inverse.y;
  insert(graph, div, inverse);
}

void no_max(OpGraph& graph) {
  const size_t sub = first(graph, PointwiseMode::SUB);
  const Pointwise op = pointwise_at(graph, sub);
  erase(graph, sub);
  rewire(graph, *op.y, *op.x);
}

// Removes the legacy pattern's mask, but not the lengths of the matmuls.
void drop_mask(OpGraph& graph) {
  const size_t begin = first(graph, PointwiseMode::GEN_INDEX);
  const size_t end = first(graph, PointwiseMode::BINARY_SELECT);
  const Pointwise select = pointwise_at(graph, end);
  for (size_t i = end + 1; i-- > begin;) erase(graph, i);
  rewire(graph, *select.y, *select.x);
}

const std::map<std::string, std::function<void(OpGraph&)>>& edits() {
  static const std::map<std::string, std::function<void(OpGraph&)>> all{
      {"drop_stats", drop_stats},
      {"scale_after_bias", scale_after_bias},
      {"reciprocal", reciprocal},
      {"no_max", no_max},
      {"drop_mask", drop_mask},
      {"scale_q", [](OpGraph& g) { scale_operand(g, &Matmul::a, DataType::f32); }},
      {"scale_k", [](OpGraph& g) { scale_operand(g, &Matmul::b, DataType::f16); }},
      {"p_f32", [](OpGraph& g) { named(g, "P").data_type = DataType::f32; }},
      {"s_f32", [](OpGraph& g) { named(g, "S").data_type = DataType::f32; }},
      {"s_f16",
       [](OpGraph& g) {
         named(g, "S").data_type = DataType::f16;
         const Uid scaled = *pointwise_at(g, first(g, PointwiseMode::MUL)).y;
         g.tensors.at(static_cast<size_t>(scaled - 1)).data_type = DataType::f16;
       }},
      {"k_bf16", [](OpGraph& g) { named(g, "K^T").data_type = DataType::bf16; }},
      {"v_bf16", [](OpGraph& g) { named(g, "V").data_type = DataType::bf16; }},
      {"k_io", [](OpGraph& g) { named(g, "K").data_type = DataType::f16; }},
      {"reverse", [](OpGraph& g) { std::reverse(g.operations.begin(), g.operations.end()); }},
      {"no_reordering",
       [](OpGraph& g) {
         for (auto& tensor : g.tensors) tensor.reordering = Reordering::NONE;
       }},
  };
  return all;
}

}  // namespace

void edit_graph(OpGraph& graph, const std::string& words) {
  for (const auto& word : split(words, ' ')) {
    const auto found = edits().find(word);
    if (found == edits().end()) throw std::runtime_error("unknown edit " + word);
    found->second(graph);
  }
}

}  // namespace attnprobe::test
