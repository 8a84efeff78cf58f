// Score modifiers in the form of cudnn-frontend's own tests and samples (test_flexible_sdpa*.py).
#include <limits>

#include "build_graph.hpp"

namespace frontend {
namespace {

using fe::DataType_t;
using fe::PointwiseMode_t;

struct Types {
  DataType_t compute = DataType_t::FLOAT, output = DataType_t::FLOAT;
};

fe::graph::Pointwise_attributes pointwise_attributes(PointwiseMode_t mode, Types types) {
  return fe::graph::Pointwise_attributes().set_mode(mode).set_compute_data_type(types.compute);
}

Tensor pointwise(const Graph& graph, PointwiseMode_t mode, const Tensor& a, Types types = {}) {
  const Tensor result = graph->pointwise(a, pointwise_attributes(mode, types));
  result->set_data_type(types.output);
  return result;
}

Tensor pointwise(const Graph& graph, PointwiseMode_t mode, const Tensor& a, const Tensor& b, Types types = {}) {
  const Tensor result = graph->pointwise(a, b, pointwise_attributes(mode, types));
  result->set_data_type(types.output);
  return result;
}

Tensor index_of(const Graph& graph, const Tensor& score, int64_t axis, DataType_t compute = DataType_t::FLOAT) {
  auto attributes = pointwise_attributes(PointwiseMode_t::GEN_INDEX, {compute, DataType_t::INT32});
  const Tensor index = graph->pointwise(score, attributes.set_axis(axis));
  index->set_data_type(DataType_t::INT32);
  return index;
}

Tensor select(const Graph& graph, const Tensor& where_true, const Tensor& where_false, const Tensor& mask) {
  const Tensor result =
      graph->pointwise(where_true, where_false, mask, pointwise_attributes(PointwiseMode_t::BINARY_SELECT, {}));
  result->set_data_type(DataType_t::FLOAT);
  return result;
}

// A mask of the scores: the gradient gets the same mask, with zero.
Modifiers masking(const Graph& main, const Modifier& mask) {
  const Tensor hidden = main->tensor(-std::numeric_limits<float>::infinity());
  const Tensor zero = main->tensor(0.0F);
  return {[=](Graph graph, Tensor x) { return select(graph, x, hidden, mask(graph, x)); },
          [=](Graph graph, Tensor dy) { return select(graph, dy, zero, mask(graph, dy)); }};
}

Modifiers causal(const Graph& main) {
  return masking(main, [](Graph graph, Tensor x) {
    return pointwise(graph, PointwiseMode_t::CMP_GE, index_of(graph, x, 2), index_of(graph, x, 3),
                     {DataType_t::BOOLEAN, DataType_t::BOOLEAN});
  });
}

Modifiers arrow(const Graph& main) {
  const Tensor rows = main->tensor(int32_t{64}), columns = main->tensor(int32_t{64});
  const Tensor lowest = main->tensor(int32_t{-64}), highest = main->tensor(int32_t{64});
  return masking(main, [=](Graph graph, Tensor x) {
    const Types flag{DataType_t::BOOLEAN, DataType_t::INT32};
    const Tensor row = index_of(graph, x, 2), column = index_of(graph, x, 3);
    const Tensor first_rows = pointwise(graph, PointwiseMode_t::CMP_LT, row, rows, flag);
    const Tensor first_columns = pointwise(graph, PointwiseMode_t::CMP_LT, column, columns, flag);
    const Tensor diagonal = pointwise(graph, PointwiseMode_t::SUB, row, column, {DataType_t::INT32, DataType_t::INT32});
    const Tensor above = pointwise(graph, PointwiseMode_t::CMP_GE, diagonal, lowest, flag);
    const Tensor below = pointwise(graph, PointwiseMode_t::CMP_LE, diagonal, highest, flag);
    const Tensor band = pointwise(graph, PointwiseMode_t::LOGICAL_AND, above, below, flag);
    const Tensor edge = pointwise(graph, PointwiseMode_t::LOGICAL_OR, first_rows, first_columns, flag);
    return pointwise(graph, PointwiseMode_t::LOGICAL_OR, edge, band, flag);
  });
}

Modifiers document(const Graph& main, const Config& config) {
  const int64_t sq = config.seqlen_q, skv = config.seqlen_kv;
  const Tensor of_rows = input(main, "document_q", {1, 1, sq, 1}, {sq, sq, 1, 1}, DataType_t::INT32);
  const Tensor of_columns = input(main, "document_kv", {1, 1, 1, skv}, {skv, skv, skv, 1}, DataType_t::INT32);
  return masking(main, [=](Graph graph, Tensor x) {
    const Types number{DataType_t::FLOAT, DataType_t::INT32};
    const Tensor column = index_of(graph, x, 3, DataType_t::INT32);
    const Tensor one = pointwise(graph, PointwiseMode_t::CMP_LE, column, column, number);  // ones of the scores' shape
    const Tensor row_ids = pointwise(graph, PointwiseMode_t::MUL, one, of_rows, number);
    const Tensor column_ids = pointwise(graph, PointwiseMode_t::MUL, one, of_columns, number);
    return pointwise(graph, PointwiseMode_t::CMP_EQ, row_ids, column_ids, number);
  });
}

Modifiers mask_tensor(const Graph& main, const Config& config, DataType_t type) {
  const Dims dims{config.batch, 1, config.seqlen_q, config.seqlen_kv};
  const Tensor mask = input(main, "score_mask", dims, packed_strides(dims), type);
  return masking(main, [mask](const Graph&, const Tensor&) { return mask; });
}

Modifiers factor(const Tensor& tensor) {
  const Modifier multiply = [tensor](Graph graph, Tensor x) {
    return pointwise(graph, PointwiseMode_t::MUL, x, tensor);
  };
  return {multiply, multiply};
}

// Adds a constant, so the gradient is unchanged.
Modifiers relative_position() {
  return {[](Graph graph, Tensor x) {
            const Tensor distance = pointwise(graph, PointwiseMode_t::SUB, index_of(graph, x, 2), index_of(graph, x, 3),
                                              {DataType_t::INT32, DataType_t::INT32});
            return pointwise(graph, PointwiseMode_t::ADD, x, distance);
          },
          {}};
}

// `gradient` receives the graph, dy and the modifier's input.
Modifiers function_of(const Modifier& value, const std::function<Tensor(Graph, Tensor, Tensor)>& gradient) {
  const auto saved = std::make_shared<Tensor>();
  return {[=](Graph graph, Tensor x) {
            *saved = x;
            return value(graph, x);
          },
          [=](Graph graph, Tensor dy) { return gradient(graph, dy, *saved); }};
}

Modifiers activation(PointwiseMode_t forward, PointwiseMode_t backward) {
  return function_of([=](Graph graph, Tensor x) { return pointwise(graph, forward, x); },
                     [=](Graph graph, Tensor dy, Tensor x) { return pointwise(graph, backward, dy, x); });
}

Modifiers elementary(const Graph& main, const std::string& kind) {
  using Mode = PointwiseMode_t;
  const Types flag{DataType_t::BOOLEAN, DataType_t::BOOLEAN};
  const Tensor zero = main->tensor(0.0F), one = main->tensor(1.0F), two = main->tensor(2.0F);
  auto plain = [](Mode mode) { return [=](Graph graph, Tensor x) { return pointwise(graph, mode, x); }; };
  if (kind == "abs")
    return function_of(plain(Mode::ABS), [=](Graph graph, Tensor dy, Tensor x) {
      return select(graph, dy, pointwise(graph, Mode::NEG, dy), pointwise(graph, Mode::CMP_GE, x, zero, flag));
    });
  if (kind == "sqrt")
    return function_of(plain(Mode::SQRT), [=](Graph graph, Tensor dy, Tensor x) {
      const Tensor doubled = pointwise(graph, Mode::MUL, pointwise(graph, Mode::SQRT, x), two);
      return pointwise(graph, Mode::DIV, dy, doubled);
    });
  if (kind == "sin")
    return function_of(plain(Mode::SIN), [=](Graph graph, Tensor dy, Tensor x) {
      return pointwise(graph, Mode::MUL, dy, pointwise(graph, Mode::COS, x));
    });
  if (kind == "exp")
    return function_of(plain(Mode::EXP), [=](Graph graph, Tensor dy, Tensor x) {
      return pointwise(graph, Mode::MUL, dy, pointwise(graph, Mode::EXP, x));
    });
  if (kind == "pow")
    return function_of([=](Graph graph, Tensor x) { return pointwise(graph, Mode::POW, x, two); },
                       [=](Graph graph, Tensor dy, Tensor x) {
                         const Tensor power = pointwise(graph, Mode::POW, x, one);
                         return pointwise(graph, Mode::MUL, dy, pointwise(graph, Mode::MUL, power, two));
                       });
  if (kind == "max")
    return function_of([=](Graph graph, Tensor x) { return pointwise(graph, Mode::MAX, x, zero); },
                       [=](Graph graph, Tensor dy, Tensor x) {
                         return select(graph, dy, zero, pointwise(graph, Mode::CMP_GE, x, zero, flag));
                       });
  throw NotExpressible("score_mod " + kind);
}

Modifiers by_kind(const Graph& main, const Config& config) {
  const std::string& kind = config.score_mod->kind;
  using Mode = PointwiseMode_t;
  if (kind == "causal") return causal(main);
  if (kind == "arrow") return arrow(main);
  if (kind == "document") return document(main, config);
  if (kind == "relative_position") return relative_position();
  if (kind == "head_factor")
    return factor(input(main, "factor", {1, config.heads_q, 1, 1}, {config.heads_q, 1, 1, 1}, DataType_t::FLOAT));
  if (kind == "score_factor")
    return factor(
        input(main, "factor", config.score_dims(), packed_strides(config.score_dims()), data_type(config.dtype)));
  if (kind == "mask_i32") return mask_tensor(main, config, DataType_t::INT32);
  if (kind == "mask_boolean") return mask_tensor(main, config, DataType_t::BOOLEAN);
#if CUDNN_FRONTEND_VERSION >= 12600
  if (kind == "mask_byte_boolean") return mask_tensor(main, config, DataType_t::BYTE_BOOLEAN);
#endif
  if (kind == "mask_i8") return mask_tensor(main, config, DataType_t::INT8);
  if (kind == "relu") return activation(Mode::RELU_FWD, Mode::RELU_BWD);
  if (kind == "tanh") return activation(Mode::TANH_FWD, Mode::TANH_BWD);
  if (kind == "sigmoid") return activation(Mode::SIGMOID_FWD, Mode::SIGMOID_BWD);
  if (kind == "gelu") return activation(Mode::GELU_FWD, Mode::GELU_BWD);
  if (kind == "swish") return activation(Mode::SWISH_FWD, Mode::SWISH_BWD);
  return elementary(main, kind);
}

Modifiers soft_capping(const Graph& main, double cap) {
  const Tensor c = main->tensor(static_cast<float>(cap));
  const Modifiers tanh = activation(PointwiseMode_t::TANH_FWD, PointwiseMode_t::TANH_BWD);
  auto around = [c](PointwiseMode_t before, const Modifier& inner, PointwiseMode_t after) -> Modifier {
    return
        [=](Graph graph, Tensor x) { return pointwise(graph, after, inner(graph, pointwise(graph, before, x, c)), c); };
  };
  return {around(PointwiseMode_t::DIV, tanh.forward, PointwiseMode_t::MUL),
          around(PointwiseMode_t::MUL, tanh.backward, PointwiseMode_t::DIV)};
}

Modifier after(const Modifier& first, const Modifier& second) {
  if (!first || !second) return first ? first : second;
  return [=](Graph graph, Tensor x) { return second(graph, first(graph, x)); };
}

}  // namespace

Modifiers score_modifiers(const Graph& graph, const Config& config) {
  Modifiers cap, kind;
  if (config.softcap) cap = soft_capping(graph, *config.softcap);
  if (config.score_mod) kind = by_kind(graph, config);
  if (config.score_mod && !config.score_mod->grad) kind.backward = {};
  return {after(kind.forward, cap.forward), after(cap.backward, kind.backward)};
}

}  // namespace frontend
