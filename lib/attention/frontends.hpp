// The releases of cudnn-frontend that attnprobe has rules and graphs for.
#pragma once

#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "base/version.hpp"

namespace attnprobe::attention {

/// Oldest first. The data is in lib/rules/cudnn-frontend; a test compares both.
inline const std::vector<std::string> frontend_releases{"1.23", "1.24", "1.25", "1.26", "1.27",
                                                        "1.28", "1.29", "1.30", "1.31", "1.32"};

/// Before this cuDNN, backward graphs of newer releases fail. With a padding mask, those of 1.26 and later crash cuDNN
/// (rules/cudnn/known_bugs.json, padding_twice). The Python packages of 1.24 to 1.26 build no such graph (package_reshape_mode).
inline constexpr CudnnVersion newest_frontend_from{9, 10, 0};

/// The release that the spec names; otherwise the newest that works with this cuDNN.
inline std::string frontend_release(const AttentionSpec& spec, CudnnVersion cudnn) {
  if (spec.frontend) return *spec.frontend;
  const bool is_old = cudnn.is_known() && cudnn < newest_frontend_from;
  return is_old ? frontend_releases.front() : frontend_releases.back();
}

/// The known release with the same graph wiring as `release` ("1.22"): `release` itself, or the oldest or newest known.
inline std::string nearest_frontend(const std::string& release) {
  for (const std::string& known : frontend_releases)
    if (known == release) return known;
  const bool is_older = release.starts_with("0.") || (release.starts_with("1.") && release.size() < 4) ||
                        release < frontend_releases.front();
  return is_older ? frontend_releases.front() : frontend_releases.back();
}

}  // namespace attnprobe::attention
