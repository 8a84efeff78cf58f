// What of a graph does not depend on where its tensors lie: which part of the work goes at a time, and how long each
// tensor between two operations is needed.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "run/reference/reference.hpp"

namespace attnprobe::run {

/// A part of the batch and of the heads.
struct Slice {
  int64_t first_batch = 0, batches = 0;  ///< batches 0: all
  int64_t part = 0, parts = 1;           ///< of the heads
};

class Slicing {
 public:
  Slicing(const OpGraph& graph, DataType real);

  const graph::Tensor& at(Uid uid) const { return *tensors_.at(uid); }
  bool batch_sliced(Uid uid, const Slice& slice) const;
  bool heads_sliced(Uid uid, const Slice& slice) const;
  Shape dims(Uid uid, const Slice& slice) const;
  /// The tensor whose memory this one is another view of.
  Uid root(Uid uid) const;
  /// Virtual tensors that nothing needs after the operation.
  const std::vector<Uid>& dead_after(size_t operation) const { return dead_after_[operation]; }
  /// What virtual tensors and their errors take at the worst moment, with room for the parts of reductions.
  size_t peak(const Slice& slice) const;
  /// All ways to take turns, from none to the finest: first the batch, then the heads.
  std::vector<Slice> ways() const;
  int64_t batch() const { return batch_; }

 private:
  bool is_offsets(Uid uid) const;
  void limit_slices(const graph::Operation& operation);
  bool is_used(Uid uid) const;
  void find_lives();
  bool is_rng_output(Uid uid) const;

  const OpGraph& graph_;
  size_t real_size_;
  std::map<Uid, const graph::Tensor*> tensors_;
  std::set<Uid> whole_;  ///< whose first axis is not the batch: paged caches, angles, prefix sums
  std::map<Uid, Uid> aliases_;
  std::vector<std::vector<Uid>> dead_after_;
  int64_t batch_ = 1, heads_ = 0;
  bool may_slice_batch_ = true, may_slice_heads_ = true;
};

}  // namespace attnprobe::run
