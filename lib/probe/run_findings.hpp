// The findings of running a plan: plain data, used in the worker's answer and in reports. Numbers that are not finite
// are null.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace attnprobe::probe {

enum class RunStatus {
  ok,
  wrong_result,
  not_verified,  ///< it ran, but there is no reference: see `message`
  out_of_memory,
  cuda_error,
  cudnn_error,
  crashed,
  timeout,
  not_run,  ///< the worker could not be prepared for the run
};
ATTNPROBE_ENUM(RunStatus, ok, wrong_result, not_verified, out_of_memory, cuda_error, cudnn_error, crashed, timeout,
               not_run)

enum class TimeStatus {
  ok,
  unstable,  ///< still above the noise threshold when the time was up
  no_accepted_samples,
};
ATTNPROBE_ENUM(TimeStatus, ok, unstable, no_accepted_samples)

enum class SanitizerStatus {
  clean,
  errors,
  timeout,  ///< not finished within the time for one plan
  failed,   ///< the tool did not report on the plan: see `message`
};
ATTNPROBE_ENUM(SanitizerStatus, clean, errors, timeout, failed)

/// One output tensor, compared with the reference.
struct OutputFindings {
  std::string tensor;                              ///< "O", "dQ"; "uid 7" if the graph has no names
  std::string data_type;                           ///< as in configs: "bf16"
  int64_t elements = 0;                            ///< compared elements, without rows of padding
  std::optional<double> max_abs_err, max_rel_err;  ///< over elements that are finite in both
  std::optional<double> relative_l2;               ///< ‖out − ref‖ / ‖ref‖
  double allowed_l2 = 0;                           ///< the largest correct relative_l2
  double allowed_abs = 0, allowed_rel = 0;         ///< The allowed error of the element closest to its limit, or
                                                   ///< farthest beyond it: absolute, and relative to the reference.
  std::optional<double> of_allowed;                ///< that element's error as a share of its limit: up to 1 is right
  int64_t nan = 0, inf = 0;                        ///< only if the reference is finite
  int64_t wrong = 0;                               ///< elements beyond the limit, including NaN and Inf
  int64_t unwritten = 0;                           ///< elements that still hold the poison
  int64_t outside = 0;                             ///< changed elements outside the tensor: gaps, guard zones
  std::vector<int64_t> first_wrong;                ///< {batch, head, row, column}
  std::optional<double> first_wrong_value, first_wrong_reference;
  bool right = false;
};
ATTNPROBE_JSON(OutputFindings, tensor, data_type, elements, max_abs_err, max_rel_err, relative_l2, allowed_l2,
               allowed_abs, allowed_rel, of_allowed, nan, inf, wrong, unwritten, outside, first_wrong,
               first_wrong_value, first_wrong_reference, right)

/// One kernel that a plan's execution launched, as captured in a CUDA graph.
struct KernelLaunch {
  std::string name;                  ///< as in profilers; "" if the driver does not report it (before CUDA 12.3)
  std::vector<int64_t> grid, block;  ///< {x, y, z}
  int64_t dynamic_shared_memory_bytes = 0;
  std::optional<int64_t> registers;  ///< per thread
  std::optional<double>
      median_ms;  ///< added time after the earlier kernels; only if a plan launches several and is timed
};
ATTNPROBE_JSON(KernelLaunch, name, grid, block, dynamic_shared_memory_bytes, registers, median_ms)

/// Reports of compute-sanitizer with the same text for the same kernel.
struct SanitizerError {
  std::string what;    ///< "Invalid __global__ read of size 16 bytes"
  std::string kernel;  ///< "" if the report names none
  int64_t count = 0;   ///< among the printed reports
};
ATTNPROBE_JSON(SanitizerError, what, kernel, count)

/// One plan executed under one tool of compute-sanitizer, in a separate process.
struct SanitizerFindings {
  std::string tool;  ///< "memcheck"
  SanitizerStatus status = SanitizerStatus::failed;
  int64_t errors = 0, warnings = 0;   ///< as counted by the tool
  std::vector<SanitizerError> found;  ///< most frequent first
  std::string message;                ///< other problems; "" for none
};
ATTNPROBE_JSON(SanitizerFindings, tool, status, errors, warnings, found, message)

/// One executed plan.
struct RunFindings {
  RunStatus status = RunStatus::not_run;  ///< also for a plan that differs from run to run: see `deterministic`
  std::string message;                    ///< the error from CUDA or cuDNN; "" for ok
  std::optional<double> max_abs_err, max_rel_err, relative_l2;  ///< the largest over the outputs
  std::string reference;                                        ///< what the outputs were compared with
  std::vector<OutputFindings> outputs;
  int64_t repeats = 0;                       ///< further runs, compared bit by bit with the first
  std::optional<bool> deterministic;         ///< whether they were equal; null without repetitions
  std::string data;                          ///< regime of the input data
  bool context_lost = false;                 ///< a sticky CUDA error: this process can run nothing more
  std::vector<KernelLaunch> launches;        ///< in order; empty if the plan cannot be captured in a CUDA graph
  std::vector<SanitizerFindings> sanitized;  ///< if requested
};
ATTNPROBE_JSON(RunFindings, status, message, max_abs_err, max_rel_err, relative_l2, reference, outputs, repeats,
               deterministic, data, context_lost, launches, sanitized)

/// The times of one plan: GPU times from CUDA events, without launch overhead, in milliseconds.
struct TimeFindings {
  TimeStatus status = TimeStatus::no_accepted_samples;
  std::string method;   ///< "cold L2", "hot L2" and other conditions of the measurement
  std::string profile;  ///< "standard" or "fast"
  std::optional<double> median_ms, min_ms, mean_ms, max_ms, stdev_ms, q1_ms, q3_ms, iqr_ms;
  std::optional<double> noise;                    ///< stdev / mean
  int64_t samples = 0, discarded = 0;             ///< accepted; discarded because the clock was throttled
  int64_t outliers = 0;                           ///< kept, but far from the median
  std::optional<double> overhead_ms;              ///< of the events, measured with an empty kernel; not in the times
  std::optional<double> enqueue_ms;               ///< median host time of cudnnBackendExecute
  std::optional<double> clock_mhz;                ///< median SM clock during the samples
  std::optional<double> hot_ms;                   ///< median back to back with L2 not flushed, if requested
  std::optional<double> graph_ms;                 ///< median of a CUDA graph's replay, if requested
  std::string graph_status;                       ///< "", "ok", or why the plan could not be captured
  std::optional<double> tflops, percent_of_peak;  ///< rate of the unmasked work
  std::optional<double> gbytes_per_s, percent_of_bandwidth;  ///< inputs and outputs counted once
  std::string bound;                                         ///< "compute" or "memory": the nearer limit for this shape
  std::vector<std::string> advice;                           ///< "enqueue-bound: …", "unstable: …"
  std::vector<double> raw_ms;                                ///< every accepted sample
};
ATTNPROBE_JSON(TimeFindings, status, method, profile, median_ms, min_ms, mean_ms, max_ms, stdev_ms, q1_ms, q3_ms,
               iqr_ms, noise, samples, discarded, outliers, overhead_ms, enqueue_ms, clock_mhz, hot_ms, graph_ms,
               graph_status, tflops, percent_of_peak, gbytes_per_s, percent_of_bandwidth, bound, advice, raw_ms)

}  // namespace attnprobe::probe
