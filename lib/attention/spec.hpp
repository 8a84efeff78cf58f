// AttentionSpec: one attention problem, as a config describes it. Plain data, independent of cuDNN.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attention/layout.hpp"
#include "attention/mask.hpp"
#include "base/data_type.hpp"

namespace attnprobe::attention {

/// The form of the problem's operation graph.
enum class Pattern {
  sdpa,            ///< what cudnn-frontend would build for this cuDNN: composite or unified
  sdpa_composite,  ///< flash attention from primitive operations
  sdpa_unified,    ///< cuDNN's unified SDPA operation
  mha,             ///< the backend documentation's legacy "Fused Attention fprop/bprop" for short sequences
  two_matmul,      ///< O = (Q Kᵀ) V with nothing in between
};
ATTNPROBE_ENUM(Pattern, sdpa, sdpa_composite, sdpa_unified, mha, two_matmul)

/// fprop_train: the forward pass with outputs for the backward pass; bprop: the backward pass itself.
enum class Pass { fprop, fprop_train, bprop };
ATTNPROBE_ENUM(Pass, fprop, fprop_train, bprop)

/// The scale is a host value in the graph, a one-element tensor in device memory, or absent.
enum class ScaleForm { by_value, tensor, none };
ATTNPROBE_ENUM(ScaleForm, tensor, none)

/// Added to the scaled scores.
struct Bias {
  /// One letter for each of {batch, heads_q, seqlen_q, seqlen_kv}: the axis, or 1 if it is broadcast: "1hss".
  std::string shape = "1hss";
  std::optional<DataType> dtype;       ///< none: as dtype
  std::optional<Strides> strides;      ///< 0 on an axis that PyTorch expanded; none: packed
  bool grad = false;                   ///< bprop: dBias is an output
  std::optional<DataType> grad_dtype;  ///< type of dBias; none: the bias's. XLA uses Q's type with an f32 bias
};

/// Pointwise operations on the scores between scale and bias, called a score modifier by cudnn-frontend.
enum class ScoreModifierKind {
  causal,             ///< the causal mask, computed from indices
  arrow,              ///< a band around the diagonal, and the first rows and columns
  document,           ///< only keys of the query's own document: two INT32 id tensors
  relative_position,  ///< adds row - column
  head_factor,        ///< multiplies by a tensor {1, heads_q, 1, 1}
  score_factor,       ///< multiplies by a tensor of the scores' shape, in the io type
  mask_i32,           ///< selects by a mask tensor {batch, 1, seqlen_q, seqlen_kv}
  mask_boolean,       ///< one bit per element
  mask_byte_boolean,
  mask_i8,
  relu,
  tanh,
  sigmoid,
  gelu,
  swish,
  abs,
  sqrt,
  sin,
  exp,
  pow,  ///< with a scalar exponent
  max,  ///< with a scalar
};
ATTNPROBE_ENUM(ScoreModifierKind, causal, arrow, document, relative_position, head_factor, score_factor, mask_i32,
               mask_boolean, mask_byte_boolean, mask_i8, relu, tanh, sigmoid, gelu, swish, abs, sqrt, sin, exp, pow,
               max)
struct ScoreModifier {
  ScoreModifierKind kind = ScoreModifierKind::relu;
  bool grad = true;  ///< bprop: the graph has the modifier's own gradient (masks can omit their gradient)
};

/// philox: cuDNN draws the mask from seed and offset; mask: the caller passes it.
enum class DropoutForm { philox, mask };
ATTNPROBE_ENUM(DropoutForm, philox, mask)
/// Seed and offset: device tensors of that type, host values (i64) as in JAX, or a constant in the graph.
enum class SeedForm { i64, i32, by_value, constant };
ATTNPROBE_ENUM(SeedForm, i64, i32, by_value, constant)
struct Dropout {
  double probability = 0;  ///< probability of being dropped, 0 < p < 1
  DropoutForm form = DropoutForm::philox;
  std::optional<SeedForm> seed;  ///< none: constant for Pattern::mha, else i64
  bool dump = false;             ///< outputs the drawn mask
};

/// K and V are stored in blocks, and a page table locates them.
struct Paged {
  int64_t block_size = 64;      ///< tokens per block
  bool k = true, v = true;      ///< whether K, V or both are paged
  std::string layout = "bhsd";  ///< of the container: b counts blocks, s counts tokens of a block
  bool packed_table = false;    ///< the page table is ragged
};

/// How fp8 values are scaled. With delayed and current, each tensor has one scale, from earlier steps or from this step
/// (O is then 16-bit and unscaled). With mxfp8, every 32 elements have one.
enum class Fp8Scaling { delayed, current, mxfp8 };
ATTNPROBE_ENUM(Fp8Scaling, delayed, current, mxfp8)

/// The sides that something applies to.
enum class Sides { q, kv, both };
ATTNPROBE_ENUM(Sides, q, kv, both)

/// The unit of a ragged offset: elements of its tensor, or tokens, so that one prefix sum of lengths serves every
/// tensor.
enum class RaggedUnit { element, token };
ATTNPROBE_ENUM(RaggedUnit, element, token)

/// Rotary position embedding of Q and K: one operation each before the attention.
struct Rope {
  bool q = true, k = true;
  std::optional<int64_t> dim;  ///< only the last `dim` of the head dimension are rotated; none: all
};

/// Layout of one tensor: axes such as "bshd", or explicit strides. Both are set for ragged axes ("thd") whose strides
/// differ from a padded batch's, as in PyTorch's nested tensors.
struct TensorLayout {
  std::string axes;
  std::optional<Strides> strides;

