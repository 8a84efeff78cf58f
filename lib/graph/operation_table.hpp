// The table of operations. For each port and attribute it has the member, its name, cuDNN's attribute, and its place
// in logs and JSON. JSON, hash, drawing, lowering, and the imports of cuDNN's logs and JSON use it.
//
// A new attribute needs a member in op_graph.hpp and a row here; a new operation needs a struct, a row in
// ATTNPROBE_OPERATIONS and its rows. This file needs no cuDNN header: lib/cudnn checks every number of a ROW against
// cudnn_graph.h at compile time.
#pragma once

#include <string_view>
#include <tuple>

#include "base/version.hpp"
#include "graph/op_graph.hpp"

// clang-format off
// The operations: struct, our name, cuDNN's name, descriptor number (cudnnBackendDescriptorType_t). Some operations
// have a second descriptor for the computation: its name and number, and the attribute that holds it. OPERATION,
// COMPUTED: in the cuDNN header that attnprobe is built with. LATER: the header may be too old (9.19 lacks them).
#define ATTNPROBE_OPERATIONS(OPERATION, COMPUTED, LATER) \
  COMPUTED (Matmul, "matmul", MATMUL, 19, MATMUL, 18, OPERATION_MATMUL_DESC, 1523) \
  COMPUTED (Pointwise, "pointwise", POINTWISE, 13, POINTWISE, 0, OPERATION_POINTWISE_PW_DESCRIPTOR, 750) \
  COMPUTED (Reduction, "reduction", REDUCTION, 22, REDUCTION, 21, OPERATION_REDUCTION_DESC, 1612) \
  OPERATION(Reshape, "reshape", RESHAPE, 31) \
  COMPUTED (Rng, "rng", RNG, 33, RNG, 32, OPERATION_RNG_DESC, 2312) \
  OPERATION(PagedCacheLoad, "paged_cache_load", PAGED_CACHE_LOAD, 35) \
  OPERATION(BlockScaleDequantize, "block_scale_dequantize", BLOCK_SCALE_DEQUANTIZE, 37) \
  LATER    (DiagonalBandMask, "diagonal_band_mask", DIAGONAL_BAND_MASK, 44) \
  LATER    (Softmax, "softmax", SOFTMAX, 45) \
  OPERATION(SdpaForward, "sdpa_forward", SDPA_FWD, 41) \
  OPERATION(SdpaBackward, "sdpa_backward", SDPA_BWD, 43) \
  LATER    (Rope, "rope", ROPE_FWD, 49)

// Rows, in the order in which cuDNN receives them (an older cuDNN's message names the first that it refuses). Columns:
//   member, which is also the name in our JSON; kind (RowIs); cuDNN's attribute without CUDNN_ATTR_, and its number
//   (cudnnBackendAttributeName_t); path in a tree of cuDNN's log ("": only the calls that set it show it; by_code:
//   log_import.cpp handles it); key in cuDNN's JSON ("|" separates the names of older versions); the first cuDNN that
//   accepts it, according to cudnn-frontend 1.32 (0: every cuDNN 9).
// ROW: the cuDNN header has the attribute. LATER: the header may be too old. INNER: a port of the inner softmax, with
// the attributes of Softmax. Log keys are those of cuDNN 9.0 to 9.28, JSON keys those of 9.19 to 9.28. Numbers that
// 9.19 lacks come from the cuDNN 9.28 header.

#define ATTNPROBE_ROWS_Matmul(ROW, LATER, INNER) \
  ROW(compute,    math,   MATMUL_COMP_TYPE,                      1500, "matmulDesc/mathPrec", "mathPrec",  0) \
  ROW(a,          input,  OPERATION_MATMUL_ADESC,                1520, "aDesc",               "matA",      0) \
  ROW(b,          input,  OPERATION_MATMUL_BDESC,                1521, "bDesc",               "matB",      0) \
  ROW(c,          output, OPERATION_MATMUL_CDESC,                1522, "cDesc",               "matC",      0) \
  ROW(m_override, input,  OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, 1525, "",                    "mOverride", 0) \
  ROW(n_override, input,  OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, 1526, "",                    "nOverride", 0) \
  ROW(k_override, input,  OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, 1527, "",                    "kOverride", 0)

