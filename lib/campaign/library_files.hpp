// What tells one cuDNN on disk from another, without loading it. Each throws Error(environment) naming a file that cannot
// be read.
#pragma once

#include <string>

namespace attnprobe::campaign {

/// The build of the cuDNN at that path, wherever it lies: of every file of it name, size and first and last bytes.
std::string build_of_library(const std::string& cudnn);

/// When its files were last written, and how large they are: another for a library that was patched where it lies, and
/// for a copy.
std::string times_of_library(const std::string& cudnn);

/// Name, size, first and last bytes of one file.
std::string look_of(const std::string& file);

}  // namespace attnprobe::campaign
