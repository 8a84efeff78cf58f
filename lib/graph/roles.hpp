// The role of a tensor in attention. Builders set it, imports infer it, and lib/run fills the tensor accordingly.
#pragma once

#include "base/enum_names.hpp"

// Roles and their display names. "transposed": {b, h, d, s} in the memory of {b, h, s, d}.
// clang-format off
#define ATTNPROBE_ROLES(X)                                                                                    \
  X(none, "")                                                                                                 \
  X(q, "Q") X(k, "K") X(v, "V") X(k_transposed, "K^T") X(v_transposed, "V^T")                                 \
  X(k_container, "K container") X(v_container, "V container")                                                 \
  X(page_table_k, "page table of K") X(page_table_v, "page table of V")                                       \
  X(o, "O") X(stats, "Stats") X(max, "Max") X(sum_exp, "Sum_exp") X(row_max, "row_max") X(row_sum, "row_sum") \
  X(d_o, "dO") X(dq, "dQ") X(dk, "dK") X(dv, "dV")                                                            \
  /* scratch memory of backward graphs */                                                                     \
  X(dq_sum, "dQ sum") X(softmax_sum, "softmax_sum") X(all_heads, "all heads")                                 \
  /* lengths, and offsets of ragged tensors */                                                                \
  X(seq_len_q, "seq_len_q") X(seq_len_kv, "seq_len_kv")                                                       \
  X(cu_seq_len_q, "cu_seq_len_q") X(cu_seq_len_kv, "cu_seq_len_kv")                                           \
  X(offsets_q, "offsets of Q") X(offsets_k, "offsets of K") X(offsets_v, "offsets of V")                      \
  X(offsets_o, "offsets of O") X(offsets_stats, "offsets of Stats")                                           \
  X(offsets_d_o, "offsets of dO") X(offsets_dq, "offsets of dQ") X(offsets_dk, "offsets of dK")               \
  X(offsets_dv, "offsets of dV")                                                                              \
  X(offsets_page_table_k, "offsets of page table of K") X(offsets_page_table_v, "offsets of page table of V") \
  X(angles_q, "angles of Q") X(angles_k, "angles of K")                                                       \
  /* applied to the scores */                                                                                 \
  X(scale, "scale") X(bias, "bias") X(d_bias, "dBias") X(sink, "sink") X(d_sink, "dSink")                     \
  X(alibi_slopes, "ALiBi slopes") X(block_mask, "block mask") X(mask, "mask")                                  \
  X(head_factors, "head factors") X(score_factors, "score factors")                                           \
  X(documents_q, "documents of Q") X(documents_kv, "documents of K")                                           \
  X(scores, "S") X(scores_in, "scores in") X(probabilities, "P") X(d_probabilities, "dP") X(d_scores, "dS")   \
  X(stored_scores, "S output") X(softmax_in, "softmax in") X(softmax_out, "softmax out")                      \
  /* dropout */                                                                                               \
  X(seed, "seed") X(offset, "offset") X(dropout_mask, "dropout mask") X(dropout_scale, "dropout scale")       \
  X(dropout_scale_inverse, "dropout scale inverse")                                                           \
  /* fp8, one scale per tensor */                                                                             \
  X(descale_q, "descale Q") X(descale_k, "descale K") X(descale_v, "descale V") X(descale_o, "descale O")     \
  X(descale_d_o, "descale dO") X(descale_s, "descale S") X(descale_dp, "descale dP")                          \
  X(scale_s, "scale S") X(scale_o, "scale O") X(scale_dp, "scale dP")                                         \
  X(scale_dq, "scale dQ") X(scale_dk, "scale dK") X(scale_dv, "scale dV")                                     \
  X(amax_s, "amax S") X(amax_o, "amax O") X(amax_dp, "amax dP")                                               \
  X(amax_dq, "amax dQ") X(amax_dk, "amax dK") X(amax_dv, "amax dV")                                           \
  /* MXFP8: the same tensors quantised along the sequence, and dO unchanged */                                \
  X(q_by_sequence, "Q by sequence") X(k_by_sequence, "K by sequence") X(d_o_by_sequence, "dO by sequence")    \
  X(d_o_16_bit, "dO in 16 bits") X(descale_q_by_sequence, "descale Q by sequence")                            \
  X(descale_k_by_sequence, "descale K by sequence") X(descale_d_o_by_sequence, "descale dO by sequence")
// clang-format on

namespace attnprobe::graph {

#define ATTNPROBE_ROLE(role, name) role,
enum class Role { ATTNPROBE_ROLES(ATTNPROBE_ROLE) };
#undef ATTNPROBE_ROLE

inline constexpr std::string_view role_names[] = {
#define ATTNPROBE_ROLE(role, name) name,
    ATTNPROBE_ROLES(ATTNPROBE_ROLE)
#undef ATTNPROBE_ROLE
};

/// The builders' name for a tensor of that role: "K^T"; "" if there is none.
constexpr std::string_view display_name(Role role) {
  return role_names[static_cast<size_t>(role)];
}

/// The inverse, for graphs that have only names (JSON from other programs); none if no role has the name.
constexpr Role role_of_name(std::string_view name) {
  for (size_t i = 0; i < std::size(role_names); ++i)
    if (role_names[i] == name) return static_cast<Role>(i);
  return Role::none;
}

}  // namespace attnprobe::graph

namespace attnprobe {

template <>
struct EnumNames<graph::Role> {
#define ATTNPROBE_ROLE(role, name) {graph::Role::role, #role},
  static constexpr std::array<std::pair<graph::Role, std::string_view>, std::size(graph::role_names)> table{
      {ATTNPROBE_ROLES(ATTNPROBE_ROLE)}};
#undef ATTNPROBE_ROLE
};

}  // namespace attnprobe
