// Parses compute-sanitizer's output about a plan.
#pragma once

#include <string_view>

#include "probe/run_findings.hpp"

namespace attnprobe::worker {

/// Counts, kernels and messages of a log with "COMPUTE-SANITIZER" in its first line (the form of CUDA 12 and 13). If
/// the final summary is missing, the status is `failed`, because the log is incomplete.
probe::SanitizerFindings read_sanitizer_log(std::string_view log);

}  // namespace attnprobe::worker
