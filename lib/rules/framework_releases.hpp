// Which cuDNN a framework's release brings, and which its own gate asks for: the "releases" and the conditions on cuDNN of
// lib/rules/frameworks/*.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"

namespace attnprobe::rules {

struct FrameworkRelease {
  std::string version;  ///< "2.15.0"
  std::string cudnn;    ///< "9.26.0.51", ">=9.1"; "" where the release asks for none
  std::string package;  ///< "nvidia-cudnn-cu13==9.26.0.51"; "" where it is not known
};

/// The release of that very version; a local part ("+cu128") does not count. None for a framework or version that the
/// files lack.
std::optional<FrameworkRelease> framework_release(std::string_view framework, std::string_view version);

/// A rule of a release's gate that an older cuDNN runs into.
struct GateDemand {
  std::string rule;     ///< "hopper_query_gradient"
  CudnnVersion from;    ///< from this cuDNN on the rule refuses less
  std::string message;  ///< how the framework's message begins
  std::string change;   ///< what the file says to change
};

/// Those of a release that ask for a cuDNN newer than `cudnn`, the newest first; none for a release that the files lack.
/// By rule: what the files say, on whichever GPU and for whichever call.
std::vector<GateDemand> gate_demands(std::string_view framework, std::string_view version, CudnnVersion cudnn);

}  // namespace attnprobe::rules
