// The changes that `pip install attnprobe[cu13]` would make to a Python environment.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "machine/python_packages.hpp"

namespace attnprobe::machine {

/// An extra of pyproject.toml, compared with the installed distributions. Packages have the form of `pip freeze`.
struct ExtraChange {
  std::string extra;               ///< "cu13"
  std::vector<std::string> stays;  ///< "nvidia-cudnn-cu13==9.19.0.56"
  std::vector<std::string> comes;  ///< "nvidia-cublas>=13,<14": pip installs the newest matching version
  std::vector<std::string> goes;   ///< "nvidia-cublas==12.8.4.1": replaced with another version
  /// "nvidia-cudnn-cu12==9.10.2.21": stays in `pip freeze`, although the new cuDNN overwrites its files; "" for none.
  std::string overwritten;
};
ATTNPROBE_JSON(ExtraChange, extra, stays, comes, goes, overwritten)

/// For cu12 and cu13. By pip's rules: a package that satisfies a requirement stays, and NVIDIA's cuDNN wheels for two
/// CUDAs share the folder nvidia/cudnn.
std::vector<ExtraChange> extra_changes(const std::vector<DistInfo>& installed);

}  // namespace attnprobe::machine
