#include "run/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"

namespace attnprobe::run {
namespace {

using graph::Tensor;

// Wide enough for a tile that is written a row or two too far, in any type.
constexpr size_t guard_bytes = size_t{128} << 10;
// Every floating type has a NaN of all ones, and no kernel computes just that one.
constexpr unsigned char poison = 0xff;
// What the reference may take of the memory that is left, and of any GPU's: more buys no speed.
constexpr double share_of_memory = 0.6;
constexpr size_t most_reference_bytes = size_t{24} << 30;
// dQ is summed up in memory that the caller had to clear before this cuDNN (cudnn-frontend 1.23).
constexpr int64_t first_that_clears = 90600;

size_t reference_bytes(const Device& device) {
  return std::min(most_reference_bytes,
                  static_cast<size_t>(share_of_memory * static_cast<double>(device.free_bytes())));
}

void convert(Device& device, const View& from, const View& to) {
  kernels::PointwiseArgs args{};
  args.x = from;
  args.y = to;
  args.mode = kernels::mode_IDENTITY;
  device.launch(Kernel::pointwise, args, device.threads_for(kernels::elements(to)));
}

// One element, picked by a kernel: ragged offsets are on the device.
double element(Device& device, View from, const kernels::Place& p) {
  for (size_t axis = 0; axis < 4; ++axis) {
    if (from.dims[axis] == 1) continue;
    if (axis == 0 && from.offsets != nullptr)
      from.offsets =
          static_cast<const char*>(from.offsets) + p.i[0] * element_size(static_cast<DataType>(from.offsets_type));
    else
      from.data += p.i[axis] * from.strides[axis] * element_size(static_cast<DataType>(from.type));
    from.dims[axis] = 1;
  }
  const Memory place(device, sizeof(double));
  convert(device, from, packed_view({1, 1, 1, 1}, DataType::f64, place.data()));
  double value = 0;
  device.copy_out(&value, place.data(), sizeof value);
  return value;
}

// The largest of many values is one that rounding has added to: two roundings
// of e4m3 (cudnn-frontend's tests allow 5 % of the larger of it and 1).
constexpr double amax_l2 = 0.125;
bool is_amax(const Tensor& t, DataType coarsest) {
  return is_fp8(coarsest) && t.data_type == DataType::f32 && t.dims == std::vector<int64_t>{1, 1, 1, 1};
}

std::optional<double> finite(double x) {
  return std::isfinite(x) ? std::optional(x) : std::nullopt;
}

// How many words of two memories differ.
int64_t differing_words(Device& device, const Memory& a, const Memory& b) {
  const auto counts = counted<kernels::Index>(device, [&](kernels::Index* places, int64_t threads) {
    const kernels::DifferenceArgs args{reinterpret_cast<const unsigned*>(a.data()),
                                       reinterpret_cast<const unsigned*>(b.data()),
                                       static_cast<int64_t>(std::min(a.bytes(), b.bytes()) / sizeof(unsigned)), places};
    device.launch(Kernel::difference, args, threads);
  });
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace

Problem::Problem(Device& device, const OpGraph& graph, const RunOptions& options, int64_t cudnn_version,
                 size_t workspace)
    : device_(device),
      graph_(graph),
      options_(options),
      cudnn_version_(cudnn_version),
      data_(plan_data(graph, options)) {
  allocate(workspace);
  fill_inputs();
  try {
    expanded_ = expand(graph_);
    if (data_.backward) derive_forward();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::cuda) throw;
    no_reference_ = e.what();
  }
  device_.wait();
}

void Problem::allocate(size_t workspace) {
  size_t total = workspace;
  std::map<Uid, int64_t> sizes;  // of each buffer
  for (const auto& d : data_.tensors) {
    const int64_t offset = d.shares ? d.shares->offset : 0;
    int64_t& size = sizes[d.shares ? d.shares->first : d.uid];
    size = std::max(size, (offset + d.elements) * element_size(tensor(graph_, d.uid).data_type));
  }
  for (const auto& [uid, size] : sizes) total += static_cast<size_t>(size) + 2 * guard_bytes;
  if (total > device_.free_bytes())
    throw Error(ErrorKind::environment,
                fmt::format("the GPU is too small for this: {} MiB of tensors and workspace, {} MiB free", total >> 20,
                            device_.free_bytes() >> 20));
  lengths_q_ = memory_of(device_, data_.lengths.q);
  lengths_kv_ = memory_of(device_, data_.lengths.kv);
  for (const auto& [uid, size] : sizes) {
    Buffer& buffer = buffers_[uid];
    buffer.size = size;
    buffer.memory = Memory(device_, static_cast<size_t>(size) + 2 * guard_bytes);
    device_.set_bytes(buffer.memory.data(), poison, buffer.memory.bytes());
  }
  for (const auto& d : data_.tensors) {
    const Tensor& t = tensor(graph_, d.uid);
    Place place;
    place.buffer = d.shares ? d.shares->first : d.uid;
    place.data = buffers_.at(place.buffer).memory.data() + guard_bytes +
                 (d.shares ? d.shares->offset * element_size(t.data_type) : 0);
    place.view = view_of(graph_, t, place.data, inputs_);
    inputs_[d.uid] = place.view;
    places_[d.uid] = place;
  }
}

const Tensor* Problem::find_named(const char* name) const {
  for (const auto& t : graph_.tensors)
    if (t.name == name && places_.count(t.uid) > 0) return &t;
  return nullptr;
}

Inputs Problem::inputs() const {
  Inputs inputs = inputs_;
  for (const auto& d : data_.tensors)
    if (d.role != Role::input) inputs.erase(d.uid);
  return inputs;
}

std::map<Uid, void*> Problem::pointers() const {
  std::map<Uid, void*> pointers;
  for (const auto& [uid, place] : places_) pointers[uid] = place.data;
  return pointers;
}

void Problem::fill(const TensorData& d) {
  const Place& buffer = places_.at(d.uid);
  const DataType type = tensor(graph_, d.uid).data_type;
  if (!d.integers.empty()) {
    if (type == DataType::i32) {
      const std::vector<int32_t> values(d.integers.begin(), d.integers.end());
      device_.copy_in(buffer.data, values.data(), values.size() * sizeof(int32_t));
    } else {
      device_.copy_in(buffer.data, d.integers.data(), d.integers.size() * sizeof(int64_t));
    }
    return;
  }
  if (!d.reals.empty()) {
    const std::vector<float> values(d.reals.begin(), d.reals.end());
    device_.copy_in(buffer.data, values.data(), values.size() * sizeof(float));
    return;
  }
  kernels::FillArgs args = d.fill;
  args.y = buffer.view;
  // In cuDNN's own order the places of elements are not known, but all of the memory is theirs.
  if (d.reordered) {
    args.y.offsets = nullptr;
    for (size_t axis = 0; axis < 3; ++axis) args.y.dims[axis] = args.y.strides[axis] = 1;
    args.y.dims[3] = d.elements;
    args.y.strides[3] = 1;
  }
  device_.launch(Kernel::fill, args, device_.threads_for(kernels::elements(args.y)));
}

void Problem::fill_inputs() {
  for (const auto& d : data_.tensors)
    if (d.role == Role::input && !d.derived) fill(d);
}

void Problem::derive_forward() {
  const auto forward = forward_of(expanded_);
  // A dropout mask that only the plan knows is not there yet: then O is made when it is.
  if (!forward || (random_mask() && !mask_known_)) {
    for (const auto& d : data_.tensors)
      if (d.derived) fill(d);
    return;
  }
  Inputs inputs = inputs_;
  for (const auto& d : data_.tensors)
    if (d.derived) inputs.erase(d.uid);
  const auto results = evaluate(device_, *forward, inputs, reference_bytes(device_));
  for (const auto& d : data_.tensors)
    if (d.derived) convert(device_, results.at(d.uid).view, places_.at(d.uid).view);
  device_.wait();
}

void Problem::reset_outputs() {
  for (const auto& d : data_.tensors) {
    if (d.role == Role::input) continue;
    const Buffer& buffer = buffers_.at(places_.at(d.uid).buffer);
    device_.set_bytes(buffer.memory.data(), poison, buffer.memory.bytes());
    if (d.role == Role::scratch && cudnn_version_ < first_that_clears)
      device_.set_bytes(places_.at(d.uid).data, 0, static_cast<size_t>(buffer.size));
  }
}

const int* Problem::lengths(const TensorData& d) const {
  if (d.rows.empty()) return nullptr;
  return reinterpret_cast<const int*>(d.rows == data_.lengths.kv ? lengths_kv_.data() : lengths_q_.data());
}

std::optional<Uid> Problem::random_mask() const {
  for (const auto& operation : expanded_.operations)
    if (const auto* rng = std::get_if<graph::Rng>(&operation)) return rng->y;
  return std::nullopt;
}

void Problem::fill_as(const char* name, int kind, double a, int64_t start, int64_t group, int64_t which) {
  const Tensor* t = find_named(name);
  if (t == nullptr) return;
  kernels::FillArgs args{};
  args.y = places_.at(t->uid).view;
  args.kind = kind;
  args.a = a;
  args.start = start;
  args.group = group;
  args.which = which;
  device_.launch(Kernel::fill, args, device_.threads_for(kernels::elements(args.y)));
}

// The mask that the plan itself uses, whatever generator it has: with equal scores
// every visible P is the same, and with an identity for V (backward: for dO) the output
// shows which of them were kept, a head dimension's worth of columns (rows) at a time.
void Problem::find_mask(Uid mask, const Execute& execute) {
  const Shape dims = four(tensor(expanded_, mask).dims);
  if (mask_memory_.bytes() == 0) mask_memory_ = Memory(device_, static_cast<size_t>(count(dims)));
  const View view = packed_view(dims, DataType::u8, mask_memory_.data());
  device_.set_bytes(mask_memory_.data(), 0, mask_memory_.bytes());
  const Tensor* from = find_named(data_.backward ? "dV" : "O");
  const Tensor* other = find_named(data_.backward ? "dO" : "V");
  if (from == nullptr || other == nullptr)
    throw Error(ErrorKind::internal, "the dropout mask cannot be read off this graph's outputs");
  for (const char* name : {"Q", "K^T", "K", "Stats"}) fill_as(name, kernels::fill_constant, 0);
  kernels::ReadMaskArgs args{};
  args.from = places_.at(from->uid).view;
  args.mask = view;
  args.backward = data_.backward ? 1 : 0;
  args.group = data_.backward ? dims[1] / from->dims[1] : 1;
  const int64_t extent = data_.backward ? dims[2] : dims[3], step = from->dims[3];
  for (args.which = 0; args.which < args.group; ++args.which)
    for (args.start = 0; args.start < extent; args.start += step) {
      fill_as(other->name.c_str(), kernels::fill_identity, 1, args.start, args.group, args.which);
      reset_outputs();
      execute();
      device_.launch(Kernel::read_mask, args, device_.threads_for(kernels::elements(args.from)));
    }
  device_.wait();
  inputs_[mask] = view;
  fill_inputs();
}

void Problem::make_reference(const Execute& execute) {
  if (!no_reference_.empty()) return;
  try {
    const auto mask = random_mask();
    bool known = !reference_.empty();
    if (mask && places_.count(*mask) == 0) {
      find_mask(*mask, execute);
      if (old_mask_.bytes() != 0) {
        known = known && differing_words(device_, old_mask_, mask_memory_) == 0;
      } else {
        old_mask_ = Memory(device_, mask_memory_.bytes());
        known = false;
      }
      device_.copy(old_mask_.data(), mask_memory_.data(), mask_memory_.bytes());
      mask_known_ = true;
      if (data_.backward) derive_forward();
    } else if (mask) {
      // The graph has the mask as an output: it is what the plan says it used, and O shows whether that is so.
      reset_outputs();
      execute();
      device_.wait();
      mask_known_ = true;
      if (data_.backward) derive_forward();
      known = false;
    }
    if (known) return;
    reference_.clear();
    Inputs given = inputs();
    if (mask) given[*mask] = inputs_.at(*mask);
    reference_ = evaluate(device_, expanded_, given, reference_bytes(device_));
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::cuda || e.kind() == ErrorKind::cudnn) throw;
    no_reference_ = e.what();
  }
}

void Problem::check_memory(const TensorData& d, probe::OutputFindings& findings) {
  const Place& place = places_.at(d.uid);
  const Buffer& buffer = buffers_.at(place.buffer);
  const int64_t size = element_size(tensor(graph_, d.uid).data_type);
  const int64_t guard = static_cast<int64_t>(guard_bytes) / size, total = buffer.size / size + 2 * guard;
  const Memory map(device_, static_cast<size_t>(total));
  device_.set_bytes(map.data(), kernels::mark_not_of_tensor, map.bytes());
  if (d.reordered || d.mask_dump || d.role == Role::scratch) {
    device_.set_bytes(map.data() + guard, kernels::mark_free, static_cast<size_t>(buffer.size / size));
  } else {
    auto mark = [&](const TensorData& of, bool free) {
      kernels::CoverArgs args{};
      args.y = places_.at(of.uid).view;
      args.map = reinterpret_cast<unsigned char*>(map.data()) + guard + (of.shares ? of.shares->offset : 0);
      args.lengths = lengths(of);
      args.sequence_axis = of.sequence_axis;
      args.free = free ? 1 : 0;
      device_.launch(Kernel::cover, args, device_.threads_for(kernels::elements(args.y)));
    };
    // Tensors interleaved with this one are checked in their own turn.
    for (const auto& other : data_.tensors)
      if (other.uid != d.uid && places_.at(other.uid).buffer == place.buffer) mark(other, true);
    mark(d, false);
  }
  const auto counts = counted<kernels::MemoryCount>(device_, [&](kernels::MemoryCount* places, int64_t threads) {
    kernels::CheckMemoryArgs args{};
    args.memory = reinterpret_cast<const unsigned char*>(buffer.memory.data());
    args.map = reinterpret_cast<const unsigned char*>(map.data());
    args.count = total;
    args.counts = places;
    args.element_size = static_cast<int>(size);
    device_.launch(Kernel::check_memory, args, threads);
  });
  for (const auto& count : counts) {
    if (d.role == Role::output) findings.unwritten += count.unwritten;
    findings.outside += count.outside;
  }
}

probe::OutputFindings Problem::compare(const TensorData& d) {
  const Tensor& t = tensor(graph_, d.uid);
  probe::OutputFindings found;
  found.tensor = t.name.empty() ? fmt::format("uid {}", t.uid) : t.name;
  found.data_type = name_of(t.data_type);
  check_memory(d, found);
  const auto reference = reference_.find(d.uid);
  if (d.role == Role::output && !d.reordered && reference != reference_.end()) {
    DataType coarsest = t.data_type;
    for (const auto& other : data_.tensors) {
      const DataType type = tensor(graph_, other.uid).data_type;
      if (tolerance(type, data_.backward).l2 > tolerance(coarsest, data_.backward).l2) coarsest = type;
    }
    Tolerance allowed = tolerance(coarsest, data_.backward);
    if (is_amax(t, coarsest)) allowed.l2 = std::max(allowed.l2, amax_l2);
    kernels::CompareArgs args{};
    args.out = places_.at(d.uid).view;
    args.reference = reference->second.view;
    args.lengths = lengths(d);
    args.sequence_axis = d.sequence_axis;
    auto sums = [&] {
      return counted<kernels::CompareCount>(device_, [&](kernels::CompareCount* places, int64_t threads) {
        args.counts = places;
        device_.launch(Kernel::compare, args, threads);
      });
    };
    args.abs = -1;
    double reference2 = 0, error2 = 0, max_abs = 0, max_rel = 0;
    for (const auto& count : sums()) {
      reference2 += count.reference2;
      found.elements += count.elements;
    }
    const double rms = std::sqrt(reference2 / static_cast<double>(std::max<int64_t>(found.elements, 1)));
    found.allowed_l2 = allowed.l2;
    found.allowed_abs = args.abs = allowed.abs * rms;
    found.allowed_rel = args.rel = allowed.rel;
    int64_t first = -1;
    for (const auto& count : sums()) {
      error2 += count.error2;
      max_abs = std::max(max_abs, count.max_abs);
      max_rel = std::max(max_rel, count.max_rel);
      found.nan += count.nan;
      found.inf += count.inf;
      found.wrong += count.wrong;
      if (count.wrong > 0 && (first < 0 || count.first_wrong < first)) first = count.first_wrong;
    }
    found.max_abs_err = finite(max_abs);
    found.max_rel_err = finite(max_rel);
    found.relative_l2 = finite(reference2 > 0 ? std::sqrt(error2 / reference2) : std::sqrt(error2));
    // One number that is off by its norm alone is shown too.
    if (first < 0 && found.elements == 1 && found.relative_l2.value_or(0) > found.allowed_l2) first = 0;
    if (first >= 0) {
      const kernels::Place p = kernels::place(args.out, first);
      found.first_wrong.assign(p.i, p.i + 4);
      found.first_wrong_value = finite(element(device_, args.out, p));
      found.first_wrong_reference = finite(element(device_, args.reference, p));
    }
  }
  found.right = found.wrong == 0 && found.unwritten == 0 && found.outside == 0 &&
                found.relative_l2.value_or(0) <= found.allowed_l2;
  return found;
}

bool Problem::repeats_alike(const Execute& execute, int64_t repeats) {
  std::map<Uid, Memory> first;  // by buffer
  for (const auto& d : data_.tensors) {
    if (d.role != Role::output) continue;
    const Uid buffer = places_.at(d.uid).buffer;
    const Memory& memory = buffers_.at(buffer).memory;
    Memory copy(device_, memory.bytes());
    device_.copy(copy.data(), memory.data(), memory.bytes());
    first[buffer] = std::move(copy);
  }
  bool alike = true;
  for (int64_t i = 0; i < repeats; ++i) {
    reset_outputs();
    execute();
    for (const auto& [buffer, memory] : first)
      alike = differing_words(device_, memory, buffers_.at(buffer).memory) == 0 && alike;
  }
  return alike;
}

probe::RunFindings Problem::verify(const Execute& execute, int64_t repeats) {
  probe::RunFindings findings;
  findings.data = name_of(options_.data);
  if (options_.verify) make_reference(execute);
  reset_outputs();
  execute();
  device_.wait();
  bool right = true;
  for (const auto& d : data_.tensors) {
    if (d.role == Role::input) continue;
    auto output = compare(d);
    // Scratch memory is reported only where the plan wrote outside of it.
    if (d.role == Role::scratch && output.right) continue;
    right = right && output.right;
    auto largest = [](std::optional<double>& most, const std::optional<double>& x) {
      if (x) most = std::max(most.value_or(0), *x);
    };
    largest(findings.max_abs_err, output.max_abs_err);
    largest(findings.max_rel_err, output.max_rel_err);
    largest(findings.relative_l2, output.relative_l2);
    findings.outputs.push_back(std::move(output));
  }
  findings.status = right ? probe::RunStatus::ok : probe::RunStatus::wrong_result;
  if (!reference_.empty())
    findings.reference = fmt::format("the graph, interpreted in {}", name_of(device_.real()));
  else if (right && options_.verify) {
    findings.status = probe::RunStatus::not_verified;
    findings.message = no_reference_;
  }
  if (!right)
    for (const auto& output : findings.outputs)
      if (!output.right && findings.message.empty())
        findings.message =
            output.outside > 0
                ? fmt::format("{}: {} elements outside of the tensor were written", output.tensor, output.outside)
            : output.unwritten > 0
                ? fmt::format("{}: {} of its elements were not written", output.tensor, output.unwritten)
            : output.wrong > 0 ? fmt::format("{}: {} of {} elements are wrong, first at [{}]", output.tensor,
                                             output.wrong, output.elements, fmt::join(output.first_wrong, ", "))
                               : fmt::format("{}: the error is {:.2g} of the reference's norm, {:.2g} allowed",
                                             output.tensor, output.relative_l2.value_or(0), output.allowed_l2);
  if (repeats <= 0) return findings;

  findings.deterministic = repeats_alike(execute, repeats);
  findings.repeats = repeats;
  return findings;
}

// cudnn-frontend's own tests (test/python/test_mhas_v2.py of 1.23, graphs.md 9.1) allow an element 2e-2 in 16 bits (dK,
// dV in bf16 7e-2) and 0.08 + 20 % in fp8, absolutely. That lets an output of zeros pass where long rows average to
// little, so here the absolute part is in units of the output's own size, and the norm of the whole error is held to
// some roundings of the type: 2^-11 in f16, 2^-8 in bf16, 2^-4 in e4m3, 2^-3 in e5m2, 2^-11 for f32 data, which goes
// through TF32. Measured on an H200: docs/results.
Tolerance tolerance(DataType coarsest, bool backward) {
  const double more = backward ? 2 : 1;
  switch (coarsest) {
    case DataType::f16:
      return {2e-3 * more, 2e-2 * more, 2e-2};
    case DataType::bf16:
      return {1.2e-2 * more, 1e-1 * more, 2e-2};
    case DataType::fp8_e4m3:
      return {6e-2 * more, 0.5 * more, 0.2};
    case DataType::fp8_e5m2:
      return {1.2e-1 * more, 1 * more, 0.2};
    default:
      return {1e-3 * more, 1e-2 * more, 1e-2};
  }
}

}  // namespace attnprobe::run
