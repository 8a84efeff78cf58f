#include "run/reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "graph/operation_table.hpp"
#include "run/data.hpp"

namespace attnprobe::run {
namespace {

using graph::PointwiseMode;
using graph::Tensor;
using kernels::Index;

size_t size_of(DataType type) {
  return static_cast<size_t>(element_size(type));
}

// A part of the batch and of the heads.
struct Slice {
  int64_t first_batch = 0, batches = 0;  // batches 0: all
  int64_t part = 0, parts = 1;           // of the heads
};

// What of a graph does not depend on where its tensors lie.
class Layout {
 public:
  Layout(const OpGraph& graph, DataType real) : graph_(graph), real_size_(size_of(real)) {
    for (const auto& t : graph.tensors) tensors_[t.uid] = &t;
    for (const auto& operation : graph.operations)
      if (const auto* load = std::get_if<graph::PagedCacheLoad>(&operation)) containers_.insert(load->container);
    for (const auto& t : graph.tensors) {
      const Shape dims = four(t.dims);
      if (t.by_value || containers_.count(t.uid) > 0 || is_offsets(t.uid)) continue;
      batch_ = std::max(batch_, dims[0]);
      if (dims[1] > 1) heads_ = std::gcd(heads_, dims[1]);
    }
    for (const auto& operation : graph.operations) limit_slices(operation);
    find_lives();
  }

  const Tensor& at(Uid uid) const { return *tensors_.at(uid); }
  bool batch_sliced(Uid uid, const Slice& slice) const {
    return slice.batches > 0 && containers_.count(uid) == 0 && four(at(uid).dims)[0] == batch_ && batch_ > 1;
  }
  bool heads_sliced(Uid uid, const Slice& slice) const { return slice.parts > 1 && four(at(uid).dims)[1] > 1; }
  Shape dims(Uid uid, const Slice& slice) const {
    Shape dims = four(at(uid).dims);
    if (batch_sliced(uid, slice)) dims[0] = slice.batches;
    if (heads_sliced(uid, slice)) dims[1] /= slice.parts;
    return dims;
  }
  // The tensor whose memory this one is another view of.
  Uid root(Uid uid) const {
    for (auto alias = aliases_.find(uid); alias != aliases_.end(); alias = aliases_.find(uid)) uid = alias->second;
    return uid;
  }
  // Virtual tensors that nothing needs after the operation.
  const std::vector<Uid>& dead_after(size_t operation) const { return dead_after_[operation]; }

  // What virtual tensors take at the worst moment, with room for the parts of reductions.
  size_t peak(const Slice& slice) const {
    size_t now = 0, most = 0;
    for (size_t i = 0; i < graph_.operations.size(); ++i) {
      for (const auto& port : ports(graph_.operations[i]))
        if (port.is_output && at(port.uid).is_virtual && root(port.uid) == port.uid && !is_rng_output(port.uid))
          now += static_cast<size_t>(count(dims(port.uid, slice))) * real_size_;
      most = std::max(most, now);
      for (const Uid uid : dead_after_[i]) now -= static_cast<size_t>(count(dims(uid, slice))) * real_size_;
    }
    return most + (size_t{64} << 20);
  }

