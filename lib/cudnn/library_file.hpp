// Facts about a cuDNN or CUDA file that need no loading.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace attnprobe::cudnn {

/// "9.19.0" for a libcudnn_graph, _ops or _adv: the version symbol in the file's tables. "" for files without one (the
/// engines, the heuristics, libcudnn.so.9 itself) and for files that are not ELF libraries.
std::string version_of_file(const std::filesystem::path& path);

/// Whether an ELF library is shorter than its tables claim. Loading such a file kills the process with SIGBUS.
bool is_cut_off(const std::filesystem::path& path);

/// Why a file is not a complete shared library for this machine's processor ("is truncated"); none if it is complete.
std::optional<std::string> why_not_a_library(const std::filesystem::path& path);

/// The folder of a libcudnn.so.9's sub-libraries: its own, or that of the file that it links to.
std::filesystem::path parts_folder(const std::filesystem::path& cudnn);

/// Whether a folder contains the small cuDNN, without heuristics and precompiled engines (LibraryInfo::jit_only).
bool is_jit_only(const std::filesystem::path& folder);

}  // namespace attnprobe::cudnn
