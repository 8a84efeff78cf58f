// Attention as its definition says it, in double, straight from an AttentionSpec and by loops over indices: what the
// interpreter of graphs is held against. And a stand-in for a plan that computes it on the CPU.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "run/problem.hpp"

namespace attnprobe::test {

/// Whether dropout keeps the element {batch, head, row, column}.
using Keep = std::function<bool(int64_t, int64_t, int64_t, int64_t)>;

/// A feature that plain attention has not.
struct NotPlain : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a plan does otherwise than attention says. Rounding is right; the rest is what kernels get wrong.
struct Slip {
  bool rounds = false;  ///< P and dS go through the type of the matrix products, the rest through f32

  int64_t right_edge = 0, left_edge = 0;  ///< of the band, so many keys farther to the right
  int64_t keys = 0;                       ///< so many more of each sequence
  bool last_tile = false;                 ///< of 8 keys, is left out
  bool top_left = false;                  ///< whatever the alignment
  bool heads_swapped = false;             ///< of Q, in pairs
  bool groups_mixed = false;              ///< K and V head h % heads_kv
  bool other_batch = false;               ///< K of the batch entry before
  int64_t value_shift = 0;                ///< V of so many tokens farther on
  int64_t depth = 0;                      ///< so many of the head dimension are left out of Q K^T
  bool pages_swapped = false;             ///< of K, the first two of the first sequence
  double scale = 1;                       ///< times as much
  int64_t dropout_shift = 0;              ///< columns
  bool undropped = false;                 ///< what dropout keeps is not scaled up
  bool stale_row = false;                 ///< row 2 of the first head holds row 1
  bool rows_swapped = false;              ///< of O (dQ): 0 and 1 of the first head
  bool other_maximum = false;             ///< one row's statistics have the maximum of the row before
  bool lost_rescale = false;              ///< when a later tile of 8 keys raises the maximum
  int64_t bias_shift = 0;                 ///< columns
  bool no_bias = false, no_sink = false, no_softcap = false, no_score_mod = false;
  bool next_slope = false;                       ///< ALiBi's, of the head after
  bool unscaled = false;                         ///< O (dQ, dK, dV) without the scale of fp8
  bool no_delta = false, next_delta = false;     ///< dS = P dP; P (dP - delta of the row before)
  bool unscaled_scores = false;                  ///< dS without the scale
  bool lost_keys = false, lost_queries = false;  ///< dQ lacks the last tile of keys, dK that of queries
  bool first_of_group = false;                   ///< dK and dV of the first query head of each group alone
  bool first_batch = false;                      ///< dBias of the first batch entry alone
  bool sink_turned = false;                      ///< dSink with the other sign
  bool pairs_interleaved = false;                ///< rotary embedding turns neighbours, not halves
  bool natural_stats = false;                    ///< to base e where base 2 is asked for
};

/// Computes every output that the graph names (O, Stats, Max, Sum_exp, dQ, dK, dV, dBias, dSink, amax …) from its
/// inputs in CPU memory, and writes it there, in its type, in the rows that count. Returns all that it wrote as it was
/// before the outputs' types. Throws NotPlain.
std::vector<double> plain_attention(const attention::AttentionSpec& spec, const graph::OpGraph& graph,
                                    const std::map<graph::Uid, void*>& pointers, const run::Lengths& lengths,
                                    const Keep& keep, const Slip& slip = {});

}  // namespace attnprobe::test
