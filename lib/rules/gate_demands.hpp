// The cuDNN that a framework's gate requires, derived from its rules' conditions on cuDNN.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/version.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::rules {

/// The release of exactly that version, ignoring a local part ("+cu128"). Null for an unknown framework or version.
const GateRelease* gate_release(std::string_view framework, std::string_view version);

/// The version, with its cudnn-frontend if known: "2.11.0, compiled with cudnn-frontend 1.18".
std::string release_words(std::string_view framework, std::string_view version);

/// A rule of a release's gate that refuses older cuDNNs.
struct GateDemand {
  std::string rule;     ///< "hopper_query_gradient"
  CudnnVersion from;    ///< the first cuDNN for which the rule refuses less
  std::string message;  ///< the start of the framework's message
  std::string change;   ///< the file's advice
};

/// The rules of a release that require a newer cuDNN than `cudnn`, newest first. None for an unknown release. Derived
/// from rules, for any GPU and any call.
std::vector<GateDemand> gate_demands(std::string_view framework, std::string_view version, CudnnVersion cudnn);

}  // namespace attnprobe::rules
