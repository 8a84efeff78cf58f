// What compute-sanitizer printed about a plan.
#pragma once

#include <string_view>

#include "probe/run_findings.hpp"

namespace attnprobe::worker {

/// Counts, kernels and words of a log, "COMPUTE-SANITIZER" in its first line (the form of CUDA 12 and 13). Without the
/// summary that ends such a log its status is `failed`: nothing is known then.
probe::SanitizerFindings read_sanitizer_log(std::string_view log);

}  // namespace attnprobe::worker
