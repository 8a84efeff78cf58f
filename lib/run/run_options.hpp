// Options for running plans: plain data, without CUDA.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace attnprobe::run {

/// The contents of inputs. Each regime except the first exposes a known bug of cuDNN.
enum class DataRegime {
  normal,           ///< standard normal, like activations
  integers,         ///< four in five zero, otherwise -2 … 2: sums are exact, so small errors are visible
  negative_scores,  ///< Q above and K below zero: every score far below zero
  far_negative,     ///< scores around -160, with the usual spread: exp() of the log-sum-exp underflows f32
  large,            ///< eight times as large, so softmax is almost one-hot
  mask_all_true,    ///< explicit masks keep everything, biases are zero
  gaps,             ///< unused tokens after each ragged sequence
};
ATTNPROBE_ENUM(DataRegime, normal, integers, negative_scores, far_negative, large, mask_all_true, gaps)

enum class Timing { none, fast, standard };
ATTNPROBE_ENUM(Timing, none, fast, standard)

/// The tools of NVIDIA's compute-sanitizer.
enum class Sanitizer {
  memcheck,   ///< out-of-bounds or misaligned addresses
  racecheck,  ///< shared memory written and read without synchronisation
  initcheck,  ///< reads of uninitialised global memory
  synccheck,  ///< barriers not reached by all threads of a block
};
ATTNPROBE_ENUM(Sanitizer, memcheck, racecheck, initcheck, synccheck)

struct RunOptions {
  DataRegime data = DataRegime::normal;
  uint64_t seed = 1;
  bool verify = true;
  Timing timing = Timing::standard;
  bool hot = false;                            ///< also back to back, with warm caches
  bool cuda_graph = false;                     ///< also replayed from a CUDA graph
  int64_t repeat = 1;                          ///< further runs, compared bit by bit with the first
  double flop = 0, bytes = 0;                  ///< work of one run, for rates
  std::string data_type = "f16";               ///< type of the matrix products, for the peak
  std::vector<int64_t> seqlens_q, seqlens_kv;  ///< sequence lengths, if the config has them
  std::vector<Sanitizer> sanitizers;           ///< sanitizer tools under which each plan is also executed
};
ATTNPROBE_JSON(RunOptions, data, seed, verify, timing, hot, cuda_graph, repeat, flop, bytes, data_type, seqlens_q,
               seqlens_kv, sanitizers)

}  // namespace attnprobe::run
