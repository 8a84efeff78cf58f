// Committed baselines, as read by --baseline.
#include "bounded.hpp"
#include "report/model/baseline.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Scratch scratch;
  const auto file = scratch.file("attnprobe.lock", fuzz::text_of(data, size));
  fuzz::bounded([&] {
    if (!report::is_lock(file)) return;
    const report::BaselineLock lock = report::read_lock(file);
    const auto again = scratch.file("again.lock", report::text_of(lock));
    if (report::read_lock(again).cells != lock.cells) __builtin_trap();
  });
  return 0;
}