#define ATTNPROBE_ROWS_Pointwise(ROW, LATER, INNER) \
  ROW(mode,    math,   POINTWISE_MODE,             0,   "pwDesc/mode",     "pointwiseMode", 0) \
  ROW(axis,    math,   POINTWISE_AXIS,             9,   "",                "axis",          0) \
  ROW(x,       input,  OPERATION_POINTWISE_XDESC,  751, "xDesc",           "X",             0) \
  ROW(b,       input,  OPERATION_POINTWISE_BDESC,  752, "bDesc",           "B",             0) \
  ROW(t,       input,  OPERATION_POINTWISE_TDESC,  758, "tDesc",           "T",             0) \
  ROW(y,       output, OPERATION_POINTWISE_YDESC,  753, "yDesc",           "Y",             0) \
  ROW(dy,      input,  OPERATION_POINTWISE_DYDESC, 757, "dyDesc",          "dY",            0) \
  ROW(dx,      output, OPERATION_POINTWISE_DXDESC, 756, "dxDesc",          "dX",            0) \
  ROW(alpha1,  value,  OPERATION_POINTWISE_ALPHA1, 754, "alpha1",          "alpha1",        0) \
  ROW(alpha2,  value,  OPERATION_POINTWISE_ALPHA2, 755, "alpha2",          "alpha2",        0) \
  ROW(compute, math,   POINTWISE_MATH_PREC,        1,   "pwDesc/mathPrec", "mathPrec",      0)

#define ATTNPROBE_ROWS_Reduction(ROW, LATER, INNER) \
  ROW(op,      math,   REDUCTION_OPERATOR,        1600, "reduceDesc/reduceOp", "reductionOp", 0) \
  ROW(compute, math,   REDUCTION_COMP_TYPE,       1601, "reduceDesc/mathPrec", "mathPrec",    0) \
  ROW(x,       input,  OPERATION_REDUCTION_XDESC, 1610, "xDesc",               "X",           0) \
  ROW(y,       output, OPERATION_REDUCTION_YDESC, 1611, "yDesc",               "Y",           0)

#define ATTNPROBE_ROWS_Reshape(ROW, LATER, INNER) \
  ROW(x, input,  OPERATION_RESHAPE_XDESC, 2200, "inputDesc",  "X", 0) \
  ROW(y, output, OPERATION_RESHAPE_YDESC, 2201, "outputDesc", "Y", 0)

// The seed is a tensor or a constant, under the same attribute.
#define ATTNPROBE_ROWS_Rng(ROW, LATER, INNER) \
  ROW(distribution,  math,   RNG_DISTRIBUTION,               2300, by_code, "distribution",               0) \
  ROW(probability,   math,   RNG_BERNOULLI_DIST_PROBABILITY, 2305, by_code, "bernoulli_dist_probability", 0) \
  ROW(constant_seed, value,  OPERATION_RNG_SEED,             2311, by_code, "seed",                       0) \
  ROW(seed,          input,  OPERATION_RNG_SEED,             2311, "",      "seedTensor",                 0) \
  ROW(offset,        input,  OPERATION_RNG_OFFSET_DESC,      2313, "",      "offset",                     0) \
  ROW(y,             output, OPERATION_RNG_YDESC,            2310, "yDesc", "Y|yDesc",                    0)

#define ATTNPROBE_ROWS_PagedCacheLoad(ROW, LATER, INNER) \
  ROW(container,  input,  OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC,  1950, "#0", "container", 90500) \
  ROW(page_table, input,  OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC, 1953, "#2", "pageTable", 90500) \
  ROW(sequence,   input,  OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC,   1952, "#1", "sequence",  90500) \
  ROW(y,          output, OPERATION_PAGED_CACHE_LOAD_YDESC,           1951, "#3", "Y",         90500)

