// Recognises a graph from another program: finds its attention config, and proves it by rebuilding the graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "build/build.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::recognise {

struct Recognised {
  /// The config of the graph, with an explicit pattern (never Pattern::sdpa). If `exact` is false, the config of the
  /// nearest graph that attnprobe builds, only for comparison; none if the graph is not attention.
  std::optional<attention::AttentionSpec> spec;
  /// build(spec, context) gives the same graph (same_graph()), also after a round trip of the spec through JSON.
  bool exact = false;
  /// One line without assumed values: "sdpa_composite fprop b4 h12 s1024 d64 f16 bshd causal".
  std::string description;
  /// Assumed values that the graph lacks, or differences from the nearest graph that attnprobe builds, one per line.
  std::vector<std::string> notes;
  /// The input graph with its own uids and order, if attnprobe builds the same graph. Takes names, and missing values
  /// of by-value scalars, from attnprobe's graph. Also set if only the wiring for another cuDNN is the same
  /// (`built_for`; exact is false).
  std::optional<graph::OpGraph> named;
  /// The cuDNN version that the same graph was built for. Differs from the context's if that is unknown, or if
  /// cudnn-frontend was compiled for another one. Unknown if no graph is the same.
  CudnnVersion built_for;
};

/// Never throws for a graph from op_graph.hpp's from_json() or an importer. cudnn-frontend's wiring depends on the
/// context's version, which is the one in the graph's log. If it is unknown, all wirings are tried.
///
/// Values in the graph (Tensor::value) are read. Otherwise scale, softcap, windows and the probability of a caller's
/// dropout mask keep their defaults, with a note.
///
/// Other things leave no trace in a graph and keep their defaults without a note:
///   the alignment of a mask with no bound or only a left one
///   `deterministic`, if dBias is an output or the type is fp8
///   fprop with statistics or fprop_train (fprop_train)
///   layouts of a paged K or V
///   max_total_seqlen_kv without GQA
Recognised recognise_graph(const graph::OpGraph& graph, const build::BuildContext& context);

}  // namespace attnprobe::recognise
