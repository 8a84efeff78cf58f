// Families of cuDNN statuses. Only one of them means "unsupported".
#pragma once

#include <string>

namespace attnprobe::log {

/// cudnn_graph.h numbers statuses by thousands.
enum class StatusFamily {
  success,
  not_ready,        ///< 1000s: not initialised; sub-libraries do not match or do not load
  bad_param,        ///< 2000s: the graph is malformed, which is the caller's fault
  not_supported,    ///< 3000s
  internal_error,   ///< 4000s
  execution_failed  ///< 5000s
};

constexpr StatusFamily family_of(int status) {
  switch (status / 1000) {
    case 0:
      return StatusFamily::success;
    case 1:
      return StatusFamily::not_ready;
    case 2:
      return StatusFamily::bad_param;
    case 3:
      return StatusFamily::not_supported;
    case 4:
      return StatusFamily::internal_error;
    default:
      return StatusFamily::execution_failed;
  }
}

/// The same for a name such as "CUDNN_STATUS_NOT_SUPPORTED_SHAPE"; unknown names count as internal errors.
inline StatusFamily family_of(const std::string& status_name) {
  auto begins = [&](const char* prefix) { return status_name.rfind(prefix, 0) == 0; };
  if (begins("CUDNN_STATUS_SUCCESS")) return StatusFamily::success;
  if (begins("CUDNN_STATUS_NOT_SUPPORTED")) return StatusFamily::not_supported;
  if (begins("CUDNN_STATUS_BAD_PARAM")) return StatusFamily::bad_param;
  if (begins("CUDNN_STATUS_EXECUTION_FAILED")) return StatusFamily::execution_failed;
  for (const char* prefix : {"CUDNN_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_SUBLIBRARY", "CUDNN_STATUS_SERIALIZATION",
                             "CUDNN_STATUS_DEPRECATED", "CUDNN_STATUS_LICENSE_ERROR", "CUDNN_STATUS_RUNTIME"})
    if (begins(prefix)) return StatusFamily::not_ready;
  return StatusFamily::internal_error;
}

}  // namespace attnprobe::log