  // All ways to take turns, from none to the finest: first the batch, then the heads.
  std::vector<Slice> ways() const {
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
  int64_t batch() const { return batch_; }

 private:
  bool is_offsets(Uid uid) const {
    return std::any_of(graph_.tensors.begin(), graph_.tensors.end(),
                       [&](const Tensor& t) { return t.ragged_offset == uid; });
  }

  // A sum over the batch is collected turn by turn where it is an output; what goes on to be used must be whole.
  void limit_slices(const graph::Operation& operation) {
    const auto* reduction = std::get_if<graph::Reduction>(&operation);
    if (reduction == nullptr) return;
    const Shape x = four(at(reduction->x).dims), y = four(at(reduction->y).dims);
    const bool splits =
        reduction->op != graph::ReductionOperator::AVG && reduction->op != graph::ReductionOperator::NORM2;
    const bool final = splits && !at(reduction->y).is_virtual && !is_used(reduction->y);
    if (x[0] > 1 && y[0] == 1 && !final) may_slice_batch_ = false;
    if (x[1] > 1 && y[1] == 1 && !final) may_slice_heads_ = false;
  }
  bool is_used(Uid uid) const {
    for (const auto& operation : graph_.operations)
      for (const auto& port : ports(operation))
        if (!port.is_output && port.uid == uid) return true;
    return false;
  }

  void find_lives() {
    for (const auto& operation : graph_.operations)
      if (const auto* reshape = std::get_if<graph::Reshape>(&operation)) aliases_[reshape->y] = reshape->x;
    std::map<Uid, size_t> last;
    for (size_t i = 0; i < graph_.operations.size(); ++i)
      for (const auto& port : ports(graph_.operations[i])) last[root(port.uid)] = i;
    dead_after_.resize(graph_.operations.size());
    for (const auto& [uid, i] : last)
      if (at(uid).is_virtual && !is_rng_output(uid)) dead_after_[i].push_back(uid);
  }
  bool is_rng_output(Uid uid) const {
    return std::any_of(graph_.operations.begin(), graph_.operations.end(), [&](const auto& operation) {
      const auto* rng = std::get_if<graph::Rng>(&operation);
      return rng != nullptr && rng->y == uid;
    });
  }

  const OpGraph& graph_;
  size_t real_size_;
  std::map<Uid, const Tensor*> tensors_;
  std::set<Uid> containers_;
  std::map<Uid, Uid> aliases_;
  std::vector<std::vector<Uid>> dead_after_;
  int64_t batch_ = 1, heads_ = 0;
  bool may_slice_batch_ = true, may_slice_heads_ = true;
};

class Evaluation {
 public:
  Evaluation(Device& device, const OpGraph& graph, const Inputs& inputs)
      : device_(device), graph_(graph), inputs_(inputs), layout_(graph, device.real()) {
    put_scalars();
    for (const auto& operation : graph.operations)
      for (const auto& port : ports(operation)) {
        const Tensor& t = layout_.at(port.uid);
        if (!port.is_output || t.is_virtual || inputs.count(port.uid) > 0) continue;
        Value value;
        const Shape dims = four(t.dims);
        value.memory = Memory(device, static_cast<size_t>(count(dims)) * size_of(device.real()));
        value.view = packed_view(dims, device.real(), value.memory.data());
        outputs_[port.uid] = std::move(value);
      }
  }

  std::map<Uid, Value> run(size_t memory_bytes) {
    const Slice way = choose(memory_bytes);
    const int64_t step = way.batches == 0 ? layout_.batch() : way.batches;
    for (int64_t b = 0; b < layout_.batch(); b += step)
      for (int64_t part = 0; part < way.parts; ++part) {
        slice_ = way;
        slice_.first_batch = b;
        slice_.part = part;
        for (size_t i = 0; i < graph_.operations.size(); ++i) {
          std::visit([&](const auto& op) { compute(op); }, graph_.operations[i]);
          for (const Uid uid : layout_.dead_after(i)) made_.erase(uid);
        }
        made_.clear();
        aliased_.clear();
      }
    device_.wait();
    return std::move(outputs_);
  }

 private:
  Slice choose(size_t memory_bytes) const {
    const auto ways = layout_.ways();
    for (const Slice& way : ways)
      if (layout_.peak(way) <= memory_bytes) return way;
    throw Error(ErrorKind::environment,
                fmt::format("the reference needs {} MiB even for one head of one batch entry; {} MiB are there",
                            layout_.peak(ways.back()) >> 20, memory_bytes >> 20));
  }

  void put_scalars() {
    std::vector<double> values;
    std::vector<Uid> uids;
    for (const auto& t : graph_.tensors) {
      if (!t.by_value) continue;
      if (!t.value)
        throw Error(ErrorKind::internal, fmt::format("the value of scalar {} (uid {}) is not known", t.name, t.uid));
      uids.push_back(t.uid);
      values.push_back(*t.value);
    }
    scalar_memory_ = memory_of(device_, values);
    for (size_t i = 0; i < uids.size(); ++i)
      scalars_[uids[i]] = packed_view({1, 1, 1, 1}, DataType::f64, scalar_memory_.data() + i * sizeof(double));
  }

  View sliced(View v, Uid uid) const {
    const size_t size = size_of(static_cast<DataType>(v.type));
    if (layout_.batch_sliced(uid, slice_)) {
      const auto first = static_cast<size_t>(slice_.first_batch);
      if (v.offsets != nullptr)
        v.offsets = static_cast<const char*>(v.offsets) + first * size_of(static_cast<DataType>(v.offsets_type));
      else
        v.data += slice_.first_batch * v.strides[0] * static_cast<int64_t>(size);
      v.dims[0] = slice_.batches;
    }
    if (layout_.heads_sliced(uid, slice_)) {
      v.dims[1] /= slice_.parts;
      v.data += slice_.part * v.dims[1] * v.strides[1] * static_cast<int64_t>(size);
    }
    return v;
  }

