// Facts about a cuDNN on this machine: plain data, without cuDNN's headers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/version.hpp"

namespace attnprobe::cudnn {

/// A shared library of cuDNN, or one that cuDNN needs.
struct LoadedFile {
  std::string name;     ///< "libcudnn_graph.so.9"
  std::string path;     ///< as reported by the dynamic loader, symbolic links resolved
  std::string version;  ///< "9.19.0"; "" for files without a version (all but graph, ops and adv)
};
ATTNPROBE_JSON(LoadedFile, name, path, version)

struct LibraryInfo {
  CudnnVersion version;      ///< from cudnnGetVersion
  std::string path;          ///< of libcudnn.so.9, links resolved
  int64_t cuda_version = 0;  ///< cudnnGetCudartVersion, the CUDA runtime that cuDNN was built with: 13000
  /// The small cuDNN: the graph API with engines compiled at run time. It has no precompiled engines and no heuristics
  /// for them (CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY in NVIDIA's documentation).
  bool jit_only = false;
  std::vector<LoadedFile> files;      ///< cuDNN's own files, NVRTC and cuBLASLt, as actually loaded
  std::vector<std::string> problems;  ///< libraries that did not load, one sentence each
};
ATTNPROBE_JSON(LibraryInfo, version, path, cuda_version, jit_only, files, problems)

/// A libcudnn.so.9 on this machine, and the rule that found it.
struct Candidate {
  std::filesystem::path path;
  std::string found_by;  ///< "--cudnn", "ATTNPROBE_CUDNN", "the Python environment of this attnprobe",
                         ///< "the loader's search path", "pip (nvidia/cudnn)", "CUDA toolkit"
};

/// Every cuDNN 9 on this machine, in attnprobe's order of preference:
///   `requested` (a file, a folder, or a version as for find_version(); may be empty), which is then the only candidate
///   ATTNPROBE_CUDNN
///   the site-packages or conda environment of the Python package that this program is part of
///   the loader's path (LD_LIBRARY_PATH, ld.so.cache, the usual folders)
///   pip's nvidia/cudnn/lib of the Python on PATH and of the active virtual environment
///   the CUDA toolkit's folders
///   what `attnprobe cudnn fetch` downloaded ($XDG_CACHE_HOME/attnprobe/cudnn/VERSION)
/// Next to each nvidia/cudnn, nvidia/cudnn_jit (the small cuDNN) counts too. A file that was not named counts only if
/// no other user can have written it (base/trust.hpp). Throws Error(environment) if `requested` or ATTNPROBE_CUDNN
/// names no libcudnn.so.9.
std::vector<Candidate> find_libraries(const std::string& requested);

/// The newest cuDNN of a version on this machine. "9.14" and "9.14.0" are compared with the library, the build
/// "9.14.0.64" only with a folder's name; "latest" is any version. Loads nothing.
std::optional<std::filesystem::path> find_version(const std::string& word);

/// The folder of the releases that `attnprobe cudnn fetch` downloaded, with one folder each; none without a home
/// folder.
std::optional<std::filesystem::path> fetched_folder();

/// The argument of `pip install` that installs cuDNN: the extra of attnprobe's own package if this program is part of
/// it.
std::string pip_requirement();

/// The first candidate. Throws Error(environment), saying what to install, if there is none.
Candidate choose_library(const std::string& requested);

}  // namespace attnprobe::cudnn
