// What is known of a cuDNN on this machine: plain data, with no need of cuDNN's headers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "../base/json.hpp"
#include "../base/version.hpp"

namespace attnprobe::cudnn {

/// A shared library that belongs to cuDNN or that it needs.
struct LoadedFile {
  std::string name;     ///< "libcudnn_graph.so.9"
  std::string path;     ///< as the dynamic loader has it, symbolic links resolved
  std::string version;  ///< "9.19.0"; "" for files that carry none (all but graph, ops and adv)
};
ATTNPROBE_JSON(LoadedFile, name, path, version)

struct LibraryInfo {
  CudnnVersion version;      ///< cudnnGetVersion
  std::string path;          ///< of libcudnn.so.9, links resolved
  int64_t cuda_version = 0;  ///< cudnnGetCudartVersion: the CUDA runtime that cuDNN was built with, 13000
  /// The small cuDNN: the graph API with engines that are compiled at run time, without precompiled ones and their
  /// heuristics (CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY in NVIDIA's documentation).
  bool jit_only = false;
  std::vector<LoadedFile> files;      ///< cuDNN's own, NVRTC and cuBLASLt, as really loaded
  std::vector<std::string> problems;  ///< what did not load, one sentence each
};
ATTNPROBE_JSON(LibraryInfo, version, path, cuda_version, jit_only, files, problems)

/// A place where a libcudnn.so.9 was found, and which rule led there.
struct Candidate {
  std::filesystem::path path;
  std::string found_by;  ///< "--cudnn", "ATTNPROBE_CUDNN", "the Python environment of this attnprobe",
                         ///< "the loader's search path", "pip (nvidia/cudnn)", "CUDA toolkit"
};

/// Every cuDNN 9 on this machine, in the order in which attnprobe would take them: `requested` (a file or a folder; may
/// be empty), ATTNPROBE_CUDNN, the site-packages (or conda environment) that this program is a package of, the loader's
/// path (LD_LIBRARY_PATH, ld.so.cache, the usual folders), pip's nvidia/cudnn/lib of the Python on PATH and of the
/// active virtual environment, the CUDA toolkit's folders, and what `attnprobe cudnn fetch` brought
/// ($XDG_CACHE_HOME/attnprobe/cudnn/VERSION). Next to each nvidia/cudnn, nvidia/cudnn_jit, the small cuDNN, counts too. A
/// requested one is the only candidate; a version is as for find_version(). What is not named is taken only where nobody
/// but root and this user can have written it (base/trust.hpp). Throws Error(environment) if `requested` or
/// ATTNPROBE_CUDNN names no libcudnn.so.9.
std::vector<Candidate> find_libraries(const std::string& requested);

/// The newest of a version on this machine: "9.14" and "9.14.0" as the libraries themselves say, the build "9.14.0.64"
/// where a folder is named so, "latest" any. Nothing is loaded.
std::optional<std::filesystem::path> find_version(const std::string& word);

/// Where `attnprobe cudnn fetch` puts releases side by side, a folder each; none where there is no home for it.
std::optional<std::filesystem::path> fetched_folder();

/// What to give to `pip install` for a cuDNN: the extra of attnprobe's own package where this program is part of it.
std::string pip_requirement();

/// The first candidate. Throws Error(environment) saying what to install where there is none.
Candidate choose_library(const std::string& requested);

}  // namespace attnprobe::cudnn
