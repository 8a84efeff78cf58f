#include "run/reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "build/expand.hpp"
#include "graph/operation_table.hpp"
#include "run/data.hpp"
#include "run/reference/rounding.hpp"
#include "run/reference/slices.hpp"

namespace attnprobe::run {
namespace {

using graph::PointwiseMode;
using graph::Tensor;

size_t size_of(DataType type) {
  return static_cast<size_t>(element_size(type));
}

// Comparisons, indices, and operations that only select or move exact numbers.
bool gives_exact(PointwiseMode mode, const kernels::PointwiseArgs& args) {
  if (mode == PointwiseMode::GEN_INDEX || (mode >= PointwiseMode::CMP_EQ && mode <= PointwiseMode::LOGICAL_NOT))
    return true;
  const bool moves = mode == PointwiseMode::IDENTITY || mode == PointwiseMode::BINARY_SELECT;
  return moves && args.x.error == 0 && args.b.error == 0;
}

// The factors of matrix products, and the tensors that they only transpose.
std::set<Uid> factors_of(const OpGraph& graph) {
  std::set<Uid> factors;
  for (const auto& operation : graph.operations)
    if (const auto* matmul = std::get_if<graph::Matmul>(&operation)) factors.insert({matmul->a, matmul->b});
  for (const auto& operation : graph.operations)
    if (const auto* reshape = std::get_if<graph::Reshape>(&operation);
        reshape != nullptr && factors.count(reshape->y) > 0)
      factors.insert(reshape->x);
  return factors;
}

class Evaluation {
 public:
  Evaluation(Device& device, const OpGraph& graph, const Inputs& inputs)
      : device_(device),
        graph_(graph),
        inputs_(inputs),
        slicing_(graph, device.real()),
        multiplied_(multiplied_in(graph)),
        factors_(factors_of(graph)) {
    put_scalars();
    for (const auto& operation : graph.operations)
      for (const auto& port : ports(operation)) {
        const Tensor& t = slicing_.at(port.uid);
        if (!port.is_output || t.is_virtual || inputs.count(port.uid) > 0) continue;
        outputs_[port.uid] = value_of(four(t.dims), false);
      }
  }

  std::map<Uid, Value> run(size_t memory_bytes) {
    const Slice way = choose(memory_bytes);
    const int64_t step = way.batches == 0 ? slicing_.batch() : way.batches;
    for (int64_t b = 0; b < slicing_.batch(); b += step)
      for (int64_t part = 0; part < way.parts; ++part) {
        slice_ = way;
        slice_.first_batch = b;
        slice_.part = part;
        for (size_t i = 0; i < graph_.operations.size(); ++i) {
          std::visit([&](const auto& op) { compute(op); }, graph_.operations[i]);
          for (const Uid uid : slicing_.dead_after(i)) made_.erase(uid);
        }
        made_.clear();
        aliased_.clear();
      }
    device_.wait();
    return std::move(outputs_);
  }

 private:
  Slice choose(size_t memory_bytes) const {
    const auto ways = slicing_.ways();
    for (const Slice& way : ways)
      if (slicing_.peak(way) <= memory_bytes) return way;
    throw Error(ErrorKind::environment,
                fmt::format("the reference needs {} MiB even for one head of one batch entry; {} MiB are available",
                            slicing_.peak(ways.back()) >> 20, memory_bytes >> 20));
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
    if (slicing_.batch_sliced(uid, slice_)) {
      const auto first = static_cast<size_t>(slice_.first_batch);
      if (v.offsets != nullptr)
        v.offsets = static_cast<const char*>(v.offsets) + first * size_of(static_cast<DataType>(v.offsets_type));
      else
        v.data += slice_.first_batch * v.strides[0] * static_cast<int64_t>(size);
      v.dims[0] = slice_.batches;
    }
    if (slicing_.heads_sliced(uid, slice_)) {
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
                  fmt::format("the reference was given no data for {} (uid {})", slicing_.at(uid).name, uid));
    return sliced(it->second, uid);
  }
  View view(const std::optional<Uid>& uid) const { return uid ? view(*uid) : View{}; }

