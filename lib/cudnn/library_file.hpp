// What a file of cuDNN's or CUDA's says of itself without being loaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace attnprobe::cudnn {

/// "9.19.0" of a libcudnn_graph, _ops or _adv: the version symbol that they carry, read from the file's tables. "" for
/// files that carry none (the engines, the heuristics, libcudnn.so.9 itself) and for what is no ELF library.
std::string version_of_file(const std::filesystem::path& path);

/// Whether an ELF library ends before its tables say. Loading one kills the process with SIGBUS.
bool is_cut_off(const std::filesystem::path& path);

/// Why a file is not a whole shared library for this machine's processor, "is cut off"; none where it is one.
std::optional<std::string> why_not_a_library(const std::filesystem::path& path);

/// Where the sub-libraries of a libcudnn.so.9 lie: beside it, or beside the file that it is a link to.
std::filesystem::path parts_folder(const std::filesystem::path& cudnn);

/// Whether a folder holds the small cuDNN: neither heuristics nor precompiled engines (LibraryInfo::jit_only).
bool is_jit_only(const std::filesystem::path& folder);

}  // namespace attnprobe::cudnn
