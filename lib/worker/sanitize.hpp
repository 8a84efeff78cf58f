// Executes plans under NVIDIA's compute-sanitizer, for bug reports to NVIDIA. Not installed.
#pragma once

#include <string>

#include "probe/findings.hpp"
#include "run/run_options.hpp"
#include "worker/run_plans.hpp"

namespace attnprobe::worker {

/// compute-sanitizer from PATH, CUDA_HOME, CUDA_PATH, or /usr/local/cuda. Throws Error(environment) if it is missing.
std::string sanitizer_program();

/// Builds the engine config's plan again in a worker under that tool, with the usual time limit, and executes it once.
/// Errors are in the findings. Throws Stopped; Error(environment) if the tool is missing.
probe::SanitizerFindings sanitize(run::Sanitizer tool, const StartWorkerUnder& start, const Json& graph,
                                  const probe::EngineConfigFindings& config, run::RunOptions options);

}  // namespace attnprobe::worker
