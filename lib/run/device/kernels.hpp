// What the reference and the checks compute, element by element, written once and compiled twice: by the C++ compiler
// for the CPU, where tests hold it against plain attention, and by NVRTC for the GPU. Hence neither the standard
// library nor any header of CUDA; NVRTC gets the modes and types of graphs as an enum in front.
#ifndef ATTNPROBE_RUN_KERNELS
#define ATTNPROBE_RUN_KERNELS

#ifdef __CUDACC_RTC__
#define ATTNPROBE_BOTH __device__ inline
#define ATTNPROBE_INFINITY __int_as_float(0x7f800000)
typedef ATTNPROBE_REAL Real;
#else
#include <cmath>
#include <cstring>

#include "base/data_type.hpp"
#include "graph/modes.hpp"
#define ATTNPROBE_BOTH inline
#define ATTNPROBE_INFINITY HUGE_VAL
namespace attnprobe::run::kernels {
using Real = double;
#define ATTNPROBE_MODE(name) mode_##name,
enum PointwiseModes { ATTNPROBE_POINTWISE_MODES(ATTNPROBE_MODE) };
#undef ATTNPROBE_MODE
#define ATTNPROBE_REDUCTION(name) reduce_##name,
enum Reductions { ATTNPROBE_REDUCTION_OPERATORS(ATTNPROBE_REDUCTION) };
#undef ATTNPROBE_REDUCTION
using std::abs;
using std::ceil;
using std::cos;
using std::erf;
using std::exp;
using std::fabs;
using std::floor;
using std::fmod;
using std::frexp;
using std::ldexp;
using std::log;
using std::log1p;
using std::pow;
using std::rint;
using std::sin;
using std::sqrt;
using std::tan;
using std::tanh;
#endif

typedef long long Index;
typedef unsigned long long Bits64;

// In the order of attnprobe::DataType.
enum Types {
  type_f16,
  type_bf16,
  type_f32,
  type_f64,
  type_i8,
  type_u8,
  type_i32,
  type_i64,
  type_boolean,
  type_fp8_e4m3,
  type_fp8_e5m2,
  type_fp8_e8m0,
  type_fp4_e2m1
};

/// A tensor of at most four dims in memory. A ragged one begins at an offset of its own in each batch entry and has
/// nothing beyond the next one's.
struct View {
  char* data;
  const void* offsets;  ///< null: not ragged; else of each batch entry and the end, in elements
  Index dims[4], strides[4];
  int type;           ///< Types
  int offsets_type;   ///< type_i32 or type_i64
  int sequence_axis;  ///< of a ragged tensor: 2, or 3 for a transposed one
  int unused;
};

struct Place {
  Index i[4];
};

// ---- numbers -------------------------------------------------------------------------------------

ATTNPROBE_BOTH float float_of(unsigned bits) {
#ifdef __CUDACC_RTC__
  return __int_as_float((int)bits);
#else
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

/// IEEE-like numbers of up to 16 bits; e4m3 has no infinity and one NaN.
ATTNPROBE_BOTH float decode(unsigned bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const unsigned sign = bits >> (exponent_bits + mantissa_bits) << 31;
  const unsigned exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned all = (1u << exponent_bits) - 1;
  if (exponent == all && (has_infinity || mantissa == (1u << mantissa_bits) - 1))
    return float_of(sign | 0x7f800000u | (has_infinity ? mantissa << (23 - mantissa_bits) : 0x400000u));
  if (exponent == 0) {
    const float unit = float_of((unsigned)(127 + 1 - bias - mantissa_bits) << 23);
    return sign != 0 ? -(float)mantissa * unit : (float)mantissa * unit;
  }
  return float_of(sign | ((unsigned)((int)exponent - bias + 127) << 23) | mantissa << (23 - mantissa_bits));
}

/// The way back, to the nearest, ties to even. Beyond the largest: infinity
/// where there is one and `saturate` is not asked for, else the largest.
ATTNPROBE_BOTH unsigned encode(double x, int exponent_bits, int mantissa_bits, bool has_infinity, bool saturate) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned all = (1u << exponent_bits) - 1;
  const unsigned sign = (x < 0 ? 1u : 0u) << (exponent_bits + mantissa_bits);
  const unsigned full = (1u << mantissa_bits) - 1;
  if (x != x) return sign | all << mantissa_bits | (has_infinity ? 1u << (mantissa_bits - 1) : full);
  const double a = fabs(x);
  if (a == 0) return sign;
  const unsigned largest = has_infinity ? ((all - 1) << mantissa_bits | full) : (all << mantissa_bits | (full - 1));
  if (a > 1e300) return sign | (saturate || !has_infinity ? largest : all << mantissa_bits);
  int exponent = 0;
  frexp(a, &exponent);
  exponent -= 1;
  if (exponent < 1 - bias) exponent = 1 - bias;
  const double units = rint(ldexp(a, mantissa_bits - exponent));
  const Index code = (Index)units + ((Index)(exponent + bias - 1) << mantissa_bits);
  if (code <= (Index)largest) return sign | (unsigned)code;
  return sign | (saturate || !has_infinity ? largest : all << mantissa_bits);
}

/// Element `at` of memory of that type.
ATTNPROBE_BOTH Real load(const char* data, int type, Index at) {
  switch (type) {
    case type_f16:
      return decode(((const unsigned short*)data)[at], 5, 10, true);
    case type_bf16:
      return float_of((unsigned)((const unsigned short*)data)[at] << 16);
    case type_f32:
      return (Real)((const float*)data)[at];
    case type_f64:
      return (Real)((const double*)data)[at];
    case type_i8:
      return (Real)((const signed char*)data)[at];
    case type_u8:
    case type_boolean:
      return (Real)((const unsigned char*)data)[at];
    case type_i32:
      return (Real)((const int*)data)[at];
    case type_i64:
      return (Real)((const Index*)data)[at];
    case type_fp8_e4m3:
      return decode(((const unsigned char*)data)[at], 4, 3, false);
    case type_fp8_e5m2:
      return decode(((const unsigned char*)data)[at], 5, 2, true);
    case type_fp8_e8m0:
      return (Real)ldexp(1.0, (int)((const unsigned char*)data)[at] - 127);
    default:
      return 0;
  }
}

ATTNPROBE_BOTH void store(char* data, int type, Index at, double x) {
  switch (type) {
    case type_f16:
      ((unsigned short*)data)[at] = (unsigned short)encode(x, 5, 10, true, false);
      return;
    case type_bf16:
      ((unsigned short*)data)[at] = (unsigned short)encode(x, 8, 7, true, false);
      return;
    case type_f32:
      ((float*)data)[at] = (float)x;
      return;
    case type_f64:
      ((double*)data)[at] = x;
      return;
    case type_i8:
      ((signed char*)data)[at] = (signed char)x;
      return;
    case type_u8:
    case type_boolean:
      ((unsigned char*)data)[at] = (unsigned char)x;
      return;
    case type_i32:
      ((int*)data)[at] = (int)x;
      return;
    case type_i64:
      ((Index*)data)[at] = (Index)x;
      return;
    case type_fp8_e4m3:
      ((unsigned char*)data)[at] = (unsigned char)encode(x, 4, 3, false, true);
      return;
    case type_fp8_e5m2:
      ((unsigned char*)data)[at] = (unsigned char)encode(x, 5, 2, true, true);
      return;
    case type_fp8_e8m0: {
      int exponent = 0;
      frexp(x, &exponent);
      ((unsigned char*)data)[at] = (unsigned char)(exponent - 1 + 127);
      return;
    }
    default:
      return;
  }
}

// ---- places --------------------------------------------------------------------------------------

ATTNPROBE_BOTH Index elements(const View& v) {
  return v.dims[0] * v.dims[1] * v.dims[2] * v.dims[3];
}

ATTNPROBE_BOTH Place place(const View& v, Index linear) {
  Place p;
  for (int axis = 3; axis >= 0; --axis) {
    p.i[axis] = linear % v.dims[axis];
    linear /= v.dims[axis];
  }
  return p;
}

/// Where an element lies, in elements; -1 for one that a ragged tensor
/// has not. An axis of extent 1 has the same element everywhere.
ATTNPROBE_BOTH Index locate(const View& v, const Place& p) {
  Index at = 0;
  for (int axis = v.offsets == nullptr ? 0 : 1; axis < 4; ++axis)
    at += v.dims[axis] == 1 ? 0 : p.i[axis] * v.strides[axis];
  if (v.offsets == nullptr) return at;
  const Index begin = v.offsets_type == type_i64 ? ((const Index*)v.offsets)[p.i[0]] : ((const int*)v.offsets)[p.i[0]];
  const Index end =
      v.offsets_type == type_i64 ? ((const Index*)v.offsets)[p.i[0] + 1] : ((const int*)v.offsets)[p.i[0] + 1];
  if (p.i[v.sequence_axis] * v.strides[v.sequence_axis] >= end - begin) return -1;
  return begin + at;
}

ATTNPROBE_BOTH Real load(const View& v, const Place& p) {
  const Index at = locate(v, p);
  return at < 0 ? (Real)0 : load(v.data, v.type, at);
}

ATTNPROBE_BOTH void store(const View& v, const Place& p, double x) {
  const Index at = locate(v, p);
  if (at >= 0) store(v.data, v.type, at, x);
}

// ---- operations ----------------------------------------------------------------------------------

struct PointwiseArgs {
  View x, b, t, y;  ///< dy of a backward mode is b
  int mode, axis;
  Index origin;  ///< of GEN_INDEX: the index of the first element along the axis
};

ATTNPROBE_BOTH Real gelu_tanh_argument(Real x) {
  return (Real)0.7978845608028654 * (x + (Real)0.044715 * x * x * x);
}

/// The slope of an activation at x.
ATTNPROBE_BOTH Real slope(int mode, Real x) {
  const Real one = 1;
  switch (mode) {
    case mode_RELU_BWD:
      return x > 0 ? one : (Real)0;
    case mode_TANH_BWD:
      return one - tanh(x) * tanh(x);
    case mode_SIGMOID_BWD: {
      const Real s = one / (one + exp(-x));
      return s * (one - s);
    }
    case mode_ELU_BWD:
      return x > 0 ? one : exp(x);
    case mode_SOFTPLUS_BWD:
      return one / (one + exp(-x));
    case mode_SWISH_BWD: {
      const Real s = one / (one + exp(-x));
      return s + x * s * (one - s);
    }
    case mode_GELU_BWD:
      return (Real)0.5 * (one + erf(x * (Real)0.7071067811865476)) + x * exp(-x * x / 2) * (Real)0.3989422804014327;
    default: {  // GELU_APPROX_TANH_BWD
      const Real t = tanh(gelu_tanh_argument(x));
      const Real inner = (Real)0.7978845608028654 * (one + 3 * (Real)0.044715 * x * x);
      return (Real)0.5 * (one + t) + (Real)0.5 * x * (one - t * t) * inner;
    }
  }
}

/// A row that is masked whole has no softmax; cuDNN gives zeros
/// (graphs.md 1.4), so here -inf - -inf is -inf and 0 / 0 is 0.
ATTNPROBE_BOTH Real pointwise_value(int mode, Real x, Real b, Real t) {
  const Real one = 1;
  switch (mode) {
    case mode_ADD:
      return x + b;
    case mode_ADD_SQUARE:
      return x + b * b;
    case mode_SUB:
      return x == b && x < 0 && x == -ATTNPROBE_INFINITY ? x : x - b;
    case mode_MUL:
      return x * b;
    case mode_DIV:
      return x == 0 && b == 0 ? (Real)0 : x / b;
    case mode_MAX:
      return x > b ? x : b;
    case mode_MIN:
      return x < b ? x : b;
    case mode_MOD:
      return fmod(x, b);
    case mode_POW:
      return pow(x, b);
    case mode_ABS:
      return fabs(x);
    case mode_CEIL:
      return ceil(x);
    case mode_COS:
      return cos(x);
    case mode_EXP:
      return exp(x);
    case mode_FLOOR:
      return floor(x);
    case mode_LOG:
      return log(x);
    case mode_NEG:
      return -x;
    case mode_RSQRT:
      return one / sqrt(x);
    case mode_SIN:
      return sin(x);
    case mode_SQRT:
      return sqrt(x);
    case mode_TAN:
      return tan(x);
    case mode_ERF:
      return erf(x);
    case mode_IDENTITY:
      return x;
    case mode_RECIPROCAL:
      return one / x;
    case mode_ATAN2:
      return atan2(x, b);
    case mode_RELU_FWD:
      return x > 0 ? x : (Real)0;
    case mode_TANH_FWD:
      return tanh(x);
    case mode_SIGMOID_FWD:
      return one / (one + exp(-x));
    case mode_ELU_FWD:
      return x > 0 ? x : exp(x) - one;
    case mode_GELU_FWD:
      return (Real)0.5 * x * (one + erf(x * (Real)0.7071067811865476));
    case mode_SOFTPLUS_FWD:
      return x > 20 ? x : log1p(exp(x));
    case mode_SWISH_FWD:
      return x / (one + exp(-x));
    case mode_GELU_APPROX_TANH_FWD:
      return (Real)0.5 * x * (one + tanh(gelu_tanh_argument(x)));
    case mode_CMP_EQ:
      return x == b ? one : (Real)0;
    case mode_CMP_NEQ:
      return x != b ? one : (Real)0;
    case mode_CMP_GT:
      return x > b ? one : (Real)0;
    case mode_CMP_GE:
      return x >= b ? one : (Real)0;
    case mode_CMP_LT:
      return x < b ? one : (Real)0;
    case mode_CMP_LE:
      return x <= b ? one : (Real)0;
    case mode_LOGICAL_AND:
      return x != 0 && b != 0 ? one : (Real)0;
    case mode_LOGICAL_OR:
      return x != 0 || b != 0 ? one : (Real)0;
    case mode_LOGICAL_NOT:
      return x == 0 ? one : (Real)0;
    case mode_BINARY_SELECT:
      return t != 0 ? x : b;
    default:
      return b * slope(mode, x);
  }
}

ATTNPROBE_BOTH void pointwise(const PointwiseArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    Real value = 0;
    if (a.mode == mode_GEN_INDEX)
      value = (Real)(p.i[a.axis] + a.origin);
    else
      value = pointwise_value(a.mode, load(a.x, p), a.b.data != nullptr ? load(a.b, p) : (Real)0,
                              a.t.data != nullptr ? load(a.t, p) : (Real)0);
    store(a.y, p, value);
  }
}

