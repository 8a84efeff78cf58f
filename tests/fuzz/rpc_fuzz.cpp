// Lines of `serve`, without a worker to start: requests, batches, their parameters.
#include "bounded.hpp"
#include "service/rpc.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Scratch home;
  static service::Rpc rpc = [] {
    for (const char* variable : {"HOME", "XDG_CACHE_HOME"}) setenv(variable, home.folder().c_str(), 1);
    setenv("ATTNPROBE_PROGRAM", "/nowhere/attnprobe", 1);
    return service::Rpc("");
  }();
  fuzz::bounded([&] {
    const std::string answer = rpc.answer(fuzz::text_of(data, size));
    if (answer.find('\n') != std::string::npos || !(answer.empty() || Json::accept(answer))) __builtin_trap();
    if (answer.find(R"("kind":"internal")") != std::string::npos) __builtin_trap();
  });
  return 0;
}
