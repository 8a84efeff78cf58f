// AttentionSpec: one attention problem, as a config asks for it. Plain data; nothing of cuDNN.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnprobe/attention/data_type.hpp"
#include "attnprobe/attention/layout.hpp"

namespace attnprobe::attention {

/// Which operation graph the problem becomes.
enum class Pattern {
  sdpa,            ///< what cudnn-frontend would build for this cuDNN: composite or unified
  sdpa_composite,  ///< flash attention from primitive operations
  sdpa_unified,    ///< cuDNN's single SDPA operation
  mha,             ///< legacy small-sequence "Fused Attention fprop" of the backend documentation
  two_matmul,      ///< O = (Q Kᵀ) V with nothing between
};

enum class Pass { fprop, fprop_train };

enum class Alignment { top_left, bottom_right };

/// Which scores count. A query at row r sees the keys c with diagonal(r) - window_left <= c <= diagonal(r) +
/// window_right, as flash-attention and Transformer Engine count windows: causal is window_right = 0, and a
/// sliding window of W tokens is window_left = W - 1.
struct Mask {
  std::optional<int64_t> window_left, window_right;
  Alignment alignment = Alignment::top_left;  ///< diagonal(r) = r, or r + seqlen_kv - seqlen_q
  bool padding = false;                       ///< sequence lengths vary, given per batch entry at run time
  std::vector<int64_t> seqlens_q,
      seqlens_kv;  ///< those lengths; empty: none given (they matter only to running)

  bool has_diagonal() const { return window_left || window_right; }
};

/// Layout of one tensor: axes such as "bshd", or strides that were spelt out.
struct TensorLayout {
  std::string axes;
  std::optional<Strides> strides;
};

/// The verdict that a config expects, by target id; `otherwise` for targets not named.
enum class ExpectedVerdict { supported, unsupported };
struct Expectation {
  ExpectedVerdict otherwise = ExpectedVerdict::supported;
  std::map<std::string, ExpectedVerdict> by_target;
};

struct AttentionSpec {
  std::string name;
  std::string source;  ///< free text: where the numbers come from
  Expectation expect;
  Pattern pattern = Pattern::sdpa;
  Pass pass = Pass::fprop;
  int64_t batch = 1, heads_q = 0, heads_kv = 0, seqlen_q = 0, seqlen_kv = 0, head_dim_qk = 0, head_dim_v = 0;
  DataType dtype = DataType::f16;
  std::optional<DataType> o_dtype;  ///< none: as dtype
  TensorLayout q{"bshd", {}}, k{"bshd", {}}, v{"bshd", {}};
  std::optional<TensorLayout> o;  ///< none: q's axes, without interleaving
  std::optional<double> scale;    ///< none: 1/sqrt(head_dim_qk), or no scale at all for Pattern::two_matmul
  Mask mask;
  std::optional<bool> stats;  ///< softmax statistics as an output; none: true for Pass::fprop_train
};

/// The values that hold where the spec leaves a choice.
DataType output_type(const AttentionSpec& spec);
TensorLayout output_layout(const AttentionSpec& spec);
double scale_of(const AttentionSpec& spec);
bool wants_stats(const AttentionSpec& spec);

/// Strides in elements, logical order {batch, heads, seqlen, head_dim}. Precondition: the spec is valid.
Strides q_strides(const AttentionSpec& spec);
Strides k_strides(const AttentionSpec& spec);
Strides v_strides(const AttentionSpec& spec);
Strides o_strides(const AttentionSpec& spec);

/// One line for people: "sdpa fprop b4 h12 s512 d64 f16 padding".
std::string describe(const AttentionSpec& spec);

/// A mask by its name in configs, if it has one ("causal", "padding_causal", …).
std::optional<std::string> mask_name(const Mask& mask);

/// The named masks.
const std::vector<std::pair<std::string, Mask>>& named_masks();

}  // namespace attnprobe::attention

namespace attnprobe {

template <>
struct EnumNames<attention::Pattern> {
  static constexpr std::array<std::pair<attention::Pattern, std::string_view>, 5> table{{
      {attention::Pattern::sdpa, "sdpa"},
      {attention::Pattern::sdpa_composite, "sdpa_composite"},
      {attention::Pattern::sdpa_unified, "sdpa_unified"},
      {attention::Pattern::mha, "mha"},
      {attention::Pattern::two_matmul, "two_matmul"},
  }};
};

template <>
struct EnumNames<attention::Pass> {
  static constexpr std::array<std::pair<attention::Pass, std::string_view>, 2> table{{
      {attention::Pass::fprop, "fprop"},
      {attention::Pass::fprop_train, "fprop_train"},
  }};
};

template <>
struct EnumNames<attention::Alignment> {
  static constexpr std::array<std::pair<attention::Alignment, std::string_view>, 2> table{{
      {attention::Alignment::top_left, "top_left"},
      {attention::Alignment::bottom_right, "bottom_right"},
  }};
};

template <>
struct EnumNames<attention::ExpectedVerdict> {
  static constexpr std::array<std::pair<attention::ExpectedVerdict, std::string_view>, 2> table{{
      {attention::ExpectedVerdict::supported, "supported"},
      {attention::ExpectedVerdict::unsupported, "unsupported"},
  }};
};

}  // namespace attnprobe
