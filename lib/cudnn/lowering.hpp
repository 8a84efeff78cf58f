// Converts an OpGraph to cuDNN descriptors; the only place that does.
#pragma once

#include <vector>

#include "cudnn/descriptor.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::cudnn {

/// The operation graph and everything it refers to, destroyed in reverse order of creation.
class LoweredGraph {
 public:
  LoweredGraph(std::vector<Descriptor> parts, Descriptor operation_graph)
      : parts_(std::move(parts)), operation_graph_(std::move(operation_graph)) {}
  LoweredGraph(LoweredGraph&&) noexcept = default;
  LoweredGraph& operator=(LoweredGraph&&) = delete;
  LoweredGraph(const LoweredGraph&) = delete;
  LoweredGraph& operator=(const LoweredGraph&) = delete;
  ~LoweredGraph();

  const Descriptor& operation_graph() const { return operation_graph_; }

 private:
  std::vector<Descriptor> parts_;
  Descriptor operation_graph_;  // declared last, so destroyed first
};

/// `handle` may be null from cuDNN 9.8 on, if a device property descriptor names the GPU. Throws Error(cudnn); the
/// message begins with the tensor or operation that cuDNN refused.
LoweredGraph lower(const Library& library, const graph::OpGraph& graph, cudnnHandle_t handle);

}  // namespace attnprobe::cudnn
