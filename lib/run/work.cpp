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

// Multiply-adds per clock and multiprocessor.
struct Rate {
  int sm;
  int tensor_f16;  // dense, f16 or bf16 inputs, f32 accumulation
  int cuda_f32;
  bool bf16, fp8;  // whether the tensor cores take them; fp8 at twice the rate
};

// From NVIDIA's datasheets and architecture whitepapers: dense TFLOPS = multiprocessors × boost clock × 2 × rate, here
// for the boards that the rates were computed from. No boost clock is published for B200 and GB10: theirs is the one
// that gives the datasheet's TFLOPS.
constexpr Rate rates[] = {
    {75, 512, 64, false, false},   // T4: 40 × 1.59 GHz: 65 f16, 8.1 f32
    {80, 1024, 64, true, false},   // A100: 108 × 1.41 GHz: 312 f16, 19.5 f32
    {86, 512, 128, true, false},   // A10: 72 × 1.695 GHz: 125 f16, 31.2 f32; RTX 3090 (GeForce): 71 f16
    {87, 1024, 128, true, false},  // AGX Orin: 16 × 1.3 GHz: 170 int8 sparse, f16 a quarter of it; 5.3 f32
    {89, 512, 128, true, true},    // L40S: 142 × 2.52 GHz: 366 f16, 733 fp8, 92 f32; RTX 4090: 165 f16
    {90, 2048, 128, true, true},   // H100, H200 SXM: 132 × 1.83 GHz: 989 f16, 1979 fp8; 1.98 GHz: 67 f32
    {100, 4096, 128, true, true},  // B200: 148 × 1.85 GHz: 2250 f16, 4500 fp8
    {103, 4096, 128, true, true},  // B300: the same for f16 and fp8
    {120, 512, 128, true, true},   // RTX PRO 6000: 188 × 2.617 GHz: 504 f16; RTX 5090 (GeForce): 209.5 f16
    {121, 512, 128, true, true},   // GB10: 48 × 2.5 GHz: 1000 fp4 sparse, f16 an eighth of it
};

std::optional<int> multiply_adds(const Rate& rate, DataType type, bool geforce) {
  const int tensor = geforce ? rate.tensor_f16 / 2 : rate.tensor_f16;
  if (type == DataType::f32) return rate.cuda_f32;
  if (type == DataType::f16 || (type == DataType::bf16 && rate.bf16)) return tensor;
  if (is_fp8(type) && rate.fp8) return 2 * tensor;
  return std::nullopt;
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
  const auto rate =
      std::find_if(std::begin(rates), std::end(rates), [&](const Rate& candidate) { return candidate.sm == gpu.sm; });
  if (rate == std::end(rates) || gpu.multiprocessors <= 0 || gpu.sm_clock_mhz <= 0) return std::nullopt;
  const auto per_clock = multiply_adds(*rate, type, gpu.geforce);
  if (!per_clock) return std::nullopt;
  return gpu.multiprocessors * (gpu.sm_clock_mhz * 1e6) * 2 * *per_clock / 1e12;
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
