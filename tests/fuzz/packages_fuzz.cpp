// METADATA and RECORD of a Python package; the first byte decides which.
#include "bounded.hpp"
#include "machine/python_packages.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Scratch scratch;
  if (size == 0) return 0;
  const bool is_record = data[0] % 2 == 1;
  scratch.file(is_record ? "RECORD" : "METADATA", fuzz::text_of(data + 1, size - 1));
  const machine::DistInfo info{"torch", "2.11.0", scratch.folder()};
  fuzz::bounded([&] {
    if (is_record)
      machine::recorded_files(info);
    else
      for (const auto& requirement : machine::requirements_of(info))
        machine::satisfies("9.10.2.21", requirement.specifier);
  });
  return 0;
}