/// Lengths are INT32, one a batch entry; null: the whole extent.
struct MatmulArgs {
  View a, b, c;
  const int *m, *n, *k;
};

ATTNPROBE_BOTH Index limit(const int* lengths, Index batch, Index extent) {
  if (lengths == nullptr) return extent;
  return lengths[batch] < extent ? lengths[batch] : extent;
}

ATTNPROBE_BOTH void matmul(const MatmulArgs& g, Index thread, Index threads) {
  const Index count = elements(g.c);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(g.c, i);
    Place pa = p, pb = p;
    pa.i[1] = p.i[1] * g.a.dims[1] / g.c.dims[1];
    pb.i[1] = p.i[1] * g.b.dims[1] / g.c.dims[1];
    Real sum = 0;
    if (p.i[2] < limit(g.m, p.i[0], g.c.dims[2]) && p.i[3] < limit(g.n, p.i[0], g.c.dims[3])) {
      const Index depth = limit(g.k, p.i[0], g.a.dims[3]);
      for (Index k = 0; k < depth; ++k) {
        pa.i[3] = k;
        pb.i[2] = k;
        sum += load(g.a, pa) * load(g.b, pb);
      }
    }
    store(g.c, p, sum);
  }
}

/// Where Y's extent is smaller, it stands for X's extent / Y's extent neighbours. In two steps: `parts` partial results
/// an element of Y, then one of them; `keep`: on top of what Y holds.
struct ReduceArgs {
  View x, y;
  Real* partial;
  Index parts;
  int op, keep;
};

