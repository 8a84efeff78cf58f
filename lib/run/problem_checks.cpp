// What a plan wrote, against the reference and against the memory that it was given.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/problem.hpp"

namespace attnprobe::run {
namespace {

using graph::Tensor;

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

}  // namespace

// cudnn-frontend's own tests (test/python/test_mhas_v2.py of 1.23) allow an element 2e-2 in 16 bits (dK, dV in bf16
// 7e-2) and 0.08 + 20 % in fp8, absolutely. That lets an output of zeros pass where long rows average to little, so here
// the absolute part is in units of the output's own size, and the norm of the whole error is held to some roundings of
// the type: 2^-11 in f16, 2^-8 in bf16, 2^-4 in e4m3, 2^-3 in e5m2, 2^-11 for f32 data, which goes through TF32.
// Measured on an H200: docs/results.
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
    if (d.use == Use::output) findings.unwritten += count.unwritten;
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
  if (d.use == Use::output && !d.reordered && reference != reference_.end()) {
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

}  // namespace attnprobe::run
