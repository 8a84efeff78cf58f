// The cuDNN and CUDA libraries of a running process, read from its memory map, without loading anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::machine {

/// A present or future problem.
struct EnvironmentProblem {
  std::string id;    ///< "two_cudnn_versions"
  std::string what;  ///< one sentence
  std::string cure;  ///< the command or action that fixes it
};
ATTNPROBE_JSON(EnvironmentProblem, id, what, cure)

struct MappedLibrary {
  std::string name;      ///< "libcudnn_graph.so.9"
  std::string path;      ///< the kernel's path
  std::string version;   ///< "9.19.0", "13.0" for NVRTC's builtins; "" if unknown
  bool deleted = false;  ///< the file was removed or replaced after it was loaded
};
ATTNPROBE_JSON(MappedLibrary, name, path, version, deleted)

struct ProcessLibraries {
  int64_t pid = 0;
  std::string command;  ///< its command line
  std::vector<MappedLibrary> libraries;
  std::vector<EnvironmentProblem> problems;  ///< worst first
};
ATTNPROBE_JSON(ProcessLibraries, pid, command, libraries, problems)

/// The libraries of cuDNN, NVRTC, cuBLASLt, the CUDA runtime and driver in the text of a /proc/PID/maps. `root` is
/// prepended to paths that are read ("/proc/PID/root" for a process in a container; "" for this machine's).
std::vector<MappedLibrary> libraries_in_maps(std::string_view maps, const std::string& root);

/// The incompatible combinations among them.
std::vector<EnvironmentProblem> problems_of(const std::vector<MappedLibrary>& libraries);

/// Throws Error(usage) for an unknown process, Error(environment) for a process that this user may not inspect.
ProcessLibraries inspect_process(int64_t pid);

}  // namespace attnprobe::machine
