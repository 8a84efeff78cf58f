// Which cuDNN a framework's own gate asks for: the conditions on cuDNN in its rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::rules {

/// The release of that very version; a local part ("+cu128") does not count. Null for a framework or a version that was
/// not read.
const GateRelease* gate_release(std::string_view framework, std::string_view version);

/// The version, and the cudnn-frontend that it is compiled with where that was read: "2.11.0, compiled with cudnn-frontend 1.18".
std::string release_words(std::string_view framework, std::string_view version);

/// A rule of a release's gate that an older cuDNN runs into.
struct GateDemand {
  std::string rule;     ///< "hopper_query_gradient"
  CudnnVersion from;    ///< from this cuDNN on the rule refuses less
  std::string message;  ///< how the framework's message begins
  std::string change;   ///< what the file says to change
};

/// Those of a release that ask for a cuDNN newer than `cudnn`, the newest first; none for a release that was not read.
/// By rule: on whichever GPU and for whichever call.
std::vector<GateDemand> gate_demands(std::string_view framework, std::string_view version, CudnnVersion cudnn);

}  // namespace attnprobe::rules
