// The modes of graph operations, with cuDNN's names (cudnn_graph.h) without the prefix.
#pragma once

#include "base/enum_names.hpp"

// One list generates the enum, its names and the translation for lowering.
// clang-format off
#define ATTNPROBE_POINTWISE_MODES(X)                                                                             \
  X(ADD) X(ADD_SQUARE) X(DIV) X(MAX) X(MIN) X(MOD) X(MUL) X(POW) X(SUB) X(ABS) X(CEIL) X(COS) X(EXP) X(FLOOR)    \
  X(LOG) X(NEG) X(RSQRT) X(SIN) X(SQRT) X(TAN) X(ERF) X(IDENTITY) X(RECIPROCAL) X(ATAN2) X(RELU_FWD) X(TANH_FWD) \
  X(SIGMOID_FWD) X(ELU_FWD) X(GELU_FWD) X(SOFTPLUS_FWD) X(SWISH_FWD) X(GELU_APPROX_TANH_FWD) X(RELU_BWD)         \
  X(TANH_BWD) X(SIGMOID_BWD) X(ELU_BWD) X(GELU_BWD) X(SOFTPLUS_BWD) X(SWISH_BWD) X(GELU_APPROX_TANH_BWD)         \
  X(CMP_EQ) X(CMP_NEQ) X(CMP_GT) X(CMP_GE) X(CMP_LT) X(CMP_LE) X(LOGICAL_AND) X(LOGICAL_OR) X(LOGICAL_NOT)       \
  X(GEN_INDEX) X(BINARY_SELECT)
// clang-format on

#define ATTNPROBE_REDUCTION_OPERATORS(X) X(ADD) X(MUL) X(MIN) X(MAX) X(AMAX) X(AVG) X(NORM1) X(NORM2) X(MUL_NO_ZEROS)

#define ATTNPROBE_REORDERINGS(X) X(NONE) X(INT8x32) X(F16x16) X(F8_128x4)

#define ATTNPROBE_RNG_DISTRIBUTIONS(X) X(BERNOULLI) X(UNIFORM) X(NORMAL)

#define ATTNPROBE_ENUMERATOR(name) name,

namespace attnprobe::graph {
enum class PointwiseMode { ATTNPROBE_POINTWISE_MODES(ATTNPROBE_ENUMERATOR) };
enum class ReductionOperator { ATTNPROBE_REDUCTION_OPERATORS(ATTNPROBE_ENUMERATOR) };
enum class RngDistribution { ATTNPROBE_RNG_DISTRIBUTIONS(ATTNPROBE_ENUMERATOR) };
enum class Reordering { ATTNPROBE_REORDERINGS(ATTNPROBE_ENUMERATOR) };
}  // namespace attnprobe::graph

#undef ATTNPROBE_ENUMERATOR

namespace attnprobe {

#define ATTNPROBE_NAMED(name) std::pair{E::name, std::string_view(#name)},

template <>
struct EnumNames<graph::PointwiseMode> {
  using E = graph::PointwiseMode;
  static constexpr auto table =
      std::to_array<std::pair<E, std::string_view>>({ATTNPROBE_POINTWISE_MODES(ATTNPROBE_NAMED)});
};

template <>
struct EnumNames<graph::ReductionOperator> {
  using E = graph::ReductionOperator;
  static constexpr auto table =
      std::to_array<std::pair<E, std::string_view>>({ATTNPROBE_REDUCTION_OPERATORS(ATTNPROBE_NAMED)});
};

template <>
struct EnumNames<graph::RngDistribution> {
  using E = graph::RngDistribution;
  static constexpr auto table =
      std::to_array<std::pair<E, std::string_view>>({ATTNPROBE_RNG_DISTRIBUTIONS(ATTNPROBE_NAMED)});
};

template <>
struct EnumNames<graph::Reordering> {
  using E = graph::Reordering;
  static constexpr auto table = std::to_array<std::pair<E, std::string_view>>({ATTNPROBE_REORDERINGS(ATTNPROBE_NAMED)});
};

#undef ATTNPROBE_NAMED

}  // namespace attnprobe
