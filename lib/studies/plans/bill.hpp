// The cost of a workload's plans: their number, their kernels and their build time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/plans/kernel_search.hpp"
#include "studies/plans/workload.hpp"

namespace attnprobe::plans {

/// A kernel, or the kernels of a plan that launches several, and the shapes whose plans contain it.
struct KernelUse {
  std::string identity;      ///< as in probe::PlanKernel; several joined by "+"
  std::string engine;        ///< "engine 9 KERNEL_CFG=1"
  probe::PlanKernel kernel;  ///< the first kernel, with the total code size
  size_t plans = 0;
  int64_t shortest = 0, longest = 0;  ///< lengths whose plans contain it
};

/// A shape without a plan.
struct Refused {
  std::string shape, reason;
};

struct Bill {
  size_t shapes = 0, plans = 0;
  size_t compiled = 0;             ///< number of compiled plans; every other plan is between two compiled plans with
                                   ///< the same kernel
  size_t checked = 0;              ///< compiled plans that were spot checks and confirmed the prediction
  std::vector<KernelUse> kernels;  ///< most plans first
  std::vector<Refused> refused;
  double median_build_ms = 0;   ///< build times of the compiled plans, on this machine
  double total_build_ms = 0;    ///< total of these
  int64_t workspace_bytes = 0;  ///< largest workspace of any plan
  int64_t code_bytes = 0;       ///< code of all plans' kernels: each plan has its own copy
  /// cuDNN's heap memory for all plans, extrapolated from the median of the compiled plans. None if unknown.
  std::optional<int64_t> host_bytes;
};

struct BucketedBill {
  Bucketing bucketing;
  Bill bill;
};

/// One plan for all lengths: whether cuDNN supports and compiles the longest shape of each family with this field.
struct OnePlan {
  std::string field;    ///< "override_shapes", "dynamic_shapes"
  std::string refused;  ///< cuDNN's reason; "" if supported
  size_t families = 0;  ///< number of plans or caches needed in this case
};

struct WorkloadBill {
  Workload workload;
  gpu::Target target;
  CudnnVersion cudnn;
  bool is_whole = true;      ///< false: stopped
  bool is_simulated = true;  ///< compiled, not loaded
  Bill exact;
  std::vector<BucketedBill> bucketed;
  std::string no_buckets;  ///< why lengths are not rounded up, or ""
  std::vector<OnePlan> one_plan;
};

/// The bills of workloads for one target. All workloads are searched together (kernel_search.hpp), so no shape is asked
/// twice. For up to 16 shapes, and with `all`, every plan is compiled. `plan` has the cuDNN and options; from its
/// groups only the single target is used.
std::vector<WorkloadBill> bills_of(const std::vector<Workload>& workloads, const gpu::Target& target,
                                   const asking::Plan& plan, const asking::Session& session, bool all,
                                   const OnPlan& on_plan = {});

/// The bucketing with the fewest plans for at most a tenth more work, otherwise the bucketing with the least work;
/// null: none.
const BucketedBill* cheapest_of(const WorkloadBill& found);

}  // namespace attnprobe::plans
