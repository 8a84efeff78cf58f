// A graph with its data on a device: buffers between guard zones, filled inputs, poisoned outputs, and the expected
// outputs.
#pragma once

#include <functional>
#include <optional>

#include "base/version.hpp"
#include "probe/run_findings.hpp"
#include "run/data.hpp"
#include "run/reference/reference.hpp"

namespace attnprobe::run {

/// Runs the plan once on the problem's buffers, ordered with the device's other work.
using Execute = std::function<void()>;

/// On each side of a buffer. Wide enough to catch a tile written one or two rows too far, in any type.
inline constexpr size_t guard_bytes = size_t{128} << 10;

class Problem {
 public:
  /// Allocates and fills. Throws Error(environment) with both sizes if the GPU is too small. `workspace`: additional
  /// bytes for plans.
  Problem(Device& device, const OpGraph& graph, const RunOptions& options, CudnnVersion cudnn_version,
          size_t workspace = 0);

  /// The memory of each real tensor, except by-value scalars.
  std::map<Uid, void*> pointers() const;

  /// Views of all tensors, and of inputs only.
  const Inputs& views() const { return inputs_; }
  Inputs inputs() const;

  /// Poisons outputs and clears the memory that old cuDNNs expect cleared. Call it before every run whose outputs are
  /// used.
  void reset_outputs();

  /// Runs the plan and compares every output with the reference, which is computed at the first call and again for
  /// another dropout mask. Also finds unwritten elements and writes outside the tensors. Then compares `repeats` more
  /// runs bit by bit. Rethrows exceptions of `execute`.
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
    Uid buffer = 0;  // key: its first tensor
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
  std::string no_reference_;  // why there is no reference
};

/// Copies one view to another of the same dims, converting to its type.
void convert(Device& device, const View& from, const View& to);

/// The allowed distance from the reference, in standard deviations of an element's rounding (device/error_kernels.hpp).
/// A type's unit is its worst rounding, two to three times the typical rounding.
inline constexpr double most_of_element = 5;

/// The allowed root mean square over `elements`, which is tighter: 5 for one element, 0.9 for a million. Measured on an
/// H200: 0.3 to 0.6.
double most_of_norm(int64_t elements);

/// A forward graph that computes the Stats and O inputs of a backward graph (expanded) from its other inputs. Returns
/// std::nullopt if the graph has no such inputs, or another form.
std::optional<OpGraph> forward_of(const OpGraph& backward);

}  // namespace attnprobe::run
