// What NVIDIA's wheels hold of cuDNN, NVRTC and cuBLASLt: taken out under limits, and checked. Not installed.
#pragma once

#include <filesystem>
#include <string>

namespace attnprobe::fetch {

/// Which of cuDNN's libraries are kept.
enum class Keep {
  small,  ///< those that LibraryInfo::jit_only has: the graph API and the engines that are compiled at run time
  full,   ///< all
};

/// "nvidia-cudnn-jit-cu13", "9.20.0.48": as the dist-info of a wheel says it.
struct Package {
  std::string name, version;
  bool is_cudnn() const;
  int cuda() const;  ///< 12 or 13
};

/// Takes libraries and licences out of the one package that lies in `arrived`, a wheel or what uv made of one, and puts them
/// below `folder` as they lie in it ("nvidia/cudnn_jit/lib/libcudnn.so.9"). Throws Error(environment) for a wheel that is
/// broken, another project's or beyond the limits, and where the disk is full.
Package take_libraries(const std::filesystem::path& arrived, const std::filesystem::path& folder, Keep keep);

/// The folder below `folder` that holds libcudnn.so.9; "" where none does.
std::filesystem::path library_folder(const std::filesystem::path& folder);

/// Throws Error(environment), which names the file, unless `folder` holds a whole cuDNN of that version for this machine.
void check_cudnn(const std::filesystem::path& folder, const std::string& version);

}  // namespace attnprobe::fetch
