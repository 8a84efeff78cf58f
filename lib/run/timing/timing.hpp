// Timing on a GPU, after nvbench: every sample with the L2 flushed, everything queued before it begins.
#pragma once

#include "run/device/cuda.hpp"
#include "run/problem.hpp"
#include "run/work.hpp"

namespace attnprobe::run {

/// The limits that percentages are of: this GPU at its highest clocks, as CUDA tells them.
GpuLimits limits_of(const CudaDevice& device);

/// Times the plan as the options ask. It must have run before (kernels
/// load at the first run). Throws Error(cuda), and what `execute` throws.
probe::TimeFindings time_plan(CudaDevice& device, const Execute& execute, const RunOptions& options);

/// The kernels that the plan launches, by capturing it; none where it cannot be captured. `timed`: where there are
/// several, what each adds to those before it. It must have run before. Throws Error(cuda).
std::vector<probe::KernelLaunch> launches_of(CudaDevice& device, const Execute& execute, bool timed);

}  // namespace attnprobe::run