  // The errors are stored after the values.
  Value value_of(const Shape& dims, bool exact) const {
    const size_t bytes = static_cast<size_t>(count(dims)) * size_of(device_.real());
    Value value;
    value.memory = Memory(device_, exact ? bytes : 2 * bytes);
    value.view = packed_view(dims, device_.real(), value.memory.data());
    value.view.error = exact ? 0 : static_cast<int64_t>(bytes);
    return value;
  }

  View make(Uid uid, bool exact = false) {
    if (const auto it = outputs_.find(uid); it != outputs_.end()) {
      if (exact) it->second.view.error = 0;
      return view(uid);
    }
    return (made_[uid] = value_of(slicing_.dims(uid, slice_), exact)).view;
  }

  // The reader rounds a computed tensor: to the tensor's type, and in a matrix product also to the product's type.
  View rounded(View v, const Rounding& rounding) const {
    v.unit = static_cast<float>(rounding.unit);
    v.smallest = static_cast<float>(rounding.smallest);
    return v;
  }
  View operand(const std::optional<Uid>& uid, DataType reader = DataType::f32) const {
    if (!uid) return View{};
    const View v = view(*uid);
    if (stored_.count(*uid) > 0) return v;
    const DataType type = coarser(slicing_.at(*uid).data_type, reader);
    return v.error == 0 || coarser(type, DataType::f32) == DataType::f32 ? v : rounded(v, rounding_of(type));
  }
  View factor(Uid uid) const {
    const View v = view(uid);
    if ((v.error == 0 && multiplied_ != DataType::f32) || stored_.count(uid) > 0) return v;
    return rounded(v, rounding_in_matmul(coarser(slicing_.at(uid).data_type, multiplied_)));
  }
  // Row maxima: softmax does not depend on them, so their errors cancel.
  View without_shift(View v, const std::optional<Uid>& uid) const {
    if (uid && shifts_.count(*uid) > 0) v.error = 0;
    return v;
  }

  const int* lengths(const std::optional<Uid>& uid) const {
    if (!uid) return nullptr;
    return reinterpret_cast<const int*>(view(*uid).data);
  }

  void compute(const graph::Matmul& op) {
    const kernels::MatmulArgs args{factor(op.a),
                                   factor(op.b),
                                   make(op.c),
                                   lengths(op.m_override),
                                   lengths(op.n_override),
                                   lengths(op.k_override),
                                   static_cast<float>(sums_unit(multiplied_)),
                                   static_cast<float>(cut_off(multiplied_))};
    device_.launch(Kernel::matmul, args, device_.threads_for(kernels::elements(args.c)));
  }

  // Prefix sums become lengths, in INT32 for matrix products.
  void lengths_from_sums(const graph::Pointwise& op) {
    const Uid y = op.y.value();
    const Shape dims = slicing_.dims(y, slice_);
    View sums = view(op.x);
    const size_t size = size_of(static_cast<DataType>(sums.type));
    sums.dims[0] = dims[0];
    if (slicing_.batch_sliced(y, slice_)) sums.data += static_cast<size_t>(slice_.first_batch) * size;
    Value lengths;
    lengths.memory = Memory(device_, static_cast<size_t>(count(dims)) * sizeof(int32_t));
    lengths.view = packed_view(dims, DataType::i32, lengths.memory.data());
    kernels::PointwiseArgs args{};
    args.x = args.b = sums;
    args.x.data += size;
    args.y = lengths.view;
    args.mode = static_cast<int>(op.mode);
    made_[y] = std::move(lengths);
    device_.launch(Kernel::pointwise, args, device_.threads_for(kernels::elements(args.y)));
  }

