// Whether two graphs are one but for numbering and order, and how they differ where they are not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/op_graph.hpp"

namespace attnprobe::graph {

/// The mapping of a's uids onto b's if the graphs are the same but for uids, names, values of by-value scalars and the
/// order of operations and tensors, none of which cuDNN's verdict depends on; none if they are not. Tensors that no
/// operation uses are left out, as cuDNN never sees them.
///
/// An attribute that is unset is another than one that is set, with two exceptions where cuDNN itself makes no
/// difference: the axis of a pointwise operation, which only GEN_INDEX reads (CUDNN_ATTR_POINTWISE_AXIS in
/// cudnn_graph.h), and the constant seed 0 of an RNG, which cuDNN takes for none.
///
/// Symmetric graphs are tried part by part; a graph so symmetric that this takes more than ten thousand trials (no
/// attention is) counts as not the same.
std::optional<std::map<Uid, Uid>> same_graph(const OpGraph& a, const OpGraph& b);

/// How `a` differs from `b`, a line each, the attributes of counterparts first: "tensor 7 (V): strides 1,2 instead of
/// 1,4", "operation 7: mul instead of add", "operation 9 (exp) is one too many", "operation sub is missing". Tensors
/// and operations by a's uids and indices, with b's names. Empty exactly if they are the same.
std::vector<std::string> differences(const OpGraph& a, const OpGraph& b);

}  // namespace attnprobe::graph
