// The walk: one graph, one cuDNN, one GPU; every engine config from the heuristics or the engines themselves.
#pragma once

#include <functional>

#include "cudnn/device_context.hpp"
#include "graph/op_graph.hpp"
#include "probe/findings.hpp"
#include "probe/walk_options.hpp"

namespace attnprobe::probe {

/// Called before each step that may crash the process, with the findings so far.
using Progress = std::function<void(const Stage& stage, const WalkFindings& so_far)>;

/// Never throws for cuDNN's errors: they are in the findings.
WalkFindings walk(const cudnn::DeviceContext& device, const graph::OpGraph& graph, const WalkOptions& options,
                  const Progress& progress);

}  // namespace attnprobe::probe
