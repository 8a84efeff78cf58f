// A library that a cuDNN wants to see and does not call.
#pragma once

#include <string>

#include "base/dynamic_library.hpp"

namespace attnprobe::cudnn {

/// Loads a shared library that is made in memory: it has this name (SONAME) and no code, and dlsym finds in it what the
/// loaded library named `provider` exports. No file is written. Empty where the system refuses it; loader_words() says
/// why.
DynamicLibrary load_stand_in(const std::string& name, const std::string& provider);

}  // namespace attnprobe::cudnn
