// Config documents: parsed, and the first of their configs built and recognised again.
#include <cstdint>
#include <string_view>

#include "attention/config.hpp"
#include "base/error.hpp"
#include "recognise/recognise.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto configs = attention::parse_configs({reinterpret_cast<const char*>(data), size}, "fuzz", {});
    constexpr size_t most = 4;
    for (size_t i = 0; i < configs.size() && i < most; ++i)
      for (const CudnnVersion version : std::initializer_list<CudnnVersion>{90800, 91900, 92100}) {
        const build::BuildContext context{version, 90};
        recognise::recognise_graph(build::build_graph(configs[i].spec, context).graph, context);
      }
  } catch (const Error&) {
  }
  return 0;
}
