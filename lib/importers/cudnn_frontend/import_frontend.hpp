// Graphs that cudnn-frontend wrote as JSON: the log line beginning with {"context": (CUDNN_FRONTEND_LOG_INFO=1),
// print(graph), and what graph.serialize() gives. Schema: graph_interface.h (Graph::serialize), graph_properties.h and
// utils/serialize.h of cudnn-frontend 1.5 to 1.32; json_version is "1.0" up to 1.26 and "2.0" from 1.27 on.
//
// cudnn-frontend writes an attention node before it expands it, so one
// node is a whole AttentionSpec. What its JSON leaves out, by version:
//   all       score modifier functions, the values of tensors, the GPU, which of composite and unified was
//   asked
//             for and which was chosen; alignments
//   to 1.19   ragged offsets. They are concluded where token counts or the statistics' strides tell
//   1.20 on   to 1.26 the type of ragged offsets. INT32 unless a stored plan tells
//   1.14 on   to 1.23 the port of a block mask, which is written as "Q": whichever of the two is lost there is found
//             again among the tensors that no port names
// In a serialized graph K (backward: V too) is transposed already, and is turned back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/spec.hpp"
#include "base/version.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::importers {

/// One graph of cudnn-frontend. Attention has a spec, a graph of primitive operations a graph, anything else
/// (convolutions, norms) neither.
struct FrontendGraph {
  /// Built with build::build_graph() for `cudnn_version`, the graph that cudnn-frontend hands to cuDNN. Forward passes
  /// have the pattern that cudnn-frontend chose; set it to Pattern::sdpa to choose again for another cuDNN.
  std::optional<attention::AttentionSpec> spec;
  std::optional<graph::OpGraph> graph;
  CudnnVersion cudnn_version;        ///< that cudnn-frontend ran with
  FrontendVersion frontend_version;  ///< that wrote it
  std::string name;                  ///< of the graph, else of its attention node; may be empty
  std::vector<std::string> tags;     ///< of all nodes: "SDPA", "POINTWISE", …
  /// What the JSON does not say, what was concluded, and what neither spec nor graph holds: one line each.
  std::vector<std::string> notes;
  /// A serialized graph's plan: {"cudnnVersion", "operationGraph", "engine", …}. Its operation graph is what cuDNN was
  /// really handed, score modifiers included (import_backend_json).
  std::optional<Json> stored_plan;
};

/// Whether this is cudnn-frontend's JSON: an object with "context" and "nodes".
bool is_frontend_json(const Json& json);

/// Throws Error(usage) naming the JSON pointer, the value and what is allowed. Precondition: none.
FrontendGraph import_frontend_json(const Json& json);

/// Whether these bytes begin as graph.serialize() writes them: a UBJSON object (JSON text does not).
bool is_frontend_serialization(std::string_view bytes);

/// The JSON of graph.serialize(). Throws Error(usage) saying what is damaged, and where.
Json read_frontend_serialization(std::string_view bytes);

}  // namespace attnprobe::importers
