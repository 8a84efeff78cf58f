#include "run/work.hpp"

#include <algorithm>

#include "base/data_type.hpp"

namespace attnprobe::run {
namespace {

double bytes_of(const graph::Tensor& tensor) {
  double elements = 1;
  for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    const bool broadcast = axis < tensor.strides.size() && tensor.strides[axis] == 0;
    if (!broadcast) elements *= static_cast<double>(tensor.dims[axis]);
  }
  return elements * bits_of(tensor.data_type) / 8;
}

// The type's name in matmul_rates; "" for types not used in matrix products.
std::string rate_name(DataType type) {
  if (is_fp8(type)) return "fp8";
  return type == DataType::f16 || type == DataType::bf16 || type == DataType::f32 ? std::string(name_of(type)) : "";
}

}  // namespace

double least_bytes(const graph::OpGraph& graph, const TokenShare& share) {
  auto share_of = [&](const graph::Tensor& t) {
    if (t.role == graph::Role::k_container || t.role == graph::Role::v_container) return share.kv;
    if (t.dims.size() != 4) return 1.0;
    const int64_t length = t.dims[t.strides[3] > t.strides[2] ? 3 : 2];
    return length == share.seqlen_kv ? share.kv : length == share.seqlen_q ? share.q : 1.0;
  };
  double bytes = 0;
  for (const auto& tensor : graph.tensors)
    if (!tensor.is_virtual && !tensor.by_value) bytes += bytes_of(tensor) * share_of(tensor);
  return bytes;
}

std::optional<double> peak_tflops(const GpuLimits& gpu, DataType type) {
  const auto rate = gpu.matmul_rates.find(rate_name(type));
  if (rate == gpu.matmul_rates.end() || gpu.multiprocessors <= 0 || gpu.sm_clock_mhz <= 0) return std::nullopt;
  return gpu.multiprocessors * (gpu.sm_clock_mhz * 1e6) * 2 * rate->second / 1e12;
}

double peak_gbytes_per_s(const GpuLimits& gpu) {
  return 2 * (gpu.memory_clock_mhz * 1e6) * gpu.memory_bus_bits / 8 / 1e9;
}

void add_rates(probe::TimeFindings& findings, double flop, double bytes, const GpuLimits& gpu, DataType type) {
  if (!findings.median_ms || *findings.median_ms <= 0) return;
  const double seconds = *findings.median_ms / 1e3;
  const auto peak = peak_tflops(gpu, type);
  const double bandwidth = peak_gbytes_per_s(gpu);
  findings.tflops = flop / seconds / 1e12;
  findings.gbytes_per_s = bytes / seconds / 1e9;
  if (peak) findings.percent_of_peak = 100 * *findings.tflops / *peak;
  if (bandwidth > 0) findings.percent_of_bandwidth = 100 * *findings.gbytes_per_s / bandwidth;
  if (peak && bandwidth > 0) findings.bound = flop / (*peak * 1e12) >= bytes / (bandwidth * 1e9) ? "compute" : "memory";
}

}  // namespace attnprobe::run
