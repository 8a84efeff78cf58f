// Plans the evaluation of a graph, independently of the memory of its tensors. Decides which part of the work runs at a
// time, and how long each intermediate tensor is needed.
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
  /// The tensor that owns this one's memory.
  Uid root(Uid uid) const;
  /// Virtual tensors not needed by later operations.
  const std::vector<Uid>& dead_after(size_t operation) const { return dead_after_[operation]; }
  /// Peak memory of virtual tensors and their errors, including partial results of reductions.
  size_t peak(const Slice& slice) const;
  /// All ways to split, from none to the finest: first by batch, then by heads.
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
  std::set<Uid> whole_;  ///< first axis is not the batch: paged caches, angles, prefix sums
  std::map<Uid, Uid> aliases_;
  std::vector<std::vector<Uid>> dead_after_;
  int64_t batch_ = 1, heads_ = 0;
  bool may_slice_batch_ = true, may_slice_heads_ = true;
};

}  // namespace attnprobe::run