// Negative scales: cudnn-frontend 1.32, block_scale_dequantize.h.
#define ATTNPROBE_ROWS_BlockScaleDequantize(ROW, LATER, INNER) \
  ROW(x,              input,  OPERATION_BLOCK_SCALE_DEQUANTIZE_XDESC,      2600, "xDesc",     "X",            90700) \
  ROW(scale,          input,  OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC, 2601, "scaleDesc", "scale",        90700) \
  ROW(y,              output, OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC,      2602, "yDesc",     "Y",            90700) \
  ROW(block_size,     value,  OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE, 2604, by_code,     "block_size",   90700) \
  ROW(negative_scale, value,  OPERATION_BLOCK_SCALE_DEQUANTIZE_NEG_SCALE,  2605, by_code,     "is_neg_scale", 91400) \
  ROW(compute,        value,  OPERATION_BLOCK_SCALE_DEQUANTIZE_MATH_PREC,  2603, "prec",      "mathPrec",     90700)

#define ATTNPROBE_ROWS_DiagonalBandMask(ROW, LATER, INNER) \
  LATER(x,                 input,  OPERATION_DIAGONAL_BAND_MASK_XDESC,                  3000, "xDesc",               "X",                   92100) \
  LATER(fill,              input,  OPERATION_DIAGONAL_BAND_MASK_BDESC,                  3005, "bDesc",               "B",                   92100) \
  LATER(seq_len_q,         input,  OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_QDESC,          3002, "seqLenQDesc",         "seqLenQDesc",         92100) \
  LATER(seq_len_kv,        input,  OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC,         3001, "seqLenKVDesc",        "seqLenKVDesc",        92100) \
  LATER(left_bound,        input,  OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC,        3003, "leftBoundDesc",       "leftBoundDesc",       92100) \
  LATER(shift_right_bound, input,  OPERATION_DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC, 3004, "shiftRightBoundDesc", "shiftRightBoundDesc", 92100) \
  LATER(cu_seq_len_q,      input,  OPERATION_DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC,       3009, "cuSeqLenQDesc",       "cuSeqLenQDesc",       92400) \
  LATER(cu_seq_len_kv,     input,  OPERATION_DIAGONAL_BAND_MASK_CU_SEQ_LEN_KVDESC,      3008, "cuSeqLenKVDesc",      "cuSeqLenKVDesc",      92400) \
  LATER(y,                 output, OPERATION_DIAGONAL_BAND_MASK_YDESC,                  3006, "yDesc",               "Y",                   92100) \
  LATER(comparison,        value,  OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE,        3007, "comparison_mode",     "comparisonMode",      92100)

#define ATTNPROBE_ROWS_Softmax(ROW, LATER, INNER) \
  LATER(x,       input,  OPERATION_SOFTMAX_XDESC,        3100, "xDesc",      "X",          92100) \
  LATER(y,       output, OPERATION_SOFTMAX_YDESC,        3101, "yDesc",      "Y",          92100) \
  LATER(sink,    input,  OPERATION_SOFTMAX_SINK_DESC,    3105, "sinkDesc",   "sinkDesc",   92100) \
  LATER(stats,   output, OPERATION_SOFTMAX_STATS_DESC,   3102, "statsDesc",  "statsDesc",  92100) \
  LATER(max,     output, OPERATION_SOFTMAX_MAX_DESC,     3103, "maxDesc",    "maxDesc",    92100) \
  LATER(sum_exp, output, OPERATION_SOFTMAX_SUM_EXP_DESC, 3104, "sumExpDesc", "sumExpDesc", 92100) \
  LATER(stats_log2, value, OPERATION_SOFTMAX_STATS_LOG2, 3106, by_code,      "statsLog2",  92700)

#define ATTNPROBE_ROWS_Rope(ROW, LATER, INNER) \
  LATER(x,      input,     OPERATION_ROPE_FWD_XDESC,        3400, "#0",    "X",            92400) \
  LATER(angles, input,     OPERATION_ROPE_FWD_FREQSDESC,    3402, "#2",    "freqs",        92400) \
  LATER(y,      output,    OPERATION_ROPE_FWD_YDESC,        3401, "#1",    "Y",            92400) \
  LATER(scale,  f32_value, OPERATION_ROPE_FWD_OUTPUT_SCALE, 3403, by_code, "output_scale", 92400) \
  LATER(dim,    value,     OPERATION_ROPE_FWD_ROPE_DIM,     3404, by_code, "rope_dim",     92400)

