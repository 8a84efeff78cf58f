// Number formats and element addresses for kernels. All kernels are written once and compiled twice. The C++ compiler
// builds them for the CPU, where tests compare them with plain attention; NVRTC builds them for the GPU. So they use
// neither the standard library nor CUDA headers; the graphs' modes and types are prepended as enums for NVRTC.
#ifndef ATTNPROBE_RUN_KERNEL_VALUES
#define ATTNPROBE_RUN_KERNEL_VALUES

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
using std::expm1;
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

/// A tensor of at most four dims in memory. In a ragged tensor, each batch entry begins at its own offset and ends at
/// the next entry's. In a computed tensor, elements have type Real, and each has an error: the standard deviation from
/// roundings (error_kernels.hpp).
struct View {
  char* data;
  const void* offsets;  ///< null: not ragged; otherwise the offset of each batch entry and of the end, in units of
                        ///< offsets_unit
  Index dims[4], strides[4];
  Index error;           ///< bytes from an element to its error; 0: exact
  int type;              ///< Types
  int offsets_type;      ///< type_i32 or type_i64
  int sequence_axis;     ///< token axis of a ragged tensor: 2, or 3 if transposed
  float unit, smallest;  ///< rounding by the reader: relative and absolute
  int offsets_unit;      ///< for a ragged tensor: elements per unit of an offset
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

/// IEEE-like numbers of up to 16 bits; e4m3 has no infinity and a single NaN.
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

/// The inverse, to nearest, ties to even. Beyond the largest number: infinity if the type has one and `saturate` is
/// false, else the largest number.
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

/// The start of a ragged tensor's batch entry, in elements.
ATTNPROBE_BOTH Index offset(const View& v, Index batch) {
  const Index at = v.offsets_type == type_i64 ? ((const Index*)v.offsets)[batch] : ((const int*)v.offsets)[batch];
  return at * v.offsets_unit;
}

/// The offset of an element, in elements; -1 if a ragged tensor does not contain it. An axis of extent 1 is broadcast.
ATTNPROBE_BOTH Index locate(const View& v, const Place& p) {
  Index at = 0;
  for (int axis = v.offsets == nullptr ? 0 : 1; axis < 4; ++axis)
    at += v.dims[axis] == 1 ? 0 : p.i[axis] * v.strides[axis];
  if (v.offsets == nullptr) return at;
  const Index begin = offset(v, p.i[0]), end = offset(v, p.i[0] + 1);
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

#ifndef __CUDACC_RTC__
}  // namespace attnprobe::run::kernels
#endif

#endif
