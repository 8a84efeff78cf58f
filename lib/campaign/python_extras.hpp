// What `pip install attnprobe[cu13]` would change in a Python environment, before anybody does it.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "campaign/python_packages.hpp"

namespace attnprobe::campaign {

/// An extra of pyproject.toml against the distributions that are installed. Packages are written as `pip freeze` does.
struct ExtraChange {
  std::string extra;               ///< "cu13"
  std::vector<std::string> stays;  ///< "nvidia-cudnn-cu13==9.19.0.56"
  std::vector<std::string> comes;  ///< "nvidia-cublas>=13,<14": the newest that satisfies it
  std::vector<std::string> goes;   ///< "nvidia-cublas==12.8.4.1": another version of what comes
  /// "nvidia-cudnn-cu12==9.10.2.21": stays in `pip freeze`, while the cuDNN that comes writes over its files; "" none.
  std::string overwritten;
};
ATTNPROBE_JSON(ExtraChange, extra, stays, comes, goes, overwritten)

/// Of cu12 and cu13. By pip's rules: what satisfies a requirement stays, and NVIDIA's wheels of cuDNN for two CUDAs have
/// one folder, nvidia/cudnn.
std::vector<ExtraChange> extra_changes(const std::vector<DistInfo>& installed);

}  // namespace attnprobe::campaign
