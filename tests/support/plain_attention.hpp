// Attention as its definition says it, in double, straight from an AttentionSpec and by loops over indices: what the
// interpreter of graphs is held against. And a stand-in for a plan that computes it on the CPU.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "attention/spec.hpp"
#include "run/problem.hpp"

namespace attnprobe::test {

/// Whether dropout keeps the element {batch, head, row, column}.
using Keep = std::function<bool(int64_t, int64_t, int64_t, int64_t)>;

/// A feature that plain attention has not.
struct NotPlain : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Computes every output that the graph names (O, Stats, Max, Sum_exp, dQ, dK, dV, dBias, dSink, amax …) from its
/// inputs in CPU memory, and writes it there, in its type, in the rows that count. Throws
/// NotPlain.
void plain_attention(const attention::AttentionSpec& spec, const graph::OpGraph& graph,
                     const std::map<graph::Uid, void*>& pointers, const run::Lengths& lengths, const Keep& keep);

}  // namespace attnprobe::test
