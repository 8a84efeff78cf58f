// Attention by its definition, in double, directly from an AttentionSpec and with loops over indices. The interpreter
// of graphs is compared with it. Also a stand-in for a plan that computes it on the CPU.
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

/// A feature that plain attention does not support.
struct NotPlain : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How a plan deviates from attention. Rounding is allowed; all others are errors of kernels.
struct Slip {
  bool rounds = false;  ///< P and dS are rounded to the type of the matrix products, all others to f32

  int64_t right_edge = 0, left_edge = 0;  ///< the band's edges are this many keys too far right
  int64_t keys = 0;                       ///< this many additional keys in each sequence
  bool last_tile = false;                 ///< omits the last tile of 8 keys
  bool top_left = false;                  ///< for any alignment
  bool heads_swapped = false;             ///< of Q, in pairs
  bool groups_mixed = false;              ///< K and V head h % heads_kv
  bool other_batch = false;               ///< K of the previous batch entry
  int64_t value_shift = 0;                ///< V of a token this many positions later
  int64_t depth = 0;                      ///< omits this many elements of the head dimension in Q K^T
  bool pages_swapped = false;             ///< of K, the first two of the first sequence
  double scale = 1;                       ///< an additional factor
  int64_t dropout_shift = 0;              ///< columns
  bool undropped = false;                 ///< kept values of dropout are not scaled
  bool stale_row = false;                 ///< row 2 of the first head contains row 1
  bool rows_swapped = false;              ///< of O (dQ): 0 and 1 of the first head
  bool other_maximum = false;             ///< one row's statistics use the previous row's maximum
  bool lost_rescale = false;              ///< when a later tile of 8 keys raises the maximum
  int64_t bias_shift = 0;                 ///< columns
  bool no_bias = false, no_sink = false, no_softcap = false, no_score_mod = false;
  bool next_slope = false;                       ///< ALiBi's, from the next head
  bool unscaled = false;                         ///< O (dQ, dK, dV) without the scale of fp8
  bool no_delta = false, next_delta = false;     ///< dS = P dP; P (dP - delta of the previous row)
  bool unscaled_scores = false;                  ///< dS without the scale
  bool lost_keys = false, lost_queries = false;  ///< dQ lacks the last tile of keys, dK the last tile of queries
  bool first_of_group = false;                   ///< dK and dV come only from the first query head of each group
  bool first_batch = false;                      ///< dBias comes only from the first batch entry
  bool sink_turned = false;                      ///< dSink with the opposite sign
  bool pairs_interleaved = false;                ///< rotary embedding rotates neighbours, not halves
  bool natural_stats = false;                    ///< base e instead of base 2
  double amax = 1;                               ///< factor of amax S and amax O
};

/// Computes every output of the graph (O, Stats, Max, Sum_exp, dQ, dK, dV, dBias, dSink, amax …) from its inputs in CPU
/// memory. Writes them there, in their types, in the relevant rows. Returns the written values before rounding to the
/// outputs' types. Throws NotPlain.
std::vector<double> plain_attention(const attention::AttentionSpec& spec, const graph::OpGraph& graph,
                                    const std::map<graph::Uid, void*>& pointers, const run::Lengths& lengths,
                                    const Keep& keep, const Slip& slip = {});

}  // namespace attnprobe::test