  View view(Uid uid) const {
    if (const auto it = aliased_.find(uid); it != aliased_.end()) return it->second;
    if (const auto it = made_.find(uid); it != made_.end()) return it->second.view;
    if (const auto it = scalars_.find(uid); it != scalars_.end()) return it->second;
    if (const auto it = outputs_.find(uid); it != outputs_.end()) return sliced(it->second.view, uid);
    const auto it = inputs_.find(uid);
    if (it == inputs_.end())
      throw Error(ErrorKind::internal,
                  fmt::format("the reference was given no data for {} (uid {})", layout_.at(uid).name, uid));
    return sliced(it->second, uid);
  }
  View view(const std::optional<Uid>& uid) const { return uid ? view(*uid) : View{}; }

  View make(Uid uid) {
    if (outputs_.count(uid) > 0) return view(uid);
    const Shape dims = layout_.dims(uid, slice_);
    Value value;
    value.memory = Memory(device_, static_cast<size_t>(count(dims)) * size_of(device_.real()));
    value.view = packed_view(dims, device_.real(), value.memory.data());
    return (made_[uid] = std::move(value)).view;
  }

  const int* lengths(const std::optional<Uid>& uid) const {
    if (!uid) return nullptr;
    return reinterpret_cast<const int*>(view(*uid).data);
  }

  void compute(const graph::Matmul& op) {
    const kernels::MatmulArgs args{
        view(op.a), view(op.b), make(op.c), lengths(op.m_override), lengths(op.n_override), lengths(op.k_override)};
    device_.launch(Kernel::matmul, args, device_.threads_for(kernels::elements(args.c)));
  }

  void compute(const graph::Pointwise& op) {
    if (op.mode == PointwiseMode::IDENTITY && op.t) {
      const kernels::BlockMaskArgs args{view(op.x), view(op.t), make(*op.y)};
      device_.launch(Kernel::block_mask, args, device_.threads_for(kernels::elements(args.y)));
      return;
    }
    kernels::PointwiseArgs args{};
    args.x = view(op.x);
    args.b = op.dy ? view(*op.dy) : view(op.b);
    args.t = view(op.t);
    args.y = make(op.dx ? *op.dx : op.y.value());
    args.mode = static_cast<int>(op.mode);
    args.axis = static_cast<int>(op.axis.value_or(0));
    if (op.axis == 0 && layout_.batch_sliced(*op.y, slice_)) args.origin = slice_.first_batch;
    if (op.axis == 1 && layout_.heads_sliced(*op.y, slice_)) args.origin = slice_.part * args.y.dims[1];
    device_.launch(Kernel::pointwise, args, device_.threads_for(kernels::elements(args.y)));
  }

  void compute(const graph::Reduction& op) {
    kernels::ReduceArgs args{};
    args.x = view(op.x);
    args.y = make(op.y);
    args.op = static_cast<int>(op.op);
    const bool over_batch = layout_.batch_sliced(op.x, slice_) && !layout_.batch_sliced(op.y, slice_),
               over_heads = layout_.heads_sliced(op.x, slice_) && !layout_.heads_sliced(op.y, slice_);
    args.keep = (over_batch && slice_.first_batch > 0) || (over_heads && slice_.part > 0) ? 1 : 0;
    const int64_t outputs = kernels::elements(args.y), per = kernels::elements(args.x) / outputs;
    constexpr int64_t side_by_side = 32, enough = int64_t{1} << 18;
    args.parts = device_.counters() == 1 ? 1 : std::min(per, std::max(side_by_side, enough / outputs));
    const Memory partial(device_, static_cast<size_t>(outputs * args.parts) * size_of(device_.real()));
    args.partial = reinterpret_cast<kernels::Real*>(partial.data());
    device_.launch(Kernel::reduce_parts, args, device_.threads_for(outputs * args.parts));
    device_.launch(Kernel::reduce_join_parts, args, device_.threads_for(outputs));
    device_.wait();  // the parts are released here
  }

  // Y lies in X's memory; the attention graphs' only use is to swap the last two axes.
  void compute(const graph::Reshape& op) {
    View v = view(op.x);
    const Shape x = four(layout_.at(op.x).dims), y = four(layout_.at(op.y).dims);
    const Shape sx = four(layout_.at(op.x).strides), sy = four(layout_.at(op.y).strides);
    const bool swaps = x[2] == y[3] && x[3] == y[2] && (x[2] != x[3] || (sx[2] < sx[3]) != (sy[2] < sy[3]));
    if (x[0] != y[0] || x[1] != y[1] || (!swaps && x != y))
      throw Error(ErrorKind::internal, "the reference knows no reshape but one that swaps the last two axes");
    if (swaps) {
      std::swap(v.dims[2], v.dims[3]);
      std::swap(v.strides[2], v.strides[3]);
      v.sequence_axis = 5 - v.sequence_axis;
    }
    if (layout_.at(op.y).is_virtual) {
      aliased_[op.y] = v;
      return;
    }
    kernels::PointwiseArgs args{};
    args.x = v;
    args.y = make(op.y);
    args.mode = static_cast<int>(PointwiseMode::IDENTITY);
    device_.launch(Kernel::pointwise, args, device_.threads_for(kernels::elements(args.y)));
  }

