// The packages that a requirements file, a lock file or an environment pins.
#pragma once

#include <string>
#include <vector>

namespace attnprobe::campaign {

struct PinnedPackage {
  std::string name;     ///< normalised (PEP 503): "nvidia-cudnn-cu12"
  std::string version;  ///< "9.10.2.21"
};

/// Of a requirements file or the output of `pip freeze` (torch==2.9.1), a lock file of uv, poetry, pdm or pip (TOML blocks of
/// packages), Pipfile.lock, an environment file or list of conda (pytorch=2.9.1), or a Python environment: its folder or its
/// interpreter. Packages without one exact version are left out. Throws Error(usage) naming a path that is none of them.
std::vector<PinnedPackage> pinned_packages(const std::string& path);

}  // namespace attnprobe::campaign
