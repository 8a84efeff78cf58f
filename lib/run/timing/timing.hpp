// Timing on a GPU, modelled on nvbench: the L2 is flushed for every sample, and everything is queued before the sample
// begins.
#pragma once

#include "run/device/cuda.hpp"
#include "run/problem.hpp"
#include "run/work.hpp"

namespace attnprobe::run {

/// The limits for percentages: this GPU's peaks at its highest clocks, from CUDA.
GpuLimits limits_of(const CudaDevice& device);

/// Times the plan as the options say. It must have run before (kernels load at the first run). Throws Error(cuda) and
/// the exceptions of `execute`.
probe::TimeFindings time_plan(CudaDevice& device, const Execute& execute, const RunOptions& options);

/// The kernels that the plan launches, from a capture; none if it cannot be captured. `timed`: for several kernels,
/// adds the time of each. The plan must have run before. Throws Error(cuda).
std::vector<probe::KernelLaunch> launches_of(CudaDevice& device, const Execute& execute, bool timed);

}  // namespace attnprobe::run
