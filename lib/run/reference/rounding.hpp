// The roundings of a plan, which depend on types. device/error_kernels.hpp propagates them.
#pragma once

#include "graph/op_graph.hpp"

namespace attnprobe::run {

/// Half a unit in the last place (relative, worst case), and half the smallest number (absolute, for smaller values).
struct Rounding {
  double unit = 0, smallest = 0;
};

/// Rounding to that type, to nearest; f32 means one GPU operation. None for integer types.
Rounding rounding_of(DataType type);

/// The coarser type.
DataType coarser(DataType a, DataType b);

/// f32 goes to the tensor cores as TF32; other types are unchanged.
Rounding rounding_in_matmul(DataType type);

/// The error of summing products in a tensor core, relative to the sum of their magnitudes. The error of f32, or for
/// fp8 products of the 14 bits that Hopper keeps. Source: DeepSeek-V3's report, arXiv 2412.19437, section 3.5.2.
double sums_unit(DataType factors);

/// The part of the product that truncated factors always lose, which does not average out.
double cut_off(DataType factors);

/// The type of a graph's matrix products: the coarsest of the multiplied inputs. Earlier results are rounded to it. f32
/// if unknown.
DataType multiplied_in(const graph::OpGraph& graph);

}  // namespace attnprobe::run
