// Extracts cuDNN, NVRTC and cuBLASLt from NVIDIA's wheels, within limits, and checks the result. Not installed.
#pragma once

#include <filesystem>
#include <string>

namespace attnprobe::fetch {

/// Which cuDNN libraries are kept.
enum class Keep {
  small,  ///< as in LibraryInfo::jit_only: the graph API and the engines compiled at run time
  full,   ///< all
};

/// "nvidia-cudnn-jit-cu13", "9.20.0.48": from the dist-info of a wheel.
struct Package {
  std::string name, version;
  bool is_cudnn() const;
  int cuda() const;  ///< 12 or 13
};

/// Copies libraries and licences of the one package in `arrived`, a wheel or its tree from uv, to the same paths below
/// `folder` ("nvidia/cudnn_jit/lib/libcudnn.so.9"). Throws Error(environment) for a wheel that is broken, of another
/// project or beyond the limits, and if the disk is full.
Package take_libraries(const std::filesystem::path& arrived, const std::filesystem::path& folder, Keep keep);

/// The folder below `folder` with libcudnn.so.9; "" if there is none.
std::filesystem::path library_folder(const std::filesystem::path& folder);

/// Throws Error(environment), naming the file, unless `folder` has a complete cuDNN of that version for this machine.
void check_cudnn(const std::filesystem::path& folder, const std::string& version);

}  // namespace attnprobe::fetch
