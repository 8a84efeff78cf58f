// What cudnn-frontend writes of the graphs of attention configs, and what it hands to cuDNN for them.
#pragma once

#include <string>

#include "build_graph.hpp"

namespace frontend {

/// Reads the text of cuDNN's own log of the last operation graph. Once, after cuDNN is loaded.
void watch_operation_graphs();

/// One line of JSON for one config:
///   name, config       as given
///   stage              how far it came: parse, not_expressible, graph, validate, build_operation_graph,
///   built,
///                      serialized
///   message            why no further
///   frontend           what cudnn-frontend logs at validate(): the graph as it was asked for
///   backend            what cuDNN logs of the operation graph that it was handed; null where it logged none
///   serialized         what serialize() gives, in hexadecimal; only with `serialize`, and without the
///   kernels
///                      of the stored plan, which make most of it
/// `prepare` gives a fresh graph its device and its data types.
Json describe_graph(const std::string& line, const std::function<void(fe::graph::Graph&, const Config&)>& prepare,
                    bool serialize);

}  // namespace frontend