ATTNPROBE_BOTH Real reduce_start(int op) {
  switch (op) {
    case reduce_MUL:
    case reduce_MUL_NO_ZEROS:
      return 1;
    case reduce_MIN:
      return ATTNPROBE_INFINITY;
    case reduce_MAX:
      return -ATTNPROBE_INFINITY;
    default:
      return 0;
  }
}

ATTNPROBE_BOTH Real reduce_join(int op, Real a, Real b) {
  switch (op) {
    case reduce_MUL:
    case reduce_MUL_NO_ZEROS:
      return a * b;
    case reduce_MIN:
      return b < a ? b : a;
    case reduce_MAX:
    case reduce_AMAX:
      return b > a ? b : a;
    default:
      return a + b;
  }
}

ATTNPROBE_BOTH Real reduce_element(int op, Real x) {
  switch (op) {
    case reduce_AMAX:
    case reduce_NORM1:
      return fabs(x);
    case reduce_NORM2:
      return x * x;
    case reduce_MUL_NO_ZEROS:
      return x == 0 ? (Real)1 : x;
    default:
      return x;
  }
}

ATTNPROBE_BOTH void reduce_parts(const ReduceArgs& a, Index thread, Index threads) {
  Index factor[4], per = 1;
  for (int axis = 0; axis < 4; ++axis) {
    factor[axis] = a.x.dims[axis] / a.y.dims[axis];
    per *= factor[axis];
  }
  const Index count = elements(a.y) * a.parts;
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i / a.parts);
    Real value = reduce_start(a.op);
    for (Index k = i % a.parts; k < per; k += a.parts) {
      Place q;
      Index rest = k;
      for (int axis = 3; axis >= 0; --axis) {
        q.i[axis] = p.i[axis] * factor[axis] + rest % factor[axis];
        rest /= factor[axis];
      }
      value = reduce_join(a.op, value, reduce_element(a.op, load(a.x, q)));
    }
    a.partial[i] = value;
  }
}

