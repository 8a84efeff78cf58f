// Converts the strides of a graph to layout names of configs.
#pragma once

#include <array>

#include "attention/spec.hpp"

namespace attnprobe::importers {

/// Q, K, V or O as in the graph, not transposed.
struct StridedTensor {
  attention::TensorShape shape;
  attention::Strides strides{};
  bool ragged = false;
};

/// The layouts of Q, K and V. A name if it has exactly these strides: "bshd" first, then interleaved names such as
/// "bs3hd", which all three, or K and V, must share. Otherwise the strides. If extents of 1 allow several names, the
/// first of bshd, bhsd, sbhd wins.
std::array<attention::TensorLayout, 3> layouts_of(const StridedTensor& q, const StridedTensor& k,
                                                  const StridedTensor& v);
/// The layout of one tensor, without interleaving.
attention::TensorLayout layout_of(const StridedTensor& tensor);

/// Whether `layout` describes this tensor.
bool has_layout(const StridedTensor& tensor, const attention::TensorLayout& layout);

}  // namespace attnprobe::importers
