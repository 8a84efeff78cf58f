#include "run/work.hpp"

#include <algorithm>

#include "run/data.hpp"

namespace attnprobe::run {
namespace {

using attention::AttentionSpec;

// Pairs of one head of one batch entry.
int64_t count_pairs(const AttentionSpec& spec, int64_t queries, int64_t keys) {
  const auto& mask = spec.mask;
  const bool causal_modifier = spec.score_mod && spec.score_mod->kind == attention::ScoreModifierKind::causal;
  if (!mask.has_diagonal() && !causal_modifier) return queries * keys;
  const int64_t shift = mask.alignment == attention::Alignment::bottom_right ? keys - queries : 0;
  int64_t pairs = 0;
  for (int64_t row = 0; row < queries; ++row) {
    int64_t first = 0, last = keys - 1;
    if (mask.window_left) first = std::max(first, row + shift - *mask.window_left);
    if (mask.window_right) last = std::min(last, row + shift + *mask.window_right);
    if (causal_modifier) last = std::min(last, row);  // compares plain indices: top left, always
    pairs += std::max<int64_t>(0, last - first + 1);
  }
  return pairs;
}

// Of one batch entry.
int64_t length_of(std::span<const int64_t> at_run_time, const std::vector<int64_t>& of_spec, int64_t full,
                  size_t entry) {
  if (!at_run_time.empty()) return at_run_time[entry];
  return of_spec.empty() ? full : of_spec[entry];
}

double bytes_of(const graph::Tensor& tensor) {
  double elements = 1;
  for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    const bool broadcast = axis < tensor.strides.size() && tensor.strides[axis] == 0;
    if (!broadcast) elements *= static_cast<double>(tensor.dims[axis]);
  }
  return elements * bits_of(tensor.data_type) / 8;
}

// The type's name in matmul_rates; "" for one that attention does not multiply in.
std::string rate_name(DataType type) {
  if (is_fp8(type)) return "fp8";
  return type == DataType::f16 || type == DataType::bf16 || type == DataType::f32 ? std::string(name_of(type)) : "";
}

}  // namespace

double unmasked_pairs(const AttentionSpec& spec, std::span<const int64_t> seqlens_q,
                      std::span<const int64_t> seqlens_kv) {
  double pairs = 0;
  for (size_t entry = 0; entry < static_cast<size_t>(spec.batch); ++entry)
    pairs += static_cast<double>(count_pairs(spec, length_of(seqlens_q, spec.mask.seqlens_q, spec.seqlen_q, entry),
                                             length_of(seqlens_kv, spec.mask.seqlens_kv, spec.seqlen_kv, entry)));
  return pairs;
}

double attention_flop(const AttentionSpec& spec, std::span<const int64_t> seqlens_q,
                      std::span<const int64_t> seqlens_kv) {
  const int64_t per_pair =
      is_bprop(spec) ? 3 * spec.head_dim_qk + 2 * spec.head_dim_v : spec.head_dim_qk + spec.head_dim_v;
  return static_cast<double>(spec.heads_q * 2 * per_pair) * unmasked_pairs(spec, seqlens_q, seqlens_kv);
}

double least_bytes(const graph::OpGraph& graph, const TokenShare& share) {
  auto share_of = [&](const graph::Tensor& t) {
    if (t.name.find("container") != std::string::npos) return share.kv;
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