  /// The tokens of all sequences are back to back, located by ragged offsets ("thd").
  bool ragged() const { return axes.find('t') != std::string::npos; }
  bool operator==(const TensorLayout&) const = default;
};

/// The expected verdict. supported: yes or but; unsupported: cuDNN refuses; any: supported or unsupported, for an open
/// question.
enum class ExpectedVerdict { supported, unsupported, yes, but, no, any };
ATTNPROBE_ENUM(ExpectedVerdict, supported, unsupported, yes, but, no, any)
/// By target id, "b200@9.8" for that cuDNN version, "default@9.8" for any target with it; `otherwise` for all other
/// targets.
struct Expectation {
  bool is_given = false;
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
  std::optional<int64_t> heads_v;  ///< none: heads_kv
  DataType dtype = DataType::f16;
  std::optional<DataType> o_dtype;     ///< none: as dtype
  std::optional<DataType> do_dtype;    ///< bprop, none: as dtype
  std::optional<DataType> dqkv_dtype;  ///< bprop, none: as O
  TensorLayout q{"bshd", {}}, k{"bshd", {}}, v{"bshd", {}};
  std::optional<TensorLayout> o;            ///< none: q's axes, without interleaving
  std::optional<TensorLayout> d_o;          ///< bprop, none: as O
  std::optional<TensorLayout> dq, dk, dv;   ///< bprop, none: as Q, K, V
  DataType ragged_offsets = DataType::i32;  ///< or i64
  bool ragged_stats = true;                 ///< if Q is ragged, so are the statistics
  bool ragged_shared = false;               ///< XLA: Q and O share one tensor of offsets, K and V share another
  std::optional<int64_t> max_total_seqlen_q, max_total_seqlen_kv;  ///< bprop, ragged: tokens of all sequences
  RaggedUnit ragged_unit = RaggedUnit::element;
  std::optional<Sides> cu_seqlens;  ///< lengths as prefix sums {batch + 1}; none: one per batch entry, {batch}
  std::optional<double> scale;      ///< none: 1/sqrt(head_dim_qk); Pattern::two_matmul has no scale
  ScaleForm scale_form = ScaleForm::by_value;
  Mask mask;
  std::optional<Bias> bias;
  bool alibi = false;
  std::optional<double> softcap;
  std::optional<ScoreModifier> score_mod;
  bool sink = false;        ///< one logit per head joins the softmax; bprop: its gradient is an output
  bool block_mask = false;  ///< one bit per 128x128 tile of scores
  std::optional<Rope> rope;
  std::optional<Dropout> dropout;
  std::optional<bool> stats;                 ///< outputs the softmax statistics; none: true for Pass::fprop_train
  std::optional<TensorLayout> stats_layout;  ///< of {b, h, s, 1}; none: bhsd, or by token if ragged
  std::optional<DataType> stats_dtype;       ///< none: f32
  bool stats_log2 = false;                   ///< statistics to base 2
  bool max_logit = false, sum_exp = false;   ///< outputs row maxima and row sums of exponentials
  bool deterministic = false;                ///< bprop
  bool ordered_dq = false;                   ///< bprop, deterministic: dQ is summed in f32 memory in a fixed order
  std::optional<Paged> paged;
  std::optional<Fp8Scaling> fp8;                         ///< false only for Pattern::mha: O = g4(Q Kᵀ) V, without
                                                         ///< softmax
  bool softmax = true;                                   ///< false only for Pattern::mha: O = g4(Q Kᵀ) V without
                                                         ///< softmax
  DataType compute_dtype = DataType::f32;                ///< of the unified operation's sums
  bool unfuse_fma = false;                               ///< the softmax multiplies and adds separately
  bool dynamic_shapes = false, override_shapes = false;  ///< extents may change when the plan runs
  std::optional<std::string> frontend;                   ///< release of cudnn-frontend, "1.32"; none: the newest known
};

/// The effective value if the spec leaves the choice open.
DataType output_type(const AttentionSpec& spec);
DataType d_output_type(const AttentionSpec& spec);
DataType gradient_type(const AttentionSpec& spec);
DataType bias_gradient_type(const AttentionSpec& spec);  ///< Precondition: the spec has a bias
int64_t heads_v(const AttentionSpec& spec);
bool is_fp8(const AttentionSpec& spec);
/// Precondition: is_fp8(spec).
Fp8Scaling fp8_scaling(const AttentionSpec& spec);
/// Precondition: the spec has dropout.
SeedForm seed_form(const AttentionSpec& spec);
/// Whether any of Q, K, V, O is ragged.
bool is_ragged(const AttentionSpec& spec);
bool is_bprop(const AttentionSpec& spec);
TensorLayout output_layout(const AttentionSpec& spec);
double scale_of(const AttentionSpec& spec);
bool wants_stats(const AttentionSpec& spec);

/// Strides in elements, logical order {batch, heads, seqlen, head_dim}. Precondition: the spec is valid.
Strides q_strides(const AttentionSpec& spec);
Strides k_strides(const AttentionSpec& spec);
Strides v_strides(const AttentionSpec& spec);
Strides o_strides(const AttentionSpec& spec);
/// Strides of the softmax statistics {b, h, s, 1}.
Strides stats_strides(const AttentionSpec& spec);
bool has_ragged_stats(const AttentionSpec& spec);
/// bprop: strides of the gradients.
Strides d_o_strides(const AttentionSpec& spec);
Strides dq_strides(const AttentionSpec& spec);
Strides dk_strides(const AttentionSpec& spec);
Strides dv_strides(const AttentionSpec& spec);

/// {batch, heads_q, seqlen_q, seqlen_kv}, with 1 for a broadcast axis.
std::array<int64_t, 4> bias_dims(const AttentionSpec& spec);

/// A one-line description: "sdpa fprop b4 h12 s512 d64 f16 padding".
std::string describe(const AttentionSpec& spec);

}  // namespace attnprobe::attention
