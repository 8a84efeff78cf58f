// The search path of the dynamic loader.
#pragma once

#include <filesystem>
#include <vector>

namespace attnprobe::cudnn {

/// LD_LIBRARY_PATH of this process.
std::vector<std::filesystem::path> library_path_folders();

/// LD_LIBRARY_PATH, the folders of ld.so.conf(.d), and the usual ones.
std::vector<std::filesystem::path> loader_folders();

/// The site-packages folder of attnprobe's Python package, if this program (or library, in a Python process) is part of
/// it; otherwise "".
std::filesystem::path own_site_packages();

}  // namespace attnprobe::cudnn
