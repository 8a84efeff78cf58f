// The packages pinned by a requirements file, a lock file or an environment.
#pragma once

#include <string>
#include <vector>

namespace attnprobe::machine {

struct PinnedPackage {
  std::string name;     ///< normalised (PEP 503): "nvidia-cudnn-cu12"
  std::string version;  ///< "9.10.2.21"
};

/// Reads a requirements file or output of `pip freeze` (torch==2.9.1), or a lock file of uv, poetry, pdm or pip (TOML
/// blocks of packages). Also reads Pipfile.lock, a conda environment file or list (pytorch=2.9.1), and a Python
/// environment (folder or interpreter). Skips packages without an exact version. Throws Error(usage) naming a path of
/// any other kind.
std::vector<PinnedPackage> pinned_packages(const std::string& path);

}  // namespace attnprobe::machine
