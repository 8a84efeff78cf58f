// The cost of a workload's plans: their number, their kernels and their build time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/plans/kernel_search.hpp"
#include "studies/plans/workload.hpp"

namespace attnprobe::plans {

/// A kernel, or the kernels of a plan that launches several, and the shapes with plans that contain it.
struct KernelUse {
  std::string identity;      ///< probe::PlanKernel's; of several kernels joined by "+"
  std::string engine;        ///< "engine 9 KERNEL_CFG=1"
  probe::PlanKernel kernel;  ///< the first kernel, with the code size of all
  size_t plans = 0;
  int64_t shortest = 0, longest = 0;  ///< lengths with it
};

/// A shape without a plan.
struct Refused {
  std::string shape, reason;
};

struct Bill {
  size_t shapes = 0, plans = 0;
  size_t compiled = 0;             ///< the number of compiled plans; each other plan is between two compiled ones with
                                   ///< one kernel
  size_t checked = 0;              ///< of the compiled ones: spot checks that confirmed the prediction
  std::vector<KernelUse> kernels;  ///< most plans first
  std::vector<Refused> refused;
  double median_build_ms = 0;   ///< of the compiled ones, on this machine
  double total_build_ms = 0;    ///< of all of these
  int64_t workspace_bytes = 0;  ///< the largest of any plan
  int64_t code_bytes = 0;       ///< of all plans' kernels: each plan has its own copy
  /// For all plans, from the median of the compiled ones: cuDNN's heap memory for a plan. None if it is unknown.
  std::optional<int64_t> host_bytes;
};

struct BucketedBill {
  Bucketing bucketing;
  Bill bill;
};

/// One plan for all lengths: whether cuDNN supports and compiles the longest shape of each family with such a field.
struct OnePlan {
  std::string field;    ///< "override_shapes", "dynamic_shapes"
  std::string refused;  ///< cuDNN's reason; "" if supported
  size_t families = 0;  ///< the number of plans or caches needed then
};

struct WorkloadBill {
  Workload workload;
  gpu::Target target;
  CudnnVersion cudnn;
  bool is_whole = true;      ///< false: it was stopped
  bool is_simulated = true;  ///< compiled, not loaded
  Bill exact;
  std::vector<BucketedBill> bucketed;
  std::string no_buckets;  ///< why lengths are not rounded up; "" if they are
  std::vector<OnePlan> one_plan;
};

/// The bills of workloads for one target. All workloads are searched together (kernel_search.hpp), so that no shape is
/// asked twice. Of a workload of up to 16 shapes, and with `all`, each is compiled. `plan` gives the cuDNN and options;
/// of its
/// groups only the one target is read.
std::vector<WorkloadBill> bills_of(const std::vector<Workload>& workloads, const gpu::Target& target,
                                   const asking::Plan& plan, const asking::Session& session, bool all,
                                   const OnPlan& on_plan = {});

/// The bucketing with the fewest plans for at most a tenth more work, else the one with the least work; null: none.
const BucketedBill* cheapest_of(const WorkloadBill& found);

}  // namespace attnprobe::plans