// Scores passed to the sub-graph count as the operation's output; scores returned from it count as an input.
#define ATTNPROBE_ROWS_SdpaForward(ROW, LATER, INNER) \
  ROW  (q,                   input,      OPERATION_SDPA_FWD_QDESC,                 2800, "qDesc",              "Q",                  91301) \
  ROW  (k,                   input,      OPERATION_SDPA_FWD_KDESC,                 2801, "kDesc",              "K",                  91301) \
  ROW  (v,                   input,      OPERATION_SDPA_FWD_VDESC,                 2802, "vDesc",              "V",                  91301) \
  ROW  (o,                   output,     OPERATION_SDPA_FWD_ODESC,                 2803, "oDesc",              "O",                  91301) \
  ROW  (scale,               input,      OPERATION_SDPA_FWD_SCALEDESC,             2805, "scaleDesc",          "scale",              91301) \
  ROW  (stats,               output,     OPERATION_SDPA_FWD_STATSDESC,             2804, "statsDesc",          "stats",              91301) \
  INNER(max,                 output) \
  INNER(sum_exp,             output) \
  ROW  (seq_len_q,           input,      OPERATION_SDPA_FWD_SEQ_LEN_QDESC,         2809, "seqLenQDesc",        "seqLenQ",            91500) \
  ROW  (seq_len_kv,          input,      OPERATION_SDPA_FWD_SEQ_LEN_KVDESC,        2810, "seqLenKVDesc",       "seqLenKV",           91500) \
  ROW  (block_mask,          input,      OPERATION_SDPA_FWD_BLOCK_MASK_DESC,       2806, "blockMaskDesc",      "blockMask",          91400) \
  ROW  (page_table_k,        input,      OPERATION_SDPA_FWD_PAGE_TABLE_KDESC,      2807, "pageTableKDesc",     "pageTableK",         91500) \
  ROW  (page_table_v,        input,      OPERATION_SDPA_FWD_PAGE_TABLE_VDESC,      2808, "pageTableVDesc",     "pageTableV",         91500) \
  LATER(score_input,         output_uid, OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID,    2812, by_code,              "subgraphInputUid",   92100) \
  LATER(score_output,        input_uid,  OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID,   2813, by_code,              "subgraphOutputUid",  92100) \
  LATER(cu_seq_len_q,        input,      OPERATION_SDPA_FWD_CU_SEQ_LEN_QDESC,      2820, "cuSeqLenQDesc",      "cuSeqLenQ",          92400) \
  LATER(cu_seq_len_kv,       input,      OPERATION_SDPA_FWD_CU_SEQ_LEN_KVDESC,     2821, "cuSeqLenKVDesc",     "cuSeqLenKV",         92400) \
  LATER(descale_q,           input,      OPERATION_SDPA_FWD_DESCALE_QDESC,         2822, "descaleQDesc",       "descaleQ",           92500) \
  LATER(descale_k,           input,      OPERATION_SDPA_FWD_DESCALE_KDESC,         2823, "descaleKDesc",       "descaleK",           92500) \
  LATER(descale_v,           input,      OPERATION_SDPA_FWD_DESCALE_VDESC,         2824, "descaleVDesc",       "descaleV",           92500) \
  LATER(descale_s,           input,      OPERATION_SDPA_FWD_DESCALE_SDESC,         2825, "descaleSDesc",       "descaleS",           92500) \
  LATER(scale_s,             input,      OPERATION_SDPA_FWD_SCALE_SDESC,           2826, "scaleSDesc",         "scaleS",             92500) \
  LATER(scale_o,             input,      OPERATION_SDPA_FWD_SCALE_ODESC,           2827, "scaleODesc",         "scaleO",             92500) \
  LATER(amax_s,              output,     OPERATION_SDPA_FWD_AMAX_SDESC,            2828, "amaxSDesc",          "amaxS",              92500) \
  LATER(amax_o,              output,     OPERATION_SDPA_FWD_AMAX_ODESC,            2829, "amaxODesc",          "amaxO",              92500) \
  LATER(unfuse_fma,          value,      OPERATION_SDPA_FWD_UNFUSE_FMA,            2819, by_code,              "unfuseFma",          92100) \
  INNER(stats_log2,          value) \
  INNER(sink,                input) \
  LATER(dropout_probability, f32_value,  OPERATION_SDPA_FWD_DROPOUT_PROBABILITY,   2818, by_code,              "dropoutProbability", 92100) \
  LATER(seed,                input,      OPERATION_SDPA_FWD_DROPOUT_SEED_DESC,     2815, "dropoutSeedDesc",    "dropoutSeed",        92100) \
  LATER(offset,              input,      OPERATION_SDPA_FWD_DROPOUT_OFFSET_DESC,   2816, "dropoutOffsetDesc",  "dropoutOffset",      92100) \
  LATER(rng_dump,            output,     OPERATION_SDPA_FWD_DROPOUT_RNG_DUMP_DESC, 2817, "dropoutRngDumpDesc", "dropoutRngDump",     92100) \
  INNER(softmax_x,           input) \
  INNER(softmax_y,           output)

