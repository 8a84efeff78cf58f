// The CUDA libraries that cuDNN and attnprobe load at run time: cuBLASLt, NVRTC and its builtins.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/dynamic_library.hpp"
#include "cudnn/library_info.hpp"

namespace attnprobe::cudnn {

/// `path` with symbolic links resolved; unchanged if it does not exist.
std::filesystem::path resolved(const std::filesystem::path& path);

/// Loads a library for the whole process, so that cuDNN's own dlopen of the bare name finds it; never unloads it.
/// Returns the file's problem, or nothing.
std::optional<std::string> open_file(const std::filesystem::path& path, DynamicLibrary& library);

struct CudaLibraries {
  std::string problem;      ///< why this cuDNN cannot be asked; otherwise ""
  std::string no_compiler;  ///< why it cannot compile plans; otherwise ""
};

/// Loads the CUDA libraries that a cuDNN in `folder` needs. For a simulated GPU without NVRTC, cuDNN up to 9.20 gets a
/// stand-in, because it needs NVRTC to answer but calls it only to compile.
CudaLibraries open_cuda_libraries(const std::filesystem::path& folder, const LibraryInfo& cudnn);

/// Why the libcudnn.so.9 at that path cannot compile plans here, judged by the files on disk; loads nothing. None if it
/// can, or if its version is unknown.
std::optional<std::string> lacks_compiler(const std::filesystem::path& cudnn);

/// The possible places of NVRTC, best first: next to each cuDNN of find_libraries(""), the loader's search path, the
/// CUDA toolkit; CUDA 13 before CUDA 12. The loader resolves a path without a folder.
std::vector<std::filesystem::path> nvrtc_places();

/// Loads NVRTC with its builtins: the one already loaded in this process (by the cuDNN in use), otherwise the first of
/// nvrtc_places(). Throws Error(environment) with what to install.
DynamicLibrary load_nvrtc();

}  // namespace attnprobe::cudnn
