// A reason that cuDNN gives, and the knobs of an engine.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.hpp"

namespace attnprobe::log {

/// One line "Warning: STATUS; Reason: …".
struct Reason {
  std::string status;  ///< "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT"
  std::string reason;  ///< the text after "Reason: ", verbatim
  friend bool operator==(const Reason&, const Reason&) = default;
};
ATTNPROBE_JSON(Reason, status, reason)

using Knobs = std::map<std::string, int64_t>;  ///< "KERNEL_CFG" -> 7; -1: cuDNN chose no value

}  // namespace attnprobe::log
