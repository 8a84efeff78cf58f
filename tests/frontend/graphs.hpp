// The graphs of attention configs in cudnn-frontend's own form, and those that it passes to cuDNN.
#pragma once

#include <string>

#include "build_graph.hpp"

namespace frontend {

/// Records cuDNN's own log of the last operation graph. Call it once, after cuDNN is loaded.
void watch_operation_graphs();

/// One line of JSON for one config:
///   name, config       as given
///   stage              how far it got: parse, not_expressible, graph, validate, build_operation_graph, built,
///                      serialized
///   message            why no further
///   frontend           cudnn-frontend's log at validate(): the graph as requested
///   backend            cuDNN's log of the operation graph that it received; null if it logged none
///   serialized         the output of serialize() in hexadecimal, only with `serialize`; without the kernels of the
///                      stored plan, which make up most of it
/// `prepare` sets the device and the data types of a new graph.
Json describe_graph(const std::string& line, const std::function<void(fe::graph::Graph&, const Config&)>& prepare,
                    bool serialize);

}  // namespace frontend
