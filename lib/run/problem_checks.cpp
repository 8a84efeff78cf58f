// Checks a plan's writes against the reference and against its memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "run/problem.hpp"
#include "run/reference/rounding.hpp"

namespace attnprobe::run {
namespace {

using graph::Tensor;

// Uses a kernel to read one element, because ragged offsets are on the device.
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

// The maximum of many values, for fp8 graphs. Rounding increases the maximum, and kernels compute it before or after
// rounding. Four of these units are 12.5 % (cudnn-frontend's tests allow 5 % of the larger of it and 1).
constexpr double amax_unit = 0x1p-5;
bool is_amax(const OpGraph& graph, const Tensor& t) {
  return is_fp8(multiplied_in(graph)) && t.data_type == DataType::f32 && t.dims == std::vector<int64_t>{1, 1, 1, 1};
}

// Errors shared by all terms of a row, which do not average out. Sums of exponentials share the rounding of the row's
// maximum, which grows with it. For maxima near 100, an error of 1.7e-5 was seen (H200, cuDNN 9.19), 4.4 times the limit
// without this. With a factor for scores, it was 2.9e-5 (H200, cuDNN 9.21.1 to 9.27.0). In statistics and maxima, tensor
// cores truncate sums instead of rounding, so scores of one sign err to one side. That grows with the head dimension:
// 4.0e-9 to 5.1e-9 for each of 192 to 472 (H200, cuDNN 9.13.1 to 9.28.1).
double shared_error(graph::Role role, int64_t head_dim) {
  if (role == graph::Role::stats || role == graph::Role::max || role == graph::Role::row_max)
    return std::max(2.0, static_cast<double>(head_dim) / 64);
  return role == graph::Role::row_sum || role == graph::Role::sum_exp ? 16 : 1;
}

// For single elements only. With integers, many keys of a row have the same dS, rounded alike. In dQ, 1.4 times the
// limit was seen (H200, cuDNN 9.8 to 9.28.1). In dBias, rare elements near 0 had 1.15 to 1.71 times the limit.
double shared_by_element(graph::Role role, DataRegime data) {
  using graph::Role;
  const bool is_gradient = role == Role::dq || role == Role::dk || role == Role::dv;
  return role == Role::d_bias || (is_gradient && data == DataRegime::integers) ? 2 : 1;
}

double largest_of(DataType type) {
  switch (type) {
    case DataType::f16:
      return 65504;
    case DataType::fp8_e4m3:
      return 448;
    case DataType::fp8_e5m2:
      return 57344;
    default:
      return std::numeric_limits<float>::max();
  }
}

std::optional<double> finite(double x) {
  return std::isfinite(x) ? std::optional(x) : std::nullopt;
}

}  // namespace

double most_of_norm(int64_t elements) {
  constexpr double of_many = 0.9;
  return of_many + (most_of_element - of_many) / std::sqrt(static_cast<double>(std::max<int64_t>(elements, 1)));
}

void Problem::check_memory(const TensorData& d, probe::OutputFindings& findings) {
  const Place& place = places_.at(d.uid);
  const Buffer& buffer = buffers_.at(place.buffer);
  const int64_t size = element_size(tensor(graph_, d.uid).data_type);
  const int64_t guard = static_cast<int64_t>(guard_bytes) / size, total = buffer.size / size + 2 * guard;
  const Memory map(device_, static_cast<size_t>(total));
  device_.set_bytes(map.data(), kernels::mark_not_of_tensor, map.bytes());
  if (d.reordered || d.mask_dump || d.use == Use::scratch) {
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
    // Tensors interleaved with this one are checked separately.
    for (const auto& other : data_.tensors)
      if (other.uid != d.uid && places_.at(other.uid).buffer == place.buffer) mark(other, true);
    mark(d, false);
  }
  const MemoryUse use = memory_use(buffer, map, size);
  if (d.use == Use::output) findings.unwritten += use.unwritten;
  findings.outside += use.outside;
}

int64_t Problem::unwritten_mask() {
  int64_t unwritten = 0;
  for (const auto& d : data_.tensors) {
    if (!d.mask_dump) continue;
    const Buffer& buffer = buffers_.at(places_.at(d.uid).buffer);
    const int64_t size = element_size(tensor(graph_, d.uid).data_type),
                  guard = static_cast<int64_t>(guard_bytes) / size;
    const Memory map(device_, static_cast<size_t>(buffer.size / size + 2 * guard));
    device_.set_bytes(map.data(), kernels::mark_free, map.bytes());
    device_.set_bytes(map.data() + guard, kernels::mark_must_be_written, static_cast<size_t>(buffer.size / size));
    unwritten += memory_use(buffer, map, size).unwritten;
  }
  return unwritten;
}

Problem::MemoryUse Problem::memory_use(const Buffer& buffer, const Memory& map, int64_t element_size) {
  const auto counts = counted<kernels::MemoryCount>(device_, [&](kernels::MemoryCount* places, int64_t threads) {
    kernels::CheckMemoryArgs args{};
    args.memory = reinterpret_cast<const unsigned char*>(buffer.memory.data());
    args.map = reinterpret_cast<const unsigned char*>(map.data());
    args.count = static_cast<int64_t>(map.bytes());
    args.counts = places;
    args.element_size = static_cast<int>(element_size);
    device_.launch(Kernel::check_memory, args, threads);
  });
  MemoryUse use;
  for (const auto& count : counts) {
    use.unwritten += count.unwritten;
    use.outside += count.outside;
  }
  return use;
}

probe::OutputFindings Problem::compare(const TensorData& d) {
  const Tensor& t = tensor(graph_, d.uid);
  probe::OutputFindings found;
  found.tensor = t.name.empty() ? fmt::format("uid {}", t.uid) : t.name;
  found.data_type = name_of(t.data_type);
  check_memory(d, found);
  const auto reference = reference_.find(d.uid);
  if (d.use == Use::output && !d.reordered && reference != reference_.end()) {
    kernels::CompareArgs args{};
    args.out = places_.at(d.uid).view;
    args.reference = reference->second.view;
    args.reference.unit = static_cast<float>(is_amax(expanded_, t) ? amax_unit : rounding_of(t.data_type).unit);
    args.reference.smallest = static_cast<float>(rounding_of(t.data_type).smallest);
    args.lengths = lengths(d);
    args.sequence_axis = d.sequence_axis;
    const Tensor* q = find(graph::Role::q);
    const double shared = shared_error(t.role, q == nullptr ? 0 : q->dims.back());
    args.times = most_of_element * shared * shared_by_element(t.role, options_.data);
    args.largest = largest_of(t.data_type);
    const auto counts = counted<kernels::CompareCount>(device_, [&](kernels::CompareCount* places, int64_t threads) {
      args.counts = places;
      device_.launch(Kernel::compare, args, threads);
    });
    double reference2 = 0, error2 = 0, variance = 0, max_abs = 0, max_rel = 0;
    int64_t first = -1;
    kernels::CompareCount worst{};
    for (const auto& count : counts) {
      reference2 += count.reference2;
      error2 += count.error2;
      variance += count.variance;
      max_abs = std::max(max_abs, count.max_abs);
      max_rel = std::max(max_rel, count.max_rel);
      found.elements += count.elements;
      found.nan += count.nan;
      found.inf += count.inf;
      found.wrong += count.wrong;
      if (count.most > worst.most || worst.allowed == 0) worst = count;
      if (count.wrong > 0 && (first < 0 || count.first_wrong < first)) first = count.first_wrong;
    }
    const double norm = reference2 > 0 ? std::sqrt(reference2) : 1;
    found.max_abs_err = finite(max_abs);
    found.max_rel_err = finite(max_rel);
    found.relative_l2 = finite(std::sqrt(error2) / norm);
    found.allowed_l2 = shared * most_of_norm(found.elements) * std::sqrt(variance) / norm;
    found.of_allowed = finite(worst.most);
    found.allowed_abs = worst.allowed;
    found.allowed_rel = worst.reference > 0 ? worst.allowed / worst.reference : 0;
    // Also covers a single number, for which only the norm finds the error.
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

}  // namespace attnprobe::run
