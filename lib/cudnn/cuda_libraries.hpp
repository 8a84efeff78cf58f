// The libraries of CUDA that cuDNN and attnprobe load at run time: cuBLASLt, NVRTC and its builtins.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/dynamic_library.hpp"
#include "cudnn/library_info.hpp"

namespace attnprobe::cudnn {

/// `path` without its symbolic links, or as it is where it leads nowhere.
std::filesystem::path resolved(const std::filesystem::path& path);

/// Loads a library for the whole process, so that cuDNN's own dlopen of the bare name finds this one, and never unloads
/// it. What is wrong with the file, or nothing.
std::optional<std::string> open_file(const std::filesystem::path& path, DynamicLibrary& library);

struct CudaLibraries {
  std::string problem;      ///< why this cuDNN cannot be asked; "" where it can
  std::string no_compiler;  ///< why it can compile no plan; "" where it can
};

/// Loads those that a cuDNN in `folder` needs. Where NVRTC is missing and a simulated GPU is asked about, cuDNN up to 9.20 gets a
/// stand-in: it wants to see NVRTC to answer, and calls it only to compile.
CudaLibraries open_cuda_libraries(const std::filesystem::path& folder, const LibraryInfo& cudnn);

/// Why the libcudnn.so.9 at that path can compile no plan here, as far as its files tell: nothing is loaded. None where it
/// can, and where its version is not known.
std::optional<std::string> lacks_compiler(const std::filesystem::path& cudnn);

/// Where NVRTC may be, best first: beside each cuDNN of find_libraries(""), by the loader's search, in the CUDA
/// toolkit; CUDA 13's before CUDA 12's. A path without a folder is the loader's to find.
std::vector<std::filesystem::path> nvrtc_places();

/// NVRTC with its builtins: the one that this process has loaded already (that of the cuDNN in use), else the first of
/// nvrtc_places(). Throws Error(environment) that says what to install.
DynamicLibrary load_nvrtc();

}  // namespace attnprobe::cudnn
