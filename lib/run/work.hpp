// The minimum data that a graph moves, and a GPU's peak rates: the rooflines for a measured time. (attention/flop.hpp
// counts the computation.)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "graph/op_graph.hpp"
#include "probe/run_findings.hpp"

namespace attnprobe::run {

/// The share of real tokens among the possible tokens (batch times the longest sequence).
struct TokenShare {
  int64_t seqlen_q = 0, seqlen_kv = 0;  ///< longest sequence
  double q = 1, kv = 1;
};

/// Bytes between GPU and memory if every tensor, except virtual ones and host values, moves once. Elements along an
/// axis of stride 0 count once. A tensor with the sequence of Q, or of K and V (including pages), counts with its share
/// of tokens.
double least_bytes(const graph::OpGraph& graph, const TokenShare& share = {});

/// The properties of a GPU that set its peaks.
struct GpuLimits {
  int multiprocessors = 0;
  /// The datasheet's peak uses the boost clock; the highest clock, which CUDA reports, gives a higher peak (H100 SXM:
  /// 1830 and 1980 MHz, 8 %).
  double sm_clock_mhz = 0;
  double memory_clock_mhz = 0;  ///< CUDA's memoryClockRate: half the transfers per second
  int memory_bus_bits = 0;
  std::map<std::string, int> matmul_rates;  ///< gpu::matmul_rates()
};

/// The dense rate of matmuls with inputs of this type and f32 accumulation, in 10^12 operations per second. Tensor
/// cores for f16, bf16 and fp8, CUDA cores for f32. A kernel that uses TF32 for f32 may exceed it. Returns std::nullopt
/// for a type missing from matmul_rates, and if multiprocessors or clock are unknown (0).
std::optional<double> peak_tflops(const GpuLimits& gpu, DataType type);

/// 2 × memory clock × bus width, in 10^9 bytes per second; 0 if either is unknown (0).
double peak_gbytes_per_s(const GpuLimits& gpu);

/// Computes tflops, percent_of_peak, gbytes_per_s, percent_of_bandwidth and bound from median_ms. Does nothing if that
/// is null. Values that need an unknown peak stay null or "".
void add_rates(probe::TimeFindings& findings, double flop, double bytes, const GpuLimits& gpu, DataType type);

}  // namespace attnprobe::run