  void compute(const graph::Pointwise& op) {
    if (build::is_difference_of_sums(op)) return lengths_from_sums(op);
    if (op.mode == PointwiseMode::IDENTITY && op.t) {
      const kernels::BlockMaskArgs args{operand(op.x), view(op.t), make(*op.y)};
      device_.launch(Kernel::block_mask, args, device_.threads_for(kernels::elements(args.y)));
      return;
    }
    kernels::PointwiseArgs args{};
    // For dS, kernels multiply by the P that they rounded for dV: below 6e-5, f16 has few bits.
    const auto rounded_for = [&](const std::optional<Uid>& uid) {
      return op.mode == PointwiseMode::MUL && uid && factors_.count(*uid) > 0 ? multiplied_ : DataType::f32;
    };
    args.x = operand(op.x, rounded_for(op.x));
    args.b = operand(op.dy ? op.dy : op.b, rounded_for(op.b));
    args.t = view(op.t);
    if (op.mode == PointwiseMode::ADD || op.mode == PointwiseMode::SUB) {
      args.x = without_shift(args.x, op.x);
      args.b = without_shift(args.b, op.b);
    }
    const Uid y = op.dx ? *op.dx : op.y.value();
    if (op.mode == PointwiseMode::MAX && shifts_.count(op.x.value_or(-1)) > 0) shifts_.insert(y);
    args.y = make(y, gives_exact(op.mode, args));
    args.mode = static_cast<int>(op.mode);
    args.axis = static_cast<int>(op.axis.value_or(0));
    if (op.axis == 0 && slicing_.batch_sliced(*op.y, slice_)) args.origin = slice_.first_batch;
    if (op.axis == 1 && slicing_.heads_sliced(*op.y, slice_)) args.origin = slice_.part * args.y.dims[1];
    device_.launch(Kernel::pointwise, args, device_.threads_for(kernels::elements(args.y)));
  }

  // The size of `count` structures that consist of the device's Reals.
  template <class Structure>
  size_t bytes_of(int64_t count) const {
    return static_cast<size_t>(count) * (sizeof(Structure) / sizeof(kernels::Real)) * size_of(device_.real());
  }

  void compute(const graph::Reduction& op) {
    kernels::ReduceArgs args{};
    args.x = operand(op.x, slicing_.at(op.y).is_virtual ? DataType::f32 : slicing_.at(op.y).data_type);
    args.y = make(op.y);
    args.op = static_cast<int>(op.op);
    if (op.op == graph::ReductionOperator::MAX) shifts_.insert(op.y);
    const bool over_batch = slicing_.batch_sliced(op.x, slice_) && !slicing_.batch_sliced(op.y, slice_),
               over_heads = slicing_.heads_sliced(op.x, slice_) && !slicing_.heads_sliced(op.y, slice_);
    args.keep = (over_batch && slice_.first_batch > 0) || (over_heads && slice_.part > 0) ? 1 : 0;
    const int64_t outputs = kernels::elements(args.y), per = kernels::elements(args.x) / outputs;
    constexpr int64_t side_by_side = 32, enough = int64_t{1} << 18;
    args.parts = device_.counters() == 1 ? 1 : std::min(per, std::max(side_by_side, enough / outputs));
    const Memory partial(device_, bytes_of<kernels::Partial>(outputs * args.parts));
    args.partial = reinterpret_cast<kernels::Partial*>(partial.data());
    if (over_batch || over_heads) {
      Kept& kept = kept_[{op.y, slicing_.heads_sliced(op.y, slice_) ? slice_.part : 0}];
      if (args.keep == 0) kept = {Memory(device_, bytes_of<kernels::Signed>(outputs)), 0};
      args.kept = reinterpret_cast<kernels::Signed*>(kept.terms.data());
      args.before = kept.count;
      kept.count += per;
    }
    device_.launch(Kernel::reduce_parts, args, device_.threads_for(outputs * args.parts));
    device_.launch(Kernel::reduce_join_parts, args, device_.threads_for(outputs));
    device_.wait();  // releases the partial results
  }

  // Y is in X's memory; attention graphs only use it to swap the last two axes.
  void compute(const graph::Reshape& op) {
    View v = view(op.x);
    const Shape x = four(slicing_.at(op.x).dims), y = four(slicing_.at(op.y).dims);
    const Shape sx = four(slicing_.at(op.x).strides), sy = four(slicing_.at(op.y).strides);
    const bool swaps = x[2] == y[3] && x[3] == y[2] && (x[2] != x[3] || (sx[2] < sx[3]) != (sy[2] < sy[3]));
    if (x[0] != y[0] || x[1] != y[1] || (!swaps && x != y))
      throw Error(ErrorKind::internal, "the reference supports only reshapes that swap the last two axes");
    if (swaps) {
      std::swap(v.dims[2], v.dims[3]);
      std::swap(v.strides[2], v.strides[3]);
      v.sequence_axis = 5 - v.sequence_axis;
    }
    if (slicing_.at(op.y).is_virtual) {
      aliased_[op.y] = v;
      return;
    }
    kernels::PointwiseArgs args{};
    args.x = v;
    args.y = make(op.y, v.error == 0);
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
    args.y = make(op.y, true);
    args.lengths = lengths(op.sequence);
    const Shape strides = four(slicing_.at(op.y).strides);
    args.transposed = strides[2] < strides[3] ? 1 : 0;
    device_.launch(Kernel::paged_load, args, device_.threads_for(kernels::elements(args.y)));
  }

