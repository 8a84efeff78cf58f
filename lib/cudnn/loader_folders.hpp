// Where the dynamic loader looks.
#pragma once

#include <filesystem>
#include <vector>

namespace attnprobe::cudnn {

/// LD_LIBRARY_PATH of this process.
std::vector<std::filesystem::path> library_path_folders();

/// These, those of ld.so.conf(.d), and the usual ones.
std::vector<std::filesystem::path> loader_folders();

/// site-packages where attnprobe is part of a Python package there, as program or, in a Python process, as library; else "".
std::filesystem::path own_site_packages();

}  // namespace attnprobe::cudnn
