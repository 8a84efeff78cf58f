// Makes cuDNN write its level-3 log of operation graphs, as a user's program does:
//   CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=FILE log_writer LIBCUDNN.so.9 OUT.jsonl CONFIGS.json…
// Builds and finalizes the graph of every config, and, where it finalizes, asks heuristic mode A about an
// H200 that is not there (not with `--no-heuristics` as the first argument). OUT gets one line a graph, in
// the order of the log: config, status ("finalized" or cuDNN's refusal), hash, graph. The test program
// itself cannot do this: it installs a log callback, which is one for the process.
#include <cstdio>
#include <cstring>
#include <fstream>

#include "attnprobe/attention/config.hpp"
#include "attnprobe/cudnn/device_context.hpp"
#include "attnprobe/cudnn/lowering.hpp"
#include "attnprobe/error.hpp"
#include "attnprobe/graph/build.hpp"
#include "attnprobe/target/catalogue.hpp"
#include "attnprobe/target/driver.hpp"

namespace {

using namespace attnprobe;

void ask_mode_a(const cudnn::Library& library, const cudnn::LoweredGraph& graph) {
  static const cudnn::DeviceContext device =
      cudnn::DeviceContext::simulated(library, target::find("h200")->properties.dump());
  cudnn::Descriptor heuristics(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_OPERATION_GRAPH), graph.operation_graph());
  heuristics.set(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_MODE), CUDNN_HEUR_MODE_A);
  device.apply(heuristics, ATTNPROBE_ATTRIBUTE(ENGINEHEUR_DEVICEPROP));
  heuristics.finalize();
  const auto count = heuristics.count(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_TYPE_BACKEND_DESCRIPTOR);
  heuristics.get_descriptors(ATTNPROBE_ATTRIBUTE(ENGINEHEUR_RESULTS), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                             count);
}

// "finalized", or what cuDNN said against the graph.
std::string write(const cudnn::Library& library, const graph::OpGraph& graph, bool heuristics) {
  try {
    const cudnn::LoweredGraph lowered = cudnn::lower(library, graph, nullptr);
    if (heuristics) try {
        ask_mode_a(library, lowered);
      } catch (const Error&) {  // the log has what there is to know
      }
    return "finalized";
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::cudnn) throw;
    return e.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool heuristics = argc < 2 || std::strcmp(argv[1], "--no-heuristics") != 0;
  const int first = heuristics ? 1 : 2;
  if (argc < first + 3) {
    std::fprintf(stderr, "usage: log_writer [--no-heuristics] LIBCUDNN.so.9 OUT.jsonl CONFIGS.json...\n");
    return 2;
  }
  try {
    target::load_null_driver();
    const auto library = cudnn::Library::load(argv[first]);
    // Gives messages back to the log that the environment asks for (cudnnSetCallback's documentation).
    library->api().cudnnSetCallback(CUDNN_SEV_ERROR_EN | CUDNN_SEV_WARNING_EN | CUDNN_SEV_INFO_EN, nullptr,
                                    nullptr);
    std::ofstream out(argv[first + 1]);
    for (int i = first + 2; i < argc; ++i)
      for (const auto& config : attention::load_configs(argv[i])) {
        const auto built = graph::build(config.spec, {library->version(), 90}).graph;
        const std::string status = write(*library, built, heuristics);
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
