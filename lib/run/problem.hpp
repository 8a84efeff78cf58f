// A graph with its data on a device: buffers between guard zones,
// inputs filled, outputs poisoned, and what the outputs must be.
#pragma once

#include <functional>
#include <optional>

#include "base/version.hpp"
#include "probe/run_findings.hpp"
#include "run/data.hpp"
#include "run/reference/reference.hpp"

namespace attnprobe::run {

/// Runs the plan once on the problem's buffers; what it queues is ordered with the device's other work.
using Execute = std::function<void()>;

/// On each side of a buffer: wide enough for a tile that is written a row or two too far, in any type.
inline constexpr size_t guard_bytes = size_t{128} << 10;

class Problem {
 public:
  /// Allocates and fills. Throws Error(environment) naming both sizes if
  /// the GPU is too small; `workspace`: bytes that plans will want beside.
  Problem(Device& device, const OpGraph& graph, const RunOptions& options, CudnnVersion cudnn_version,
          size_t workspace = 0);

  /// Where each real tensor lies, by-value scalars excepted.
  std::map<Uid, void*> pointers() const;

  /// Views of all of them, and of those alone that are given before a run.
  const Inputs& views() const { return inputs_; }
  Inputs inputs() const;

  /// Poisons outputs and clears what an old cuDNN wants cleared: before every run whose outputs count.
  void reset_outputs();

  /// Runs the plan, compares every output with the reference (made at the first call, and again for a plan with another
  /// dropout mask), and looks for elements that were not written or do not belong to the tensor. Then `repeats` runs
  /// more, compared bit for bit. Throws what `execute` throws.
  probe::RunFindings verify(const Execute& execute, int64_t repeats);

  const GraphData& data() const { return data_; }

 private:
  // Guard zone, tensors, guard zone.
  struct Buffer {
    Memory memory;
    int64_t size = 0;  // bytes between the guard zones
  };
  struct MemoryUse {
    int64_t unwritten = 0, outside = 0;  // elements
  };
  struct Place {
    Uid buffer = 0;  // by its first tensor
    View view{};
    char* data = nullptr;
  };

  void allocate(size_t workspace);
  void fill(const TensorData& data);
  void fill_inputs();
  void derive_forward();
  const int* lengths(const TensorData& data) const;
  std::optional<Uid> random_mask() const;
  void find_mask(Uid mask, const Execute& execute);
  void read_dumped_mask(Uid mask, const Execute& execute);
  void make_reference(const Execute& execute);
  void fill_as(graph::Role role, int kind, double a, int64_t start = 0, int64_t group = 1, int64_t which = 0);
  bool repeats_alike(const Execute& execute, int64_t repeats);
  probe::OutputFindings compare(const TensorData& data);
  void check_memory(const TensorData& data, probe::OutputFindings& findings);
  MemoryUse memory_use(const Buffer& buffer, const Memory& map, int64_t element_size);
  int64_t unwritten_mask();
  const graph::Tensor* find(graph::Role role) const;

  Device& device_;
  OpGraph graph_, expanded_;
  RunOptions options_;
  CudnnVersion cudnn_version_;
  GraphData data_;
  std::map<Uid, Buffer> buffers_;
  std::map<Uid, Place> places_;
  Inputs inputs_;
  Memory lengths_q_, lengths_kv_, mask_memory_, old_mask_;
  bool mask_known_ = false;
  std::map<Uid, Value> reference_;
  std::string no_reference_;  // why there is none
};

/// Elements of one view into another of the same dims, in its type.
void convert(Device& device, const View& from, const View& to);

/// How far outputs may be from the reference, in standard deviations of what roundings make of an element
/// (device/error_kernels.hpp; the unit of a type is its worst rounding, two to three times the usual one).
inline constexpr double most_of_element = 5;

/// And the root mean square of `elements` of them: what many make together is known better. One is allowed 5, a
/// million 0.9; plans of an H200 have 0.3 to 0.6.
double most_of_norm(int64_t elements);

/// A forward graph that computes the Stats and O that a backward graph (expanded) takes as inputs, from its other
/// inputs: std::nullopt where the graph has no such inputs or another form.
std::optional<OpGraph> forward_of(const OpGraph& backward);

}  // namespace attnprobe::run
