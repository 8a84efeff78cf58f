// What of an attention spec its graph tells, and graphs without what no log holds.
#pragma once

#include <random>

#include "attention/spec.hpp"
#include "base/json.hpp"
#include "build/build.hpp"

namespace attnprobe::test {

/// The spec as JSON without what leaves no trace in its graph: two specs
/// of one graph give the same. Values of by-value scalars are left out.
Json told_by_graph(attention::AttentionSpec spec, const build::BuildContext& context);

/// As a program with a numbering and an order of its own would have logged it: no names, no values, uids and the order
/// of tensors and operations by chance.
graph::OpGraph disguised(graph::OpGraph graph, uint64_t seed, bool keep_values = false);

}  // namespace attnprobe::test
