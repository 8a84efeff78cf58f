// Config documents: parsed, and the first configs built and recognised again.
#include "attention/config.hpp"
#include "bounded.hpp"
#include "recognise/recognise.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::bounded([&] {
    const auto configs = attention::parse_configs(fuzz::text_of(data, size), "fuzz", {});
    constexpr size_t most = 4;
    for (size_t i = 0; i < configs.size() && i < most; ++i)
      for (const CudnnVersion version : std::initializer_list<CudnnVersion>{90800, 91900, 92100}) {
        const build::BuildContext context{version, 90};
        recognise::recognise_graph(build::build_graph(configs[i].spec, context).graph, context);
      }
  });
  return 0;
}
