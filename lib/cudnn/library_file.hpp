// What a file of cuDNN's or CUDA's says of itself without being loaded.
#pragma once

#include <filesystem>
#include <string>

namespace attnprobe::cudnn {

/// "9.19.0" of a libcudnn_graph, _ops or _adv: the version symbol that they carry, read from the file's tables. "" for
/// files that carry none (the engines, the heuristics, libcudnn.so.9 itself) and for what is no ELF library.
std::string version_of_file(const std::filesystem::path& path);

}  // namespace attnprobe::cudnn
