// Makes only the cuDNN calls of a walk; scripts/bench compares a matrix with it.
//
//   raw_walk LIBCUDNN TARGET COUNT     composite attention of batch 1 to COUNT; prints milliseconds per graph
//
// It sets a log callback, as a walk does to get cuDNN's reasons, but drops the messages.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "build/build.hpp"
#include "cudnn/descriptor.hpp"
#include "cudnn/device_context.hpp"
#include "cudnn/library.hpp"
#include "cudnn/lowering.hpp"
#include "gpu/catalogue.hpp"
#include "gpu/driver.hpp"

using namespace attnprobe;
using cudnn::Descriptor;

namespace {

void drop(cudnnSeverity_t, void*, const cudnnDebug_t*, const char*) {}

void set_log(const cudnn::Library& library, bool info) {
  const unsigned errors = CUDNN_SEV_ERROR_EN;
  library.api().cudnnSetCallback(info ? errors | CUDNN_SEV_WARNING_EN | CUDNN_SEV_INFO_EN : errors, nullptr, drop);
}

// A walk's queries about a passing engine config, except attributes unknown to this cuDNN.
void describe(const Descriptor& config) {
  const auto engines =
      config.get_descriptors(ATTNPROBE_ATTRIBUTE(ENGINECFG_ENGINE), CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  engines.at(0).get<int64_t>(ATTNPROBE_ATTRIBUTE(ENGINE_GLOBAL_INDEX));
  for (const Descriptor& choice : config.get_descriptors(
           ATTNPROBE_ATTRIBUTE(ENGINECFG_KNOB_CHOICES), CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    choice.get<cudnnBackendKnobType_t>(ATTNPROBE_ATTRIBUTE(KNOB_CHOICE_KNOB_TYPE));
    choice.get<int64_t>(ATTNPROBE_ATTRIBUTE(KNOB_CHOICE_KNOB_VALUE));
  }
  config.get<int64_t>(ATTNPROBE_ATTRIBUTE(ENGINECFG_WORKSPACE_SIZE));
  config.get<int32_t>(ATTNPROBE_ATTRIBUTE(ENGINECFG_SHARED_MEMORY_USED));
  engines[0].get_all<cudnnBackendNumericalNote_t>(ATTNPROBE_ATTRIBUTE(ENGINE_NUMERICAL_NOTE), 64);
  engines[0].get_all<cudnnBackendBehaviorNote_t>(ATTNPROBE_ATTRIBUTE(ENGINE_BEHAVIOR_NOTE), 64);
}

size_t ask(const cudnn::DeviceContext& device, const graph::OpGraph& graph) {
  const auto& library = device.library();
  const cudnn::LoweredGraph lowered = cudnn::lower(library, graph, device.handle());
  lowered.operation_graph().get<int64_t>(ATTNPROBE_ATTRIBUTE(OPERATIONGRAPH_ENGINE_GLOBAL_COUNT));
  size_t viable = 0;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    Descriptor heuristics(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_OPERATION_GRAPH), lowered.operation_graph());
    heuristics.set(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_MODE), mode);
    device.apply(heuristics, ATTNPROBE_ATTRIBUTE(ENGINEHEUR_DEVICEPROP));
    set_log(library, true);
    const cudnnStatus_t status = heuristics.try_finalize();
    set_log(library, false);
    if (status != CUDNN_STATUS_SUCCESS) continue;
    const int64_t count = heuristics.count(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_TYPE_BACKEND_DESCRIPTOR);
    set_log(library, true);
    const auto configs =
        heuristics.get_descriptors(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
    set_log(library, false);
    for (const Descriptor& config : configs) describe(config);
    viable += configs.size();
  }
  return viable;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: raw_walk LIBCUDNN TARGET COUNT\n");
    return 2;
  }
  try {
    gpu::load_null_driver();
    const auto library = cudnn::Library::load(argv[1]);
    const gpu::Target& target = *gpu::find(argv[2]);
    const auto device = cudnn::DeviceContext::simulated(*library, target.properties.dump());
    const int count = std::stoi(argv[3]);
    std::vector<graph::OpGraph> graphs;
    for (int batch = 1; batch <= count; ++batch) {
      const auto configs = attention::parse_configs(
          fmt::format(
              R"({{"pattern": "sdpa_composite", "batch": {}, "heads": 12, "seqlen": 512, "head_dim": 64, "mask": "causal"}})",
              batch),
          "raw_walk");
      graphs.push_back(build::build_graph(configs[0].spec, {library->info().version, target.sm}).graph);
    }
    size_t viable = ask(device, graphs[0]);  // loads engines
    const auto begun = std::chrono::steady_clock::now();
    for (size_t i = 1; i < graphs.size(); ++i) viable += ask(device, graphs[i]);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
    fmt::print("{:.3f} ms a graph, {} viable engine configs\n", ms / (count - 1), viable);
  } catch (const std::exception& e) {
    fmt::print(stderr, "raw_walk: {}\n", e.what());
    return 1;
  }
}