// Logs up to cuDNN 9.28 have no such operation, because cuDNN refuses it first, so the JSON keys are the forward
// operation's. The first version of each attribute is not documented: some are in the header of 9.19, the others came
// later.
#define ATTNPROBE_ROWS_SdpaBackward(ROW, LATER, INNER) \
  ROW  (q,                   input,      OPERATION_SDPA_BWD_QDESC,                2851, "",      "Q",                  91900) \
  ROW  (k,                   input,      OPERATION_SDPA_BWD_KDESC,                2852, "",      "K",                  91900) \
  ROW  (v,                   input,      OPERATION_SDPA_BWD_VDESC,                2853, "",      "V",                  91900) \
  ROW  (o,                   input,      OPERATION_SDPA_BWD_ODESC,                2854, "",      "O",                  91900) \
  ROW  (d_o,                 input,      OPERATION_SDPA_BWD_DODDESC,              2862, "",      "dO",                 91900) \
  ROW  (stats,               input,      OPERATION_SDPA_BWD_STATSDESC,            2855, "",      "stats",              91900) \
  ROW  (scale,               input,      OPERATION_SDPA_BWD_SCALEDESC,            2856, "",      "scale",              91900) \
  ROW  (seq_len_q,           input,      OPERATION_SDPA_BWD_SEQ_LEN_QDESC,        2857, "",      "seqLenQ",            91900) \
  ROW  (seq_len_kv,          input,      OPERATION_SDPA_BWD_SEQ_LEN_KVDESC,       2858, "",      "seqLenKV",           91900) \
  ROW  (dq,                  output,     OPERATION_SDPA_BWD_DQDESC,               2859, "",      "dQ",                 91900) \
  ROW  (dk,                  output,     OPERATION_SDPA_BWD_DKDESC,               2860, "",      "dK",                 91900) \
  ROW  (dv,                  output,     OPERATION_SDPA_BWD_DVDESC,               2861, "",      "dV",                 91900) \
  LATER(sink,                input,      OPERATION_SDPA_BWD_SINK_DESC,            2863, "",      "sink",               91901) \
  LATER(d_sink,              output,     OPERATION_SDPA_BWD_DSINK_DESC,           2864, "",      "dSink",              91901) \
  LATER(d_bias,              output,     OPERATION_SDPA_BWD_DBIAS_DESC,           2875, "",      "dBias",              91901) \
  LATER(max_total_seqlen_q,  value,      OPERATION_SDPA_BWD_MAX_TOTAL_SEQ_LEN_Q,  2865, "",      "maxTotalSeqLenQ",    91901) \
  LATER(max_total_seqlen_kv, value,      OPERATION_SDPA_BWD_MAX_TOTAL_SEQ_LEN_KV, 2866, "",      "maxTotalSeqLenKV",   91901) \
  LATER(score_input,         output_uid, OPERATION_SDPA_BWD_SUBGRAPH_INPUT_UID,   2868, by_code, "subgraphInputUid",   91901) \
  LATER(score_output,        input_uid,  OPERATION_SDPA_BWD_SUBGRAPH_OUTPUT_UID,  2869, by_code, "subgraphOutputUid",  91901) \
  LATER(dropout_probability, f32_value,  OPERATION_SDPA_BWD_DROPOUT_PROBABILITY,  2874, by_code, "dropoutProbability", 91901) \
  LATER(seed,                input,      OPERATION_SDPA_BWD_DROPOUT_SEED_DESC,    2872, "",      "dropoutSeed",        91901) \
  LATER(offset,              input,      OPERATION_SDPA_BWD_DROPOUT_OFFSET_DESC,  2873, "",      "dropoutOffset",      91901) \
  LATER(cu_seq_len_q,        input,      OPERATION_SDPA_BWD_CU_SEQ_LEN_QDESC,     2870, "",      "cuSeqLenQ",          92800) \
  LATER(cu_seq_len_kv,       input,      OPERATION_SDPA_BWD_CU_SEQ_LEN_KVDESC,    2871, "",      "cuSeqLenKV",         92800)
