// A library that cuDNN must find but does not call.
#pragma once

#include <string>

#include "base/dynamic_library.hpp"

namespace attnprobe::cudnn {

/// Loads a shared library that is made in memory, with this SONAME and no code. dlsym finds in it what the loaded
/// library `provider` exports. Writes no file. Empty if the system refuses it; loader_words() then says why.
DynamicLibrary load_stand_in(const std::string& name, const std::string& provider);

}  // namespace attnprobe::cudnn
