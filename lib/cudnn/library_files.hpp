// Identifies a cuDNN on disk without loading it. Each function throws Error(environment) naming an unreadable file.
#pragma once

#include <string>

namespace attnprobe::cudnn {

/// The build of the cuDNN at that path, in any folder: name, size and first and last bytes of each of its files.
std::string build_of_library(const std::string& cudnn);

/// The modification times and sizes of its files. Patching a library in place or copying it changes them.
std::string times_of_library(const std::string& cudnn);

/// Name, size, first and last bytes of one file.
std::string look_of(const std::string& file);

}  // namespace attnprobe::cudnn
