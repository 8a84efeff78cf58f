// Whether the program is one of the preset sanitize, which changes what a process maps and needs.
#pragma once

#include <cstdlib>

namespace attnprobe::test {

/// By what the preset sets for its tests. UBSan asks through a pipe whether memory can be read, and takes an object for
/// broken where no descriptor is left; ASan maps terabytes.
inline bool under_sanitizers() {
  return std::getenv("ASAN_OPTIONS") != nullptr;
}

}  // namespace attnprobe::test