  void compute(const graph::BlockScaleDequantize& op) {
    kernels::DequantizeArgs args{};
    args.x = view(op.x);
    args.y = make(op.y, true);
    const View scales = view(op.scale);
    const Shape whole = four(slicing_.at(op.y).dims), s = four(slicing_.at(op.scale).dims);
    args.block = op.block_size.empty() ? 32 : op.block_size.back();
    // The axis of a scale's block; the other axis is padded to 128 rows.
    args.axis = s[3] * args.block < 2 * whole[3] + 4 * args.block && s[3] < s[2] ? 3 : 2;
    if ((whole[5 - static_cast<size_t>(args.axis)] + 127) / 128 * 128 != s[5 - static_cast<size_t>(args.axis)])
      args.axis = 5 - args.axis;
    args.columns = s[static_cast<size_t>(args.axis)];
    args.rows = s[5 - static_cast<size_t>(args.axis)];
    args.scales = scales.data;
    args.scale_type = scales.type;
    device_.launch(Kernel::dequantize, args, device_.threads_for(kernels::elements(args.y)));
  }

  void compute(const graph::Rope& op) {
    kernels::RopeArgs args{};
    args.x = operand(op.x);
    args.angles = view(op.angles);
    args.y = make(op.y);
    args.scale = op.scale.value_or(1);
    args.dim = op.dim.value_or(0) == 0 ? args.y.dims[3] : *op.dim;
    // All keys share the same rounded query, so the error does not average out. The rounding is applied to the numbers
    // instead.
    const Tensor& y = slicing_.at(op.y);
    const bool rounds = !y.is_virtual && (y.data_type == DataType::f16 || y.data_type == DataType::bf16);
    args.type = static_cast<int>(rounds ? y.data_type : device_.real());
    if (rounds) stored_.insert(op.y);
    device_.launch(Kernel::rope, args, device_.threads_for(kernels::elements(args.y)));
  }

  template <class Op>
  void compute(const Op&) {
    throw Error(ErrorKind::internal,
                fmt::format("the reference was given a graph that is not expanded: {}", graph::kind_name<Op>));
  }

  Device& device_;
  const OpGraph& graph_;
  const Inputs& inputs_;
  Slicing slicing_;
  DataType multiplied_;
  std::set<Uid> factors_;
  Slice slice_;
  std::set<Uid> shifts_, stored_;  // row maxima; tensors already rounded to their type
  Memory scalar_memory_;
  // The terms of a sum over slices so far, for Y's part of the heads.
  struct Kept {
    Memory terms;
    int64_t count = 0;
  };

  std::map<Uid, View> scalars_, aliased_;
  std::map<std::pair<Uid, int64_t>, Kept> kept_;
  std::map<Uid, Value> made_, outputs_;
};

}  // namespace

Shape four(const std::vector<int64_t>& values) {
  Shape all{1, 1, 1, 1};
  if (values.size() > all.size())
    throw Error(ErrorKind::internal, "the reference supports tensors of at most four dims");
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
  v.offsets_unit = static_cast<int>(tensor.ragged_multiplier.value_or(1));
  // The sequence has the larger stride; the other axis is the head dimension, or has extent 1.
  v.sequence_axis = strides[3] > strides[2] ? 3 : 2;
  return v;
}

std::map<Uid, Value> evaluate(Device& device, const OpGraph& graph, const Inputs& inputs, size_t memory_bytes) {
  return Evaluation(device, graph, inputs).run(memory_bytes);
}

}  // namespace attnprobe::run