ATTNPROBE_BOTH void reduce_join_parts(const ReduceArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  Index per = 1;
  for (int axis = 0; axis < 4; ++axis) per *= a.x.dims[axis] / a.y.dims[axis];
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    Real value = a.keep != 0 ? load(a.y, p) : reduce_start(a.op);
    for (Index part = 0; part < a.parts; ++part) value = reduce_join(a.op, value, a.partial[i * a.parts + part]);
    if (a.op == reduce_AVG) value /= (Real)per;
    if (a.op == reduce_NORM2) value = sqrt(value);
    store(a.y, p, value);
  }
}

/// Y[b, h, token, d] = container[table[b, token / block], h, token % block, d]; zero behind the sequence.
struct PagedArgs {
  View container, table, y;
  const int* lengths;
  int transposed;  ///< Y is {b, h, d, token}
};

ATTNPROBE_BOTH void paged_load(const PagedArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y), block = a.container.dims[2];
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Index token = p.i[a.transposed != 0 ? 3 : 2], d = p.i[a.transposed != 0 ? 2 : 3];
    Real value = 0;
    if (token < limit(a.lengths, p.i[0], token + 1)) {
      const Place page{{p.i[0], 0, token / block, 0}};
      const Place from{{(Index)load(a.table, page), p.i[1], token % block, d}};
      value = load(a.container, from);
    }
    store(a.y, p, value);
  }
}

