// A plan and its variant pack: what cudnnBackendExecute takes.
#pragma once

#include <map>
#include <vector>

#include "cudnn/device_context.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::run {

class Execution {
 public:
  /// `pointers`: device memory of every real tensor. By-value scalars get their host values from the graph. The plan
  /// and the memory have to outlive this. Throws Error(cudnn).
  Execution(const cudnn::DeviceContext& device, const cudnn::Descriptor& plan, const graph::OpGraph& graph,
            const std::map<graph::Uid, void*>& pointers, void* workspace);

  /// Queues the plan on the handle's stream. Throws Error(cudnn).
  void operator()() const;

 private:
  const cudnn::DeviceContext& device_;
  const cudnn::Descriptor& plan_;
  std::vector<double> scalars_;  // each holds the bytes of one value, whatever its type
  cudnn::Descriptor pack_;
};

}  // namespace attnprobe::run
