// Calls of PyTorch and JAX: source, lines of a program, JSON, and the one-line call of --torch and --jax.
#include "bounded.hpp"
#include "frameworks/calls/framework_calls.hpp"
#include "frameworks/calls/python_call.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::bounded([&] { frameworks::parse_calls({frameworks::Caller::torch}, text, "fuzz"); });
  fuzz::bounded([&] { frameworks::parse_calls({frameworks::Caller::jax}, text, "fuzz"); });
  fuzz::bounded([&] {
    const Json call = frameworks::read_python_call(text, "fuzz", {"query", "key", "value", "attn_mask"});
    frameworks::parse_calls({frameworks::Caller::torch}, call.dump(-1, ' ', false, Json::error_handler_t::replace),
                            "fuzz");
  });
  return 0;
}
