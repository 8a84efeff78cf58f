// What a plan rounds on the way: the part of an error that types decide. How it is carried on: device/error_kernels.hpp.
#pragma once

#include "graph/op_graph.hpp"

namespace attnprobe::run {

/// Half of a last place, as a part of a number (at worst), and half of the smallest number, in which all below it are.
struct Rounding {
  double unit = 0, smallest = 0;
};

/// To that type, to the nearest; f32 stands for one operation of a GPU. None for types of integers.
Rounding rounding_of(DataType type);

/// The one that rounds more.
DataType coarser(DataType a, DataType b);

/// f32 goes to the tensor cores as TF32; other types as they are.
Rounding rounding_in_matmul(DataType type);

/// Adding up products in a tensor core, as a part of the sum of their magnitudes: f32, or the 14 bits that Hopper's keep
/// of products of fp8 (DeepSeek-V3's report, arXiv 2412.19437, section 3.5.2).
double sums_unit(DataType factors);

/// What factors lose always downwards, so that it does not average out: as a part of the product.
double cut_off(DataType factors);

/// The type in which a graph's matrix products are taken: the coarsest of the inputs that are multiplied. What was
/// computed before is rounded to it. f32 where none is known.
DataType multiplied_in(const graph::OpGraph& graph);

}  // namespace attnprobe::run
