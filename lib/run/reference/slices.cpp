#include "run/reference/slices.hpp"

#include <algorithm>
#include <numeric>

#include "build/expand.hpp"
#include "graph/operation_table.hpp"

namespace attnprobe::run {

using graph::Tensor;

Slicing::Slicing(const OpGraph& graph, DataType real)
    : graph_(graph), real_size_(static_cast<size_t>(element_size(real))) {
  for (const auto& t : graph.tensors) tensors_[t.uid] = &t;
  for (const auto& operation : graph.operations) {
    if (const auto* load = std::get_if<graph::PagedCacheLoad>(&operation)) whole_.insert(load->container);
    if (const auto* rope = std::get_if<graph::Rope>(&operation)) whole_.insert(rope->angles);
    if (const auto* pointwise = std::get_if<graph::Pointwise>(&operation);
        pointwise != nullptr && build::is_difference_of_sums(*pointwise))
      whole_.insert(*pointwise->x);
  }
  for (const auto& t : graph.tensors) {
    const Shape dims = four(t.dims);
    if (t.by_value || whole_.count(t.uid) > 0 || is_offsets(t.uid)) continue;
    batch_ = std::max(batch_, dims[0]);
    if (dims[1] > 1) heads_ = std::gcd(heads_, dims[1]);
  }
  for (const auto& operation : graph.operations) limit_slices(operation);
  find_lives();
}

bool Slicing::batch_sliced(Uid uid, const Slice& slice) const {
  return slice.batches > 0 && whole_.count(uid) == 0 && four(at(uid).dims)[0] == batch_ && batch_ > 1;
}

bool Slicing::heads_sliced(Uid uid, const Slice& slice) const {
  return slice.parts > 1 && four(at(uid).dims)[1] > 1;
}

Shape Slicing::dims(Uid uid, const Slice& slice) const {
  Shape dims = four(at(uid).dims);
  if (batch_sliced(uid, slice)) dims[0] = slice.batches;
  if (heads_sliced(uid, slice)) dims[1] /= slice.parts;
  return dims;
}

Uid Slicing::root(Uid uid) const {
  for (auto alias = aliases_.find(uid); alias != aliases_.end(); alias = aliases_.find(uid)) uid = alias->second;
  return uid;
}

size_t Slicing::peak(const Slice& slice) const {
  auto bytes = [&](Uid uid) { return 2 * static_cast<size_t>(count(dims(uid, slice))) * real_size_; };
  size_t now = 0, most = 0;
  for (size_t i = 0; i < graph_.operations.size(); ++i) {
    for (const auto& port : ports(graph_.operations[i]))
      if (port.is_output && at(port.uid).is_virtual && root(port.uid) == port.uid && !is_rng_output(port.uid))
        now += bytes(port.uid);
    most = std::max(most, now);
    for (const Uid uid : dead_after_[i]) now -= bytes(uid);
  }
  return most + (size_t{64} << 20);
}

std::vector<Slice> Slicing::ways() const {
  std::vector<Slice> ways{Slice{}};
  if (may_slice_batch_)
    for (int64_t n = batch_ / 2; n >= 1; n /= 2)
      if (batch_ % n == 0) ways.push_back({0, n, 0, 1});
  if (may_slice_batch_ && (ways.back().batches != 1 && batch_ > 1)) ways.push_back({0, 1, 0, 1});
  const Slice finest = ways.back();
  if (may_slice_heads_)
    for (int64_t parts = 2; parts <= heads_; ++parts)
      if (heads_ % parts == 0) ways.push_back({0, finest.batches, 0, parts});
  return ways;
}

bool Slicing::is_offsets(Uid uid) const {
  return std::any_of(graph_.tensors.begin(), graph_.tensors.end(),
                     [&](const Tensor& t) { return t.ragged_offset == uid; });
}

// An output that sums over the batch is accumulated part by part; an intermediate sum must be complete.
void Slicing::limit_slices(const graph::Operation& operation) {
  const auto* reduction = std::get_if<graph::Reduction>(&operation);
  if (reduction == nullptr) return;
  const Shape x = four(at(reduction->x).dims), y = four(at(reduction->y).dims);
  const bool splits =
      reduction->op != graph::ReductionOperator::AVG && reduction->op != graph::ReductionOperator::NORM2;
  const bool final = splits && !at(reduction->y).is_virtual && !is_used(reduction->y);
  if (x[0] > 1 && y[0] == 1 && !final) may_slice_batch_ = false;
  if (x[1] > 1 && y[1] == 1 && !final) may_slice_heads_ = false;
}

bool Slicing::is_used(Uid uid) const {
  for (const auto& operation : graph_.operations)
    for (const auto& port : ports(operation))
      if (!port.is_output && port.uid == uid) return true;
  return false;
}

void Slicing::find_lives() {
  for (const auto& operation : graph_.operations)
    if (const auto* reshape = std::get_if<graph::Reshape>(&operation)) aliases_[reshape->y] = reshape->x;
  std::map<Uid, size_t> last;
  for (size_t i = 0; i < graph_.operations.size(); ++i)
    for (const auto& port : ports(graph_.operations[i])) last[root(port.uid)] = i;
  dead_after_.resize(graph_.operations.size());
  for (const auto& [uid, i] : last)
    if (at(uid).is_virtual && !is_rng_output(uid)) dead_after_[i].push_back(uid);
}

bool Slicing::is_rng_output(Uid uid) const {
  return std::any_of(graph_.operations.begin(), graph_.operations.end(), [&](const auto& operation) {
    const auto* rng = std::get_if<graph::Rng>(&operation);
    return rng != nullptr && rng->y == uid;
  });
}

}  // namespace attnprobe::run