// clang-format on

namespace attnprobe::graph {

enum class RowIs {
  input,
  output,      ///< ports: cuDNN expects the tensor's descriptor
  input_uid,   ///< from the scores' sub-graph back into the operation: cuDNN expects the tensor's uid
  output_uid,  ///< from the operation to its scores' sub-graph: also the uid
  value,       ///< an attribute of the operation
  f32_value,   ///< a double that cuDNN expects as a float
  math         ///< an attribute of the operation's separate computation descriptor
};

/// A cuDNN number and name: of a descriptor type or an attribute.
struct CudnnName {
  int number;
  const char* name;
};

inline constexpr CudnnName no_cudnn_name{-1, ""};

/// The value of OperationRow::log for a port that importers/cudnn_log handles in code.
inline constexpr std::string_view by_code = "by code";

template <RowIs is_what, class Op, class Value>
struct OperationRow {
  static constexpr RowIs is = is_what;
  static constexpr bool is_input = is == RowIs::input || is == RowIs::input_uid;
  static constexpr bool is_output = is == RowIs::output || is == RowIs::output_uid;
  static constexpr bool is_port = is_input || is_output;

  Value Op::*member;
  const char* name;       ///< in attnprobe's JSON
  CudnnName attribute;    ///< no_cudnn_name: belongs to the inner softmax
  std::string_view log;   ///< path in the trees of cuDNN's log: "aDesc", "#0"; "": in no tree
  std::string_view json;  ///< keys in cuDNN's JSON, newest first: "Y|yDesc"
  CudnnVersion since;     ///< the first cuDNN that has it: 92100
};

/// cuDNN's "operator" is a C++ keyword.
constexpr const char* name_of_member(const char* member) {
  return std::string_view(member) == "op" ? "operator" : member;
}

template <class Op>
struct OperationTable;

// clang-format off
#define ATTNPROBE_ROW(member, is, attribute, number, log, json, since) \
  OperationRow<RowIs::is, Op, decltype(Op::member)>{                   \
      &Op::member, name_of_member(#member), {number, "CUDNN_ATTR_" #attribute}, log, json, since},
#define ATTNPROBE_INNER(member, is) \
  OperationRow<RowIs::is, Op, decltype(Op::member)>{&Op::member, #member, no_cudnn_name, "", "", 92100},
#define ATTNPROBE_COMPUTED(Kind, our_name, suffix, number, math_suffix, math_number, attribute, attribute_number)     \
  template <>                                                                                                         \
  struct OperationTable<Kind> {                                                                                       \
    using Op = Kind;                                                                                                  \
    static constexpr const char* name = our_name;                                                                     \
    static constexpr const char* cudnn_name = #suffix;                                                                \
    static constexpr CudnnName descriptor{number, "CUDNN_BACKEND_OPERATION_" #suffix "_DESCRIPTOR"};                  \
    static constexpr CudnnName math{math_number, "CUDNN_BACKEND_" #math_suffix "_DESCRIPTOR"};                        \
    static constexpr CudnnName math_attribute{attribute_number, "CUDNN_ATTR_" #attribute};                            \
    static constexpr bool has_math = (math_number) >= 0;                                                                \
    static constexpr auto rows = std::tuple{ATTNPROBE_ROWS_##Kind(ATTNPROBE_ROW, ATTNPROBE_ROW, ATTNPROBE_INNER)};    \
  };
#define ATTNPROBE_OPERATION(Kind, our_name, suffix, number) \
  ATTNPROBE_COMPUTED(Kind, our_name, suffix, number, , -1, , -1)
ATTNPROBE_OPERATIONS(ATTNPROBE_OPERATION, ATTNPROBE_COMPUTED, ATTNPROBE_OPERATION)
#undef ATTNPROBE_OPERATION
#undef ATTNPROBE_COMPUTED
#undef ATTNPROBE_INNER
#undef ATTNPROBE_ROW
// clang-format on

/// Descriptors of an SDPA operation that are not in its rows: the graph of its scores and its softmax. Also attributes
/// of tensors and graphs that the header may be too old for.
template <class Op>
inline constexpr CudnnName score_graph_attribute = no_cudnn_name;
template <>
inline constexpr CudnnName score_graph_attribute<SdpaForward>{2811, "CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH"};
template <>
inline constexpr CudnnName score_graph_attribute<SdpaBackward>{2867, "CUDNN_ATTR_OPERATION_SDPA_BWD_SUBGRAPH"};
inline constexpr CudnnName ragged_multiplier_attribute{914, "CUDNN_ATTR_TENSOR_RAGGED_OFFSET_MULTIPLIER"};
inline constexpr CudnnName dynamic_shapes_attribute{803, "CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED"};
inline constexpr CudnnName override_shapes_attribute{805, "CUDNN_ATTR_OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED"};
inline constexpr CudnnName inner_softmax_attribute{2814, "CUDNN_ATTR_OPERATION_SDPA_FWD_SOFTMAX_DESC"};

/// Calls f(row) for each row of the operation's table, in order.
template <class Op, class F>
void for_each_row(F&& f) {
  std::apply([&](const auto&... row) { (f(row), ...); }, OperationTable<Op>::rows);
}

/// Calls f(kind), an OperationTable, for each operation.
template <class F>
void for_each_operation(F&& f) {
#define ATTNPROBE_CALL(Kind, ...) f(OperationTable<Kind>{});
  ATTNPROBE_OPERATIONS(ATTNPROBE_CALL, ATTNPROBE_CALL, ATTNPROBE_CALL)
#undef ATTNPROBE_CALL
}

/// "matmul"; nullptr for a type that is not an operation.
template <class Op>
constexpr const char* kind_name = nullptr;
template <class Op>
requires requires {
  OperationTable<Op>::name;
}
inline constexpr const char* kind_name<Op> = OperationTable<Op>::name;

enum class PortDirection { input, output };

/// Calls f(name, uid, direction) for each port, inputs before outputs. uid is Uid or std::optional<Uid>, mutable if
/// `op` is. Scores passed to an SDPA operation's sub-graph count as its output; scores returned from it count as its
/// input.
template <class Op, class F>
void for_each_port(Op& op, F&& f) {
  for_each_row<std::remove_const_t<Op>>([&](const auto& row) {
    if constexpr (std::decay_t<decltype(row)>::is_input) f(row.name, op.*row.member, PortDirection::input);
  });
  for_each_row<std::remove_const_t<Op>>([&](const auto& row) {
    if constexpr (std::decay_t<decltype(row)>::is_output) f(row.name, op.*row.member, PortDirection::output);
  });
}

/// Calls f(name, attribute) for each attribute that is not a port.
template <class Op, class F>
void for_each_attribute(Op& op, F&& f) {
  for_each_row<std::remove_const_t<Op>>([&](const auto& row) {
    if constexpr (!std::decay_t<decltype(row)>::is_port) f(row.name, op.*row.member);
  });
}

}  // namespace attnprobe::graph
