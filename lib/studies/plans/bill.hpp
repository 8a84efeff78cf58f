// The cost of a workload's plans: how many, how many kernels they hold, how long they take to build.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/ask.hpp"
#include "studies/plans/workload.hpp"

namespace attnprobe::plans {

/// A kernel, or the kernels of a plan that launches several, and the shapes whose plans hold it.
struct KernelUse {
  std::string identity;      ///< probe::PlanKernel's; of several kernels joined by "+"
  std::string engine;        ///< "engine 9 KERNEL_CFG=1"
  probe::PlanKernel kernel;  ///< the first
  size_t plans = 0;
  int64_t shortest = 0, longest = 0;  ///< lengths with it
};

/// A shape without a plan.
struct Refused {
  std::string shape, reason;
};

struct Bill {
  size_t shapes = 0, plans = 0;
  size_t compiled = 0;             ///< of the plans; each other one lies between two compiled ones of one kernel
  size_t checked = 0;              ///< of the compiled: drawn to check that, and as foretold
  bool is_whole = true;            ///< false: it was stopped
  std::vector<KernelUse> kernels;  ///< most plans first
  std::vector<Refused> refused;
  double median_build_ms = 0;   ///< of those that were compiled, on this machine
  bool is_simulated = true;     ///< compiled, not loaded
  int64_t workspace_bytes = 0;  ///< the most of a plan
  int64_t code_bytes = 0;       ///< of all plans' kernels: each plan has its own copy
};

struct BucketedBill {
  Bucketing bucketing;
  bool adds_padding = false;  ///< the mask, too, is another
  Bill bill;
};

struct WorkloadBill {
  std::string config;  ///< that its lengths vary; "" for shapes that are configs
  gpu::Target target;
  CudnnVersion cudnn;
  Bill exact;
  std::vector<BucketedBill> bucketed;
  std::string no_buckets;  ///< why lengths are not rounded up; "" where they are
};

/// Told of each answer.
using OnPlan = std::function<void(const answer::Answer&)>;

/// Asks for each shape which engine config a program gets (heuristic mode A), then compiles as few as show the kernels.
/// Shapes with the same engine config and the same divisibility of their length (by powers of two up to 128) are a
/// class. Of a class, the ends and the middle are compiled. Between two lengths with different kernels, the one halfway
/// is compiled until they are neighbours. Then others, drawn evenly, are compiled to check: one that differs opens its
/// class again. Up to 48 shapes, and with `all`, each is compiled.
/// Shapes are in order of length; with `bucketings`, they are rounded up too. `plan` gives the cuDNN and options; of
/// its groups only the one target is read.
WorkloadBill bill_of(const std::vector<Shape>& shapes, const gpu::Target& target, const asking::Plan& plan,
                     const asking::Session& session, bool all, const OnPlan& on_plan = {});

}  // namespace attnprobe::plans
