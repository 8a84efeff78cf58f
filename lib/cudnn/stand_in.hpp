// A stand-in for a library that cuDNN must find but does not call.
#pragma once

#include <string>

#include "base/dynamic_library.hpp"

namespace attnprobe::cudnn {

/// Creates a shared library in memory, with this SONAME and no code, and loads it. In it, dlsym finds everything that
/// the loaded library `provider` exports. Writes no file. Empty if the system refuses; loader_words() then returns the
/// reason.
DynamicLibrary load_stand_in(const std::string& name, const std::string& provider);

}  // namespace attnprobe::cudnn
