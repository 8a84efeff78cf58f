// Names of layouts for strides: what a graph has as numbers, as configs say it.
#pragma once

#include <array>

#include "attention/spec.hpp"

namespace attnprobe::importers {

/// One of Q, K, V, O as a graph has it, not transposed.
struct StridedTensor {
  attention::TensorShape shape;
  attention::Strides strides{};
  bool ragged = false;
};

/// The layouts of Q, K and V: by name where one gives exactly these strides ("bshd", then interleaved ones such as
/// "bs3hd", which need all three, or K and V, alike), else the strides themselves. Where extents are 1 several names
/// may fit; the first in the order bshd, bhsd, sbhd is taken.
std::array<attention::TensorLayout, 3> layouts_of(const StridedTensor& q, const StridedTensor& k,
                                                  const StridedTensor& v);
/// Of one tensor, without interleaving.
attention::TensorLayout layout_of(const StridedTensor& tensor);

/// Whether `layout` gives this tensor.
bool has_layout(const StridedTensor& tensor, const attention::TensorLayout& layout);

}  // namespace attnprobe::importers
