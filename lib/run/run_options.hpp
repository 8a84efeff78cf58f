// How plans are run: plain data, with no need of CUDA.
#pragma once

#include <string>
#include <vector>

#include "../base/enum_names.hpp"

namespace attnprobe::run {

/// What inputs hold. Each but the first is a case that a known bug of cuDNN needs.
enum class DataRegime {
  normal,           ///< standard normal, as activations are
  integers,         ///< four in five zero, else -2 … 2: sums are exact, slips are visible
  negative_scores,  ///< Q above and K below zero: every score far below zero
  far_negative,     ///< scores about -160, as close together as usual: exp() of the log-sum-exp is no f32
  large,            ///< eight times as large: softmax is almost one-hot
  mask_all_true,    ///< explicit masks reject nothing, biases are zero
  gaps,             ///< unused tokens behind each ragged sequence
};
ATTNPROBE_ENUM(DataRegime, normal, integers, negative_scores, far_negative, large, mask_all_true, gaps)

enum class Timing { none, fast, standard };
ATTNPROBE_ENUM(Timing, none, fast, standard)

/// What NVIDIA's compute-sanitizer looks for in a plan.
enum class Sanitizer {
  memcheck,   ///< addresses out of bounds or misaligned
  racecheck,  ///< shared memory that is written and read without order
  initcheck,  ///< global memory that is read and was never written
  synccheck,  ///< barriers that some threads of a block do not reach
};
ATTNPROBE_ENUM(Sanitizer, memcheck, racecheck, initcheck, synccheck)

struct RunOptions {
  DataRegime data = DataRegime::normal;
  uint64_t seed = 1;
  bool verify = true;
  Timing timing = Timing::standard;
  bool hot = false;                            ///< also back to back, with the caches warm
  bool cuda_graph = false;                     ///< also replayed from a CUDA graph
  int64_t repeat = 1;                          ///< further runs compared bit for bit with the first
  double flop = 0, bytes = 0;                  ///< of one run, for rates
  std::string data_type = "f16";               ///< of the matrix products, for the peak
  std::vector<int64_t> seqlens_q, seqlens_kv;  ///< where the config gives them
  std::vector<Sanitizer> sanitizers;           ///< each plan is executed under these, too
};
ATTNPROBE_JSON(RunOptions, data, seed, verify, timing, hot, cuda_graph, repeat, flop, bytes, data_type, seqlens_q,
               seqlens_kv, sanitizers)

}  // namespace attnprobe::run
