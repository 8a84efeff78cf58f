// A plan and its variant pack, for cudnnBackendExecute.
#pragma once

#include <map>
#include <vector>

#include "cudnn/device_context.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::run {

class Execution {
 public:
  /// `pointers`: device memory of every real tensor. By-value scalars have their host values in the graph. The plan and
  /// the memory must outlive the execution. Throws Error(cudnn).
  Execution(const cudnn::DeviceContext& device, const cudnn::Descriptor& plan, const graph::OpGraph& graph,
            const std::map<graph::Uid, void*>& pointers, void* workspace);

  /// Queues the plan on the handle's stream. Throws Error(cudnn).
  void operator()() const;

 private:
  const cudnn::DeviceContext& device_;
  const cudnn::Descriptor& plan_;
  std::vector<double> scalars_;  // each holds the bytes of one value of any type
  cudnn::Descriptor pack_;
};

}  // namespace attnprobe::run
