// The ports and attributes of each operation, listed once: JSON, hash, drawing and lowering all walk these lists. A new
// cuDNN operation is one struct in op_graph.hpp and its functions here (and its lowering).
#pragma once

#include "graph/op_graph.hpp"

namespace attnprobe::graph {

enum class PortDirection { input, output };

template <class Op>
constexpr const char* kind_name = nullptr;
template <>
inline constexpr const char* kind_name<Matmul> = "matmul";
template <>
inline constexpr const char* kind_name<Pointwise> = "pointwise";
template <>
inline constexpr const char* kind_name<Reduction> = "reduction";
template <>
inline constexpr const char* kind_name<Reshape> = "reshape";
template <>
inline constexpr const char* kind_name<Rng> = "rng";
template <>
inline constexpr const char* kind_name<PagedCacheLoad> = "paged_cache_load";
template <>
inline constexpr const char* kind_name<BlockScaleDequantize> = "block_scale_dequantize";
template <>
inline constexpr const char* kind_name<DiagonalBandMask> = "diagonal_band_mask";
template <>
inline constexpr const char* kind_name<Softmax> = "softmax";
template <>
inline constexpr const char* kind_name<SdpaForward> = "sdpa_forward";
template <>
inline constexpr const char* kind_name<SdpaBackward> = "sdpa_backward";

/// Calls f(name, uid, direction) for each port; uid is Uid or std::optional<Uid>, mutable if `op` is. The scores that a
/// single SDPA operation hands to its sub-graph count as its output, what comes back as input.
template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, Matmul>
void for_each_port(Op& op, F&& f) {
  f("a", op.a, PortDirection::input);
  f("b", op.b, PortDirection::input);
  f("m_override", op.m_override, PortDirection::input);
  f("n_override", op.n_override, PortDirection::input);
  f("k_override", op.k_override, PortDirection::input);
  f("c", op.c, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, Pointwise>
void for_each_port(Op& op, F&& f) {
  f("x", op.x, PortDirection::input);
  f("b", op.b, PortDirection::input);
  f("t", op.t, PortDirection::input);
  f("dy", op.dy, PortDirection::input);
  f("y", op.y, PortDirection::output);
  f("dx", op.dx, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, Reduction>
void for_each_port(Op& op, F&& f) {
  f("x", op.x, PortDirection::input);
  f("y", op.y, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, Reshape>
void for_each_port(Op& op, F&& f) {
  f("x", op.x, PortDirection::input);
  f("y", op.y, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, Rng>
void for_each_port(Op& op, F&& f) {
  f("seed", op.seed, PortDirection::input);
  f("offset", op.offset, PortDirection::input);
  f("y", op.y, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, PagedCacheLoad>
void for_each_port(Op& op, F&& f) {
  f("container", op.container, PortDirection::input);
  f("page_table", op.page_table, PortDirection::input);
  f("sequence", op.sequence, PortDirection::input);
  f("y", op.y, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, BlockScaleDequantize>
void for_each_port(Op& op, F&& f) {
  f("x", op.x, PortDirection::input);
  f("scale", op.scale, PortDirection::input);
  f("y", op.y, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, DiagonalBandMask>
void for_each_port(Op& op, F&& f) {
  f("x", op.x, PortDirection::input);
  f("fill", op.fill, PortDirection::input);
  f("seq_len_q", op.seq_len_q, PortDirection::input);
  f("seq_len_kv", op.seq_len_kv, PortDirection::input);
  f("left_bound", op.left_bound, PortDirection::input);
  f("shift_right_bound", op.shift_right_bound, PortDirection::input);
  f("y", op.y, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, Softmax>
void for_each_port(Op& op, F&& f) {
  f("x", op.x, PortDirection::input);
  f("sink", op.sink, PortDirection::input);
  f("y", op.y, PortDirection::output);
  f("stats", op.stats, PortDirection::output);
  f("max", op.max, PortDirection::output);
  f("sum_exp", op.sum_exp, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, SdpaForward>
void for_each_port(Op& op, F&& f) {
  f("q", op.q, PortDirection::input);
  f("k", op.k, PortDirection::input);
  f("v", op.v, PortDirection::input);
  f("scale", op.scale, PortDirection::input);
  f("seq_len_q", op.seq_len_q, PortDirection::input);
  f("seq_len_kv", op.seq_len_kv, PortDirection::input);
  f("block_mask", op.block_mask, PortDirection::input);
  f("page_table_k", op.page_table_k, PortDirection::input);
  f("page_table_v", op.page_table_v, PortDirection::input);
  f("sink", op.sink, PortDirection::input);
  f("seed", op.seed, PortDirection::input);
  f("offset", op.offset, PortDirection::input);
  f("score_output", op.score_output, PortDirection::input);
  f("softmax_x", op.softmax_x, PortDirection::input);
  f("o", op.o, PortDirection::output);
  f("stats", op.stats, PortDirection::output);
  f("max", op.max, PortDirection::output);
  f("sum_exp", op.sum_exp, PortDirection::output);
  f("rng_dump", op.rng_dump, PortDirection::output);
  f("score_input", op.score_input, PortDirection::output);
  f("softmax_y", op.softmax_y, PortDirection::output);
}

template <class Op, class F>
requires std::is_same_v<std::remove_const_t<Op>, SdpaBackward>
void for_each_port(Op& op, F&& f) {
  f("q", op.q, PortDirection::input);
  f("k", op.k, PortDirection::input);
  f("v", op.v, PortDirection::input);
  f("o", op.o, PortDirection::input);
  f("d_o", op.d_o, PortDirection::input);
  f("stats", op.stats, PortDirection::input);
  f("scale", op.scale, PortDirection::input);
  f("seq_len_q", op.seq_len_q, PortDirection::input);
  f("seq_len_kv", op.seq_len_kv, PortDirection::input);
  f("sink", op.sink, PortDirection::input);
  f("seed", op.seed, PortDirection::input);
  f("offset", op.offset, PortDirection::input);
  f("score_output", op.score_output, PortDirection::input);
  f("dq", op.dq, PortDirection::output);
  f("dk", op.dk, PortDirection::output);
  f("dv", op.dv, PortDirection::output);
  f("d_sink", op.d_sink, PortDirection::output);
  f("d_bias", op.d_bias, PortDirection::output);
  f("score_input", op.score_input, PortDirection::output);
}

/// Calls f(name, attribute) for each attribute that is no port.
template <class Op, class F>
void for_each_attribute(Op& op, F&& f) {
  using Plain = std::remove_const_t<Op>;
  if constexpr (std::is_same_v<Plain, Pointwise>) {
    f("mode", op.mode);
    f("axis", op.axis);
    f("alpha1", op.alpha1);
    f("alpha2", op.alpha2);
  }
  if constexpr (std::is_same_v<Plain, Reduction>) f("operator", op.op);
  if constexpr (std::is_same_v<Plain, Rng>) {
    f("distribution", op.distribution);
    f("probability", op.probability);
    f("constant_seed", op.constant_seed);
  }
  if constexpr (std::is_same_v<Plain, BlockScaleDequantize>) {
    f("block_size", op.block_size);
    f("negative_scale", op.negative_scale);
  }
  if constexpr (std::is_same_v<Plain, DiagonalBandMask>) f("comparison", op.comparison);
  if constexpr (std::is_same_v<Plain, SdpaBackward>) {
    f("max_total_seqlen_q", op.max_total_seqlen_q);
    f("max_total_seqlen_kv", op.max_total_seqlen_kv);
  }
  if constexpr (requires { op.dropout_probability; }) f("dropout_probability", op.dropout_probability);
  if constexpr (requires { op.compute; }) f("compute", op.compute);
}

}  // namespace attnprobe::graph