/// Y = X times the scale of its block of 32 along `axis`. Scales lie in cuDNN's F8_128x4 order: tiles of 128 rows (the
/// other axis) by 4 blocks, in each of which rows 32 apart stand side by side.
struct DequantizeArgs {
  View x, y;
  const char* scales;
  Index rows, columns;  ///< of the scales of one matrix, padded
  Index block;
  int axis, scale_type;
};

ATTNPROBE_BOTH void dequantize(const DequantizeArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Index row = p.i[5 - a.axis], column = p.i[a.axis] / a.block;
    const Index tile = row / 128 * (a.columns / 4) + column / 4;
    const Index inside = row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
    const Index matrix = (p.i[0] * a.y.dims[1] + p.i[1]) * a.rows * a.columns;
    store(a.y, p, load(a.x, p) * load(a.scales, a.scale_type, matrix + tile * 512 + inside));
  }
}

/// Scores of tiles whose bit is not set become -inf: one bit a tile of 128 x 128, the lowest first.
struct BlockMaskArgs {
  View x, bits, y;
};

ATTNPROBE_BOTH void block_mask(const BlockMaskArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Index tile = p.i[3] / 128;
    const Place byte{{p.i[0], p.i[1], p.i[2] / 128, tile / 8}};
    const bool visible = ((Index)load(a.bits, byte) >> (tile % 8) & 1) != 0;
    store(a.y, p, visible ? load(a.x, p) : -ATTNPROBE_INFINITY);
  }
}

