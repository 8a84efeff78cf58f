// Imports graphs that cudnn-frontend wrote as JSON: the log line that begins with {"context":
// (CUDNN_FRONTEND_LOG_INFO=1), print(graph), and the output of graph.serialize(). Schema: graph_interface.h
// (Graph::serialize), graph_properties.h and utils/serialize.h of cudnn-frontend 1.5 to 1.32. json_version is "1.0" up
// to 1.26 and "2.0" from 1.27.
//
// cudnn-frontend writes an attention node before it expands it, so one node is a whole AttentionSpec. The JSON leaves
// out, by version:
//   all           score modifier functions, the values of tensors, the GPU, alignments; whether composite or
//                 unified was requested and chosen
//   up to 1.19    ragged offsets; inferred if token counts or the statistics' strides allow it
//   1.20 to 1.26  the type of ragged offsets; INT32 unless a stored plan gives it
//   1.14 to 1.23  the port of a block mask, which is written as "Q"; of the two, the lost one is found among the
//                 tensors that no port names
// In a serialized graph K (backward: also V) is already transposed; the import reverses that.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/spec.hpp"
#include "base/version.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::importers {

/// One graph of cudnn-frontend. Attention gives a spec, primitive operations give a graph, anything else (convolutions,
/// norms) neither.
struct FrontendGraph {
  /// build::build_graph() with `cudnn_version` gives the graph that cudnn-frontend hands to cuDNN. Forward passes have
  /// the pattern that cudnn-frontend chose; for another cuDNN, set it to Pattern::sdpa to choose again.
  std::optional<attention::AttentionSpec> spec;
  std::optional<graph::OpGraph> graph;
  CudnnVersion cudnn_version;        ///< the cuDNN that cudnn-frontend ran with
  FrontendVersion frontend_version;  ///< the cudnn-frontend that wrote it
  std::string name;                  ///< of the graph, otherwise of its attention node; may be empty
  std::vector<std::string> tags;     ///< of all nodes: "SDPA", "POINTWISE", …
  /// One per line: facts missing from the JSON, inferred values, and features that neither spec nor graph can express.
  std::vector<std::string> notes;
  /// The plan of a serialized graph: {"cudnnVersion", "operationGraph", "engine", …}. Its operation graph is what cuDNN
  /// actually received, including score modifiers (import_backend_json).
  std::optional<Json> stored_plan;
};

/// Whether this is cudnn-frontend's JSON: an object with "context" and "nodes".
bool is_frontend_json(const Json& json);

/// Throws Error(usage) naming the JSON pointer, the value and what is allowed. Accepts any JSON.
FrontendGraph import_frontend_json(const Json& json);

/// Whether these bytes begin like the output of graph.serialize(): a UBJSON object, not JSON text.
bool is_frontend_serialization(std::string_view bytes);

/// The JSON of graph.serialize(). Throws Error(usage) with the damage and its place.
Json read_frontend_serialization(std::string_view bytes);

}  // namespace attnprobe::importers
