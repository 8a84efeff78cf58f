// Makes cuDNN write its level-3 log of operation graphs, as in a user's program:
//   CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=FILE log_writer [--target ID | --no-heuristics] [--plans] LIBCUDNN.so.9
//     OUT.jsonl CONFIGS.json…
// Builds and finalizes the graph of every config. If it finalizes, asks the heuristic modes A, B and FALLBACK about a
// simulated GPU (an H200 unless --target names another). With --plans it compiles the plans of mode A. OUT gets one
// line per graph, in the order of the log: config, status ("finalized" or cuDNN's refusal), hash, graph. The test
// program itself cannot do this, because it installs the only log callback of its process.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "base/error.hpp"
#include "build/build.hpp"
#include "cudnn/device_context.hpp"
#include "cudnn/lowering.hpp"
#include "gpu/catalogue.hpp"
#include "gpu/driver.hpp"

namespace {

using namespace attnprobe;

bool with_plans = false;

void ask(const cudnn::Library& library, const cudnn::LoweredGraph& graph, cudnnBackendHeurMode_t mode,
         const cudnn::DeviceContext& device) {
  cudnn::Descriptor heuristics(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_OPERATION_GRAPH), graph.operation_graph());
  heuristics.set(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_MODE), mode);
  device.apply(heuristics, ATTNPROBE_ATTRIBUTE(ENGINEHEUR_DEVICEPROP));
  heuristics.finalize();
  const auto count = heuristics.count(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_TYPE_BACKEND_DESCRIPTOR);
  const auto configs =
      heuristics.get_descriptors(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count);
  if (!with_plans || mode != CUDNN_HEUR_MODE_A) return;
  for (const auto& config : configs) {
    cudnn::Descriptor plan(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_ENGINE_CONFIG), config);
    device.apply(plan, ATTNPROBE_ATTRIBUTE(EXECUTION_PLAN_DEVICEPROP));
    plan.try_finalize();
  }
}

// "finalized", or cuDNN's refusal of the graph.
std::string write(const cudnn::Library& library, const graph::OpGraph& graph, const cudnn::DeviceContext* device) {
  // An older cuDNN crashes on an unknown type, and the log of all other graphs would be lost.
  const bool has_bytes = std::any_of(graph.tensors.begin(), graph.tensors.end(),
                                     [](const auto& t) { return t.data_type == DataType::byte_boolean; });
  if (has_bytes && library.version() < CudnnVersion{9, 25, 0}) return "left out: cuDNN knows byte_boolean from 9.25 on";
  try {
    const cudnn::LoweredGraph lowered = cudnn::lower(library, graph, nullptr);
    if (device == nullptr) return "finalized";
    for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) try {
        ask(library, lowered, mode, *device);
      } catch (const Error&) {  // the log has the reason
      }
    return "finalized";
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::cudnn) throw;
    return e.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string gpu = "h200";
  if (!words.empty() && words[0] == "--no-heuristics") {
    gpu.clear();
    words.erase(words.begin());
  } else if (words.size() > 1 && words[0] == "--target") {
    gpu = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (!words.empty() && words[0] == "--plans") {
    with_plans = true;
    words.erase(words.begin());
  }
  const gpu::Target* target = gpu.empty() ? nullptr : gpu::find(gpu);
  if (words.size() < 3 || (target == nullptr && !gpu.empty())) {
    std::fprintf(
        stderr,
        "usage: log_writer [--target ID | --no-heuristics] [--plans] LIBCUDNN.so.9 OUT.jsonl CONFIGS.json...\n");
    return 2;
  }
  try {
    gpu::load_null_driver();
    const auto library = cudnn::Library::load(words[0]);
    // Directs messages to the log that the environment requests (cudnnSetCallback's documentation), if any.
    if (std::getenv("CUDNN_LOGLEVEL_DBG") != nullptr)
      library->api().cudnnSetCallback(CUDNN_SEV_ERROR_EN | CUDNN_SEV_WARNING_EN | CUDNN_SEV_INFO_EN, nullptr, nullptr);
    std::optional<cudnn::DeviceContext> device;
    if (target != nullptr) device.emplace(cudnn::DeviceContext::simulated(*library, target->properties.dump()));
    std::ofstream out(words[1]);
    for (size_t i = 2; i < words.size(); ++i)
      for (const auto& config : attention::load_configs(words[i])) {
        const int sm = target == nullptr ? 90 : target->sm;
        const auto built = build::build_graph(config.spec, {library->version(), sm}).graph;
        const std::string status = write(*library, built, device ? &*device : nullptr);
        out << Json{{"config", config.spec.name},
                    {"status", status},
                    {"hash", graph::hash(built)},
                    {"graph", to_json(built)}}
                   .dump()
            << "\n";
      }
    return out ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "log_writer: %s\n", e.what());
    return 1;
  }
}