// ---- data ----------------------------------------------------------------------------------------

enum Fills { fill_constant, fill_normal, fill_magnitude, fill_integers, fill_chance, fill_identity };

/// constant: a; normal: mean a, standard deviation b; magnitude: sign of a times |normal| times |a|; integers: 4 in 5
/// are 0, else -2 … 2; chance: a with probability b, else 0; identity: 1 where the row is `start` + the column (of
/// heads h with h % group == which), else 0.
struct FillArgs {
  View y;
  double a, b;
  Bits64 seed;
  Index start, group, which;
  int kind, unused;
};

ATTNPROBE_BOTH Bits64 mixed(Bits64 x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

ATTNPROBE_BOTH double uniform(Bits64 seed, Bits64 index) {
  return ((double)(mixed(seed ^ mixed(index)) >> 11) + 0.5) / 9007199254740992.0;
}

ATTNPROBE_BOTH double normal(Bits64 seed, Bits64 index) {  // Box and Muller
  return sqrt(-2 * log(uniform(seed, 2 * index))) * cos(6.283185307179586 * uniform(seed, 2 * index + 1));
}

ATTNPROBE_BOTH void fill(const FillArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Bits64 n = (Bits64)i;
    double value = a.a;
    switch (a.kind) {
      case fill_normal:
        value = a.a + a.b * normal(a.seed, n);
        break;
      case fill_magnitude:
        value = a.a * fabs(normal(a.seed, n));
        break;
      case fill_integers:
        value = uniform(a.seed, 2 * n) < 0.8 ? 0 : floor(uniform(a.seed, 2 * n + 1) * 5) - 2;
        break;
      case fill_chance:
        value = uniform(a.seed, n) < a.b ? a.a : 0;
        break;
      case fill_identity:
        value = p.i[2] == a.start + p.i[3] && p.i[1] % a.group == a.which ? 1 : 0;
        break;
      default:
        break;
    }
    store(a.y, p, value);
  }
}

/// What the dropout mask of a plan is, read off an output that had an identity for its other factor. Forward: mask[b,
/// h, i, start + d] = O[b, h, i, d] != 0. Backward: mask[b, h group + which, start + d, j] =
/// dV[b, h, j, d] != 0.
struct ReadMaskArgs {
  View from, mask;
  Index start, group, which;
  int backward, unused;
};

ATTNPROBE_BOTH void read_mask(const ReadMaskArgs& a, Index thread, Index threads) {
  const Index count = elements(a.from);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.from, i);
    Place q = p;
    if (a.backward != 0) {
      q.i[1] = p.i[1] * a.group + a.which;
      q.i[2] = a.start + p.i[3];
      q.i[3] = p.i[2];
    } else {
      q.i[3] = a.start + p.i[3];
    }
    if (q.i[2] < a.mask.dims[2] && q.i[3] < a.mask.dims[3]) store(a.mask, q, load(a.from, p) != 0 ? 1 : 0);
  }
}

// ---- checks --------------------------------------------------------------------------------------

enum Marks { mark_not_of_tensor, mark_must_be_written, mark_free };

/// Marks the elements of a tensor in a map of its memory; those behind the sequence may hold anything.
struct CoverArgs {
  View y;
  unsigned char* map;  ///< of Y's first element
  const int* lengths;  ///< null: every row counts
  int sequence_axis;
  int free;  ///< none has to be written
};

ATTNPROBE_BOTH bool counts(const CoverArgs& a, const Place& p) {
  return a.lengths == nullptr || p.i[a.sequence_axis] < a.lengths[p.i[0]];
}

