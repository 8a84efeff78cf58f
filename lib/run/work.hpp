// How much a graph moves at least, and what a GPU does at most: the two roofs under which a measured time stands.
// (attention/flop.hpp counts what it computes.)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "graph/op_graph.hpp"
#include "probe/run_findings.hpp"

namespace attnprobe::run {

/// How many of the tokens there could be (batch times the longest sequence) there are.
struct TokenShare {
  int64_t seqlen_q = 0, seqlen_kv = 0;  ///< the longest
  double q = 1, kv = 1;
};

/// Bytes between GPU and memory if every tensor that is not virtual and no host value
/// moves once. Elements along an axis of stride 0 are one. A tensor whose sequence is
/// that of Q, or of K and V (pages included), counts for its share of tokens.
double least_bytes(const graph::OpGraph& graph, const TokenShare& share = {});

/// What of a GPU its peaks depend on.
struct GpuLimits {
  int multiprocessors = 0;
  /// The boost clock gives the datasheet's peak; the highest clock, which
  /// CUDA's properties have, a higher one (H100 SXM: 1830 and 1980 MHz, 8 %).
  double sm_clock_mhz = 0;
  double memory_clock_mhz = 0;  ///< as CUDA's memoryClockRate: half the transfers per second
  int memory_bus_bits = 0;
  std::map<std::string, int> matmul_rates;  ///< gpu::matmul_rates()
};

/// Dense rate of matmuls with inputs of this type and f32 accumulation, in 10^12 operations a second: tensor cores for
/// f16, bf16 and fp8, CUDA cores for f32 (a kernel that computes f32 in TF32 may exceed it). std::nullopt for a type
/// that matmul_rates lacks, and where multiprocessors or clock are unknown (0).
std::optional<double> peak_tflops(const GpuLimits& gpu, DataType type);

/// 2 × memory clock × bus width, in 10^9 bytes a second; 0 where either is unknown (0).
double peak_gbytes_per_s(const GpuLimits& gpu);

/// Fills tflops, percent_of_peak, gbytes_per_s, percent_of_bandwidth and bound from median_ms. Does nothing where that
/// is null; what depends on an unknown peak stays null or "".
void add_rates(probe::TimeFindings& findings, double flop, double bytes, const GpuLimits& gpu, DataType type);

}  // namespace attnprobe::run
