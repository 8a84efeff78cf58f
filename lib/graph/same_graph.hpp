// Tests whether two graphs are equal up to numbering and order, and lists their differences.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::graph {

/// Maps a's uids to b's if the graphs are the same, otherwise none. Differences that cuDNN's verdict ignores do not
/// count: uids, names, values of by-value scalars, the order of operations and tensors. Tensors that no operation uses
/// are ignored, because cuDNN never sees them.
///
/// An unset attribute differs from a set one, with two exceptions that cuDNN itself ignores. One is the axis of a
/// pointwise operation, which only GEN_INDEX reads (CUDNN_ATTR_POINTWISE_AXIS in cudnn_graph.h). The other is the
/// constant seed 0 of an RNG, which cuDNN treats as unset.
///
/// Symmetric graphs are tried part by part. If a graph needs more than ten thousand trials, it counts as different; no
/// attention graph does.
std::optional<std::map<Uid, Uid>> same_graph(const OpGraph& a, const OpGraph& b);

/// The differences between `a` and `b`, one per line, starting with the attributes of counterparts:
///   "tensor 7 (V): strides 1,2 instead of 1,4", "operation 7: mul instead of add",
///   "operation 9 (exp) is one too many", "operation sub is missing"
/// Uses a's uids and indices, and b's names. Empty only if the graphs are the same.
std::vector<std::string> differences(const OpGraph& a, const OpGraph& b);

}  // namespace attnprobe::graph
