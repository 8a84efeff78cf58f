// The part of an attention spec that its graph shows, and graphs reduced to the contents of a log.
#pragma once

#include <random>

#include "attention/spec.hpp"
#include "base/json.hpp"
#include "build/build.hpp"

namespace attnprobe::test {

/// The spec as JSON without anything that leaves no trace in its graph, so that specs with the same graph are equal.
/// Omits values of by-value scalars.
Json told_by_graph(attention::AttentionSpec spec, const build::BuildContext& context);

/// The graph as another program would have logged it: no names, no values, random uids and random order of tensors and
/// operations.
graph::OpGraph disguised(graph::OpGraph graph, uint64_t seed, bool keep_values = false);

}  // namespace attnprobe::test
