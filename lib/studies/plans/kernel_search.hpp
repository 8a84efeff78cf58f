// Finds the kernel in each shape's plan with as few compiled plans as possible.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ask/ask.hpp"
#include "studies/plans/length_classes.hpp"
#include "studies/plans/workload.hpp"

namespace attnprobe::plans {

/// A shape, its first engine config, and its plan.
struct Place {
  Shape shape;
  std::optional<std::string> engine;  ///< "engine 9 KERNEL_CFG=1"; none: refused
  std::string reason;                 ///< reason for the refusal
  std::optional<std::string> kernel;  ///< identity; several kernels are joined by "+"
  bool is_compiled = false;           ///< compiled; otherwise the kernel is inferred from a neighbour
  bool is_checked = false;            ///< compiled as a spot check, which confirmed the prediction
  double build_ms = 0;                ///< for a compiled plan, like the next two members
  int64_t workspace_bytes = 0;
  std::optional<int64_t> host_bytes;
};

struct Kernel {
  std::string engine;
  probe::PlanKernel first;
  int64_t code_bytes = 0;  ///< code of all kernels of the plan
};

/// Called for each answer.
using OnPlan = std::function<void(const answer::Answer&)>;

/// Asks for each shape which engine config a program would use (heuristic mode A), then compiles as few plans as
/// necessary to find the kernels. Shapes that differ only in length and have the same engine config are a class,
/// searched by length (length_classes.hpp). Then evenly drawn plans are compiled as a check; a different kernel reopens
/// its class.
class KernelSearch {
 public:
  /// `plan` has the cuDNN and options; from its groups only the single target is used. All arguments must outlive the
  /// search.
  KernelSearch(const gpu::Target& target, const asking::Plan& plan, const asking::Session& session,
               const OnPlan& on_plan);

  /// Returns the shape's index, the same for equal shapes. `compile`: always compiles its plan.
  size_t add(const Shape& shape, bool compile);
  void run();

  const Place& place(size_t index) const { return places_[index]; }
  const std::map<std::string, Kernel>& kernels() const { return kernels_; }
  CudnnVersion cudnn() const { return cudnn_; }
  bool is_whole() const { return is_whole_; }          ///< false: stopped
  bool is_simulated() const { return is_simulated_; }  ///< compiled, not loaded

 private:
  struct Class {
    std::vector<size_t> places;  // in order of length
    Grouping grouping = Grouping::levels_that_agree;
  };

  std::vector<answer::Answer> ask(const std::vector<size_t>& which, probe::Plans plans);
  void check();
  void make_classes();
  std::vector<ClassLength> lengths_of(const Class& one) const;
  void compile(std::vector<size_t> which);
  void take(Place& place, const answer::Answer& answer);
  void search();
  bool agrees();
  void infer();

  gpu::Target target_;
  asking::Plan plan_;
  const asking::Session& session_;
  const OnPlan& on_plan_;
  std::vector<Place> places_;
  std::map<std::string, size_t> known_;  // by family and length
  std::vector<size_t> compiled_first_;
  std::vector<Class> classes_;
  std::map<std::string, Kernel> kernels_;
  CudnnVersion cudnn_{0, 0, 0};
  bool is_simulated_ = true, is_whole_ = true;
};

}  // namespace attnprobe::plans
