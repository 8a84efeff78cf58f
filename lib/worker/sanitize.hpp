// Plans executed under NVIDIA's compute-sanitizer, for who reports a bug to them. Not installed.
#pragma once

#include <string>

#include "probe/findings.hpp"
#include "run/run_options.hpp"
#include "worker/run_plans.hpp"

namespace attnprobe::worker {

/// compute-sanitizer of PATH, of CUDA_HOME or CUDA_PATH, or of /usr/local/cuda. Throws Error(environment) where it is in
/// none.
std::string sanitizer_program();

/// Builds the engine config's plan anew in a worker under that tool, with a time limit as for any worker, and executes it
/// once. What goes wrong is in the findings. Throws Stopped; Error(environment) where the tool is missing.
probe::SanitizerFindings sanitize(run::Sanitizer tool, const StartWorkerUnder& start, const Json& graph,
                                  const probe::EngineConfigFindings& config, run::RunOptions options);

}  // namespace attnprobe::worker
