// cuDNN logs, pasted lines, and text that looks like them: read, recognised, explained.
#include "bounded.hpp"
#include "probe/walk_difference.hpp"
#include "replay/explanation.hpp"
#include "replay/log_history.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::bounded([&] {
    replay::LogReader reader;
    // Split at any place, chosen by the first byte.
    const size_t cut = size == 0 ? 0 : data[0] * size / 256;
    reader.feed(text.substr(0, cut));
    reader.feed(text.substr(cut));
    const replay::LogHistory history = reader.finish();
    for (const auto& graph : history.graphs) {
      recognise::Recognised recognised;
      if (graph.imported)
        recognised = recognise::recognise_graph(graph.imported->graph, {graph.cudnn_version, graph.sm});
      replay::explain(graph, recognised);
      if (!probe::walk_differences(graph.findings, graph.findings).empty()) __builtin_trap();
    }
  });
  return 0;
}
