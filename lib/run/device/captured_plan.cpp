#include "run/device/captured_plan.hpp"

#include "base/error.hpp"

namespace attnprobe::run {
namespace {

std::vector<CUgraphNode> nodes_of(CUgraph graph) {
  const CudaApi& api = cuda_api();
  size_t count = 0;
  api.check(api.cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  if (count > 0) api.check(api.cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  return nodes;
}

CUgraphNodeType type_of(CUgraphNode node) {
  CUgraphNodeType type{};
  cuda_api().check(cuda_api().cuGraphNodeGetType(node, &type), "cuGraphNodeGetType");
  return type;
}

// Omits properties that the driver does not report.
void describe(CUfunction function, probe::KernelLaunch& launch) {
  const CudaApi& api = cuda_api();
  const char* name = nullptr;
  if (api.cuFuncGetName != nullptr && api.cuFuncGetName(&name, function) == CUDA_SUCCESS && name != nullptr)
    launch.name = name;
  int registers = 0;
  if (api.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) == CUDA_SUCCESS)
    launch.registers = registers;
}

}  // namespace

CapturedPlan::CapturedPlan(const CudaDevice& device, const Execute& execute) : stream_(device.stream()) {
  const CudaApi& api = cuda_api();
  api.check(api.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  std::string failure;
  try {
    execute();
  } catch (const Error& e) {
    failure = e.what();
  }
  CUgraph captured = nullptr;
  const CUresult status = api.cuStreamEndCapture(stream_, &captured);
  if (captured != nullptr) graph_ = CudaGraph(captured);
  if (failure.empty() && status != CUDA_SUCCESS) failure = api.text(status);
  CUgraphExec executable = nullptr;
  if (failure.empty() && api.cuGraphInstantiateWithFlags(&executable, captured, 0) != CUDA_SUCCESS)
    failure = "cuGraphInstantiate failed";
  if (!failure.empty()) throw Error(ErrorKind::cudnn, "the plan cannot be captured: " + failure);
  executable_ = CudaGraphExec(executable);
  const std::vector<CUgraphNode> nodes = nodes_of(captured);
  begins_with_memset_ = !nodes.empty() && type_of(nodes.front()) == CU_GRAPH_NODE_TYPE_MEMSET;
  for (const CUgraphNode node : nodes)
    if (type_of(node) == CU_GRAPH_NODE_TYPE_KERNEL) kernels_.push_back(node);
}

bool CapturedPlan::begins_with_memset() const {
  return begins_with_memset_;
}

std::vector<probe::KernelLaunch> CapturedPlan::launches() const {
  const CudaApi& api = cuda_api();
  std::vector<probe::KernelLaunch> launches;
  launches.reserve(kernels_.size());
  for (const CUgraphNode node : kernels_) {
    CUDA_KERNEL_NODE_PARAMS parameters{};
    api.check(api.cuGraphKernelNodeGetParams(node, &parameters), "cuGraphKernelNodeGetParams");
    probe::KernelLaunch launch;
    launch.grid = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ};
    launch.block = {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ};
    launch.dynamic_shared_memory_bytes = parameters.sharedMemBytes;
    // A kernel from a library loaded without a context has its name under the other handle.
    if (parameters.func == nullptr && parameters.kern != nullptr)
      api.cuKernelGetFunction(&parameters.func, parameters.kern);
    if (parameters.func != nullptr) describe(parameters.func, launch);
    launches.push_back(std::move(launch));
  }
  return launches;
}

void CapturedPlan::replay() const {
  replay_first(kernels_.size());
}

void CapturedPlan::replay_first(size_t count) const {
  for (size_t i = 0; i < kernels_.size(); ++i)
    cuda_api().check(cuda_api().cuGraphNodeSetEnabled(executable_.get(), kernels_[i], i < count ? 1 : 0),
                     "cuGraphNodeSetEnabled");
  cuda_api().check(cuda_api().cuGraphLaunch(executable_.get(), stream_), "cuGraphLaunch");
}

}  // namespace attnprobe::run
