// The walk: one graph, one cuDNN, one GPU; every engine config that the heuristics or the engines themselves offer.
#pragma once

#include <functional>

#include "cudnn/device_context.hpp"
#include "graph/op_graph.hpp"
#include "probe/findings.hpp"
#include "probe/walk_options.hpp"

namespace attnprobe::probe {

/// Called before each step that may take the process down, with what is known so far.
using Progress = std::function<void(const Stage& stage, const WalkFindings& so_far)>;

/// Never throws for what cuDNN says: that is in the findings.
WalkFindings walk(const cudnn::DeviceContext& device, const graph::OpGraph& graph, const WalkOptions& options,
                  const Progress& progress);

}  // namespace attnprobe::probe
