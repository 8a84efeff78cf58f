// The ports and attributes of each operation, listed once: JSON, hash, drawing and lowering all walk these
// lists. A new cuDNN operation is one struct in op_graph.hpp and its three functions here (and its lowering).
#pragma once

#include "attnprobe/graph/op_graph.hpp"

namespace attnprobe::graph {

enum class PortDirection { input, output };

constexpr const char* kind_name(const Matmul&) {
  return "matmul";
}
constexpr const char* kind_name(const Pointwise&) {
  return "pointwise";
}
constexpr const char* kind_name(const Reduction&) {
  return "reduction";
}
constexpr const char* kind_name(const SdpaForward&) {
  return "sdpa_forward";
}

/// Calls f(name, uid, direction) for each port; uid is Uid or std::optional<Uid>, mutable if `op` is.
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
requires std::is_same_v<std::remove_const_t<Op>, SdpaForward>
void for_each_port(Op& op, F&& f) {
  f("q", op.q, PortDirection::input);
  f("k", op.k, PortDirection::input);
  f("v", op.v, PortDirection::input);
  f("scale", op.scale, PortDirection::input);
  f("seq_len_q", op.seq_len_q, PortDirection::input);
  f("seq_len_kv", op.seq_len_kv, PortDirection::input);
  f("o", op.o, PortDirection::output);
  f("stats", op.stats, PortDirection::output);
}

/// Calls f(name, attribute) for each attribute that is no port.
template <class Op, class F>
void for_each_attribute(Op& op, F&& f) {
  using Plain = std::remove_const_t<Op>;
  if constexpr (std::is_same_v<Plain, Pointwise>) {
    f("mode", op.mode);
    f("axis", op.axis);
  }
  if constexpr (std::is_same_v<Plain, Reduction>) f("operator", op.op);
  if constexpr (!std::is_same_v<Plain, SdpaForward>) f("compute", op.compute);
}

}  // namespace attnprobe::graph