ATTNPROBE_BOTH void cover(const CoverArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    const Index at = locate(a.y, p);
    if (at >= 0) a.map[at] = a.free == 0 && counts(a, p) ? mark_must_be_written : mark_free;
  }
}

/// What one thread counted.
struct MemoryCount {
  Index unwritten, outside, first_outside;
};

/// Memory was all ones (a NaN in every floating type) before the run.
struct CheckMemoryArgs {
  const unsigned char* memory;
  const unsigned char* map;
  Index count;  ///< elements
  MemoryCount* counts;
  int element_size, unused;
};

ATTNPROBE_BOTH void check_memory(const CheckMemoryArgs& a, Index thread, Index threads) {
  MemoryCount found = {0, 0, -1};
  for (Index i = thread; i < a.count; i += threads) {
    bool poison = true;
    for (int k = 0; k < a.element_size; ++k) poison = poison && a.memory[i * a.element_size + k] == 0xff;
    if (a.map[i] == mark_must_be_written && poison) ++found.unwritten;
    if (a.map[i] == mark_not_of_tensor && !poison && found.outside++ == 0) found.first_outside = i;
  }
  a.counts[thread] = found;
}

struct CompareCount {
  double error2, reference2, max_abs, max_rel;
  Index elements, nan, inf, wrong, first_wrong;
};

/// `abs` < 0: only sums, to find the scale of the reference.
struct CompareArgs {
  View out, reference;
  const int* lengths;
  double abs, rel;
  CompareCount* counts;
  int sequence_axis, unused;
};

ATTNPROBE_BOTH bool is_finite(double x) {
  return x - x == 0;
}

ATTNPROBE_BOTH void compare(const CompareArgs& a, Index thread, Index threads) {
  CompareCount found = {0, 0, 0, 0, 0, 0, 0, 0, -1};
  const Index count = elements(a.out);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.out, i);
    if (a.lengths != nullptr && p.i[a.sequence_axis] >= a.lengths[p.i[0]]) continue;
    const Index at = locate(a.out, p);
    if (at < 0) continue;
    const double out = load(a.out.data, a.out.type, at), reference = load(a.reference, p);
    ++found.elements;
    bool right = true;
    if (!is_finite(reference)) {
      right = out == reference || (out != out && reference != reference);
    } else if (!is_finite(out)) {
      right = false;
      if (out != out)
        ++found.nan;
      else
        ++found.inf;
    } else {
      const double error = fabs(out - reference), size = fabs(reference);
      found.error2 += error * error;
      found.reference2 += size * size;
      if (error > found.max_abs) found.max_abs = error;
      if (a.abs >= 0 && size > a.abs && error / size > found.max_rel) found.max_rel = error / size;
      right = a.abs < 0 || error <= a.abs + a.rel * size;
    }
    if (!right && found.wrong++ == 0) found.first_wrong = i;
  }
  a.counts[thread] = found;
}

/// How many words of two memories differ.
struct DifferenceArgs {
  const unsigned* a;
  const unsigned* b;
  Index count;
  Index* counts;
};

ATTNPROBE_BOTH void difference(const DifferenceArgs& a, Index thread, Index threads) {
  Index found = 0;
  for (Index i = thread; i < a.count; i += threads) found += a.a[i] != a.b[i] ? 1 : 0;
  a.counts[thread] = found;
}

#define ATTNPROBE_KERNELS(X)       \
  X(pointwise, PointwiseArgs)      \
  X(matmul, MatmulArgs)            \
  X(reduce_parts, ReduceArgs)      \
  X(reduce_join_parts, ReduceArgs) \
  X(paged_load, PagedArgs)         \
  X(dequantize, DequantizeArgs)    \
  X(block_mask, BlockMaskArgs)     \
  X(fill, FillArgs)                \
  X(read_mask, ReadMaskArgs)       \
  X(cover, CoverArgs) X(check_memory, CheckMemoryArgs) X(compare, CompareArgs) X(difference, DifferenceArgs)

#ifndef __CUDACC_RTC__
}  // namespace attnprobe::run::kernels
#endif

#endif
