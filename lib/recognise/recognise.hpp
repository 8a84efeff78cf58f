// What a graph that another program made is: the attention config that gives it, proven by building it again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "build/build.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::recognise {

struct Recognised {
  /// The config of the graph, its pattern always spelt out (never Pattern::sdpa). Where `exact` is false: that of the
  /// nearest graph that attnprobe builds, for comparing only; none if the graph is not attention.
  std::optional<attention::AttentionSpec> spec;
  /// build(spec, context) gives the same graph (same_graph()), and so does the spec's JSON read back.
  bool exact = false;
  /// One line for people: "sdpa_composite fprop b4 h12 s1024 d64 f16 bshd causal"; what is only assumed is not in it.
  std::string description;
  /// What is assumed since the graph does not hold it, or how the graph differs from the nearest one that
  /// attnprobe builds, a line each.
  std::vector<std::string> notes;
  /// Where a graph that attnprobe builds is the same: the graph itself, its own uids and order, with that one's names,
  /// and its values where by-value scalars have none of their own. Set too where only the wiring of another cuDNN than
  /// the context's is the same (`built_for`; exact is false).
  std::optional<graph::OpGraph> named;
  /// The cuDNN version that the same graph was built for: the context's, but where that is not known or
  /// cudnn-frontend was compiled for another; not known where none is the same.
  CudnnVersion built_for;
};

/// Never throws for a graph that op_graph.hpp's from_json() or an importer gives. The context's version is the one that
/// the graph's log names: cudnn-frontend's wiring depends on it. Where it is not known, all wirings are tried.
///
/// Values that the graph holds (Tensor::value) are read; others stay at defaults and are noted: scale, softcap,
/// windows, the probability of a dropout mask that the caller gives. What leaves no trace in a graph stays at its
/// default without a note: the alignment of a mask without bounds or of a left bound alone, `deterministic` where dBias
/// is an output or the type is fp8, which of fprop with statistics and fprop_train it was (fprop_train), layouts of a
/// paged K or V, max_total_seqlen_kv without GQA.
Recognised recognise_graph(const graph::OpGraph& graph, const build::BuildContext& context);

}  // namespace attnprobe::recognise