  void compute(const graph::Rng& op) {
    if (inputs_.count(op.y) == 0)
      throw Error(ErrorKind::internal, "the reference needs the dropout mask that the plan uses");
  }

  void compute(const graph::PagedCacheLoad& op) {
    kernels::PagedArgs args{};
    args.container = view(op.container);
    args.table = view(op.page_table);
    args.y = make(op.y);
    args.lengths = lengths(op.sequence);
    const Shape strides = four(layout_.at(op.y).strides);
    args.transposed = strides[2] < strides[3] ? 1 : 0;
    device_.launch(Kernel::paged_load, args, device_.threads_for(kernels::elements(args.y)));
  }

  void compute(const graph::BlockScaleDequantize& op) {
    kernels::DequantizeArgs args{};
    args.x = view(op.x);
    args.y = make(op.y);
    const View scales = view(op.scale);
    const Shape whole = four(layout_.at(op.y).dims), s = four(layout_.at(op.scale).dims);
    args.block = op.block_size.empty() ? 32 : op.block_size.back();
    // The axis along which a scale stands for a block; the other one is padded to 128 rows.
    args.axis = s[3] * args.block < 2 * whole[3] + 4 * args.block && s[3] < s[2] ? 3 : 2;
    if ((whole[5 - static_cast<size_t>(args.axis)] + 127) / 128 * 128 != s[5 - static_cast<size_t>(args.axis)])
      args.axis = 5 - args.axis;
    args.columns = s[static_cast<size_t>(args.axis)];
    args.rows = s[5 - static_cast<size_t>(args.axis)];
    args.scales = scales.data;
    args.scale_type = scales.type;
    device_.launch(Kernel::dequantize, args, device_.threads_for(kernels::elements(args.y)));
  }

  template <class Op>
  void compute(const Op&) {
    throw Error(ErrorKind::internal,
                fmt::format("the reference was given a graph that is not expanded: {}", graph::kind_name<Op>));
  }

  Device& device_;
  const OpGraph& graph_;
  const Inputs& inputs_;
  Layout layout_;
  Slice slice_;
  Memory scalar_memory_;
  std::map<Uid, View> scalars_, aliased_;
  std::map<Uid, Value> made_, outputs_;
};

}  // namespace

Shape four(const std::vector<int64_t>& values) {
  Shape all{1, 1, 1, 1};
  if (values.size() > all.size()) throw Error(ErrorKind::internal, "the reference knows tensors of at most four dims");
  std::copy(values.begin(), values.end(), all.end() - static_cast<std::ptrdiff_t>(values.size()));
  return all;
}

int64_t count(const Shape& dims) {
  return dims[0] * dims[1] * dims[2] * dims[3];
}

View packed_view(const Shape& dims, DataType type, char* data) {
  View v{};
  v.data = data;
  v.type = static_cast<int>(type);
  int64_t stride = 1;
  for (size_t axis = 4; axis-- > 0;) {
    v.dims[axis] = dims[axis];
    v.strides[axis] = stride;
    stride *= dims[axis];
  }
  return v;
}

View view_of(const OpGraph& graph, const Tensor& tensor, char* data, const Inputs& offsets) {
  View v{};
  const Shape dims = four(tensor.dims), strides = four(tensor.strides);
  std::copy(dims.begin(), dims.end(), v.dims);
  std::copy(strides.begin(), strides.end(), v.strides);
  v.data = data;
  v.type = static_cast<int>(tensor.data_type);
  if (!tensor.ragged_offset) return v;
  v.offsets = offsets.at(*tensor.ragged_offset).data;
  v.offsets_type = static_cast<int>(graph::tensor(graph, *tensor.ragged_offset).data_type);
  // The sequence's stride is the larger: the other axis is the head dimension, or of extent 1.
  v.sequence_axis = strides[3] > strides[2] ? 3 : 2;
  return v;
}

std::map<Uid, Value> evaluate(Device& device, const OpGraph& graph, const Inputs& inputs, size_t memory_bytes) {
  return Evaluation(device, graph, inputs).run(memory_bytes);
}

}  // namespace attnprobe::run
