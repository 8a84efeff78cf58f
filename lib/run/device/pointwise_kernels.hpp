// Elementwise operations: their values and errors.
#ifndef ATTNPROBE_RUN_POINTWISE_KERNELS
#define ATTNPROBE_RUN_POINTWISE_KERNELS

#ifndef __CUDACC_RTC__
#include "run/device/error_kernels.hpp"

namespace attnprobe::run::kernels {
#endif

struct PointwiseArgs {
  View x, b, t, y;  ///< dy of a backward mode is b
  int mode, axis;
  Index origin;  ///< for GEN_INDEX: index of the first element along the axis
};

ATTNPROBE_BOTH Real gelu_tanh_argument(Real x) {
  return (Real)0.7978845608028654 * (x + (Real)0.044715 * x * x * x);
}

/// The derivative of an activation at x.
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

/// A fully masked row has no softmax. cuDNN returns zeros, so here -inf - -inf is -inf and 0 / 0 is 0.
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

/// The variance of y: propagated from x and b, plus that of the operation itself.
ATTNPROBE_BOTH Real pointwise_variance(int mode, Real x, Real b, Real t, Real y, Real vx, Real vb) {
  const Real rounding = square(f32_unit()) * rounded_square(y);
  switch (mode) {
    case mode_ADD:
    case mode_SUB:
      return vx + vb + square(difference_unit()) * (rounded_square(x) + rounded_square(b));
    case mode_ADD_SQUARE:
      return vx + 4 * b * b * vb + square(f32_unit()) * (rounded_square(x) + square(b * b));
    case mode_MUL:
      return (vx == 0 ? (Real)0 : b * b * vx) + (vb == 0 ? (Real)0 : x * x * vb) + rounding;
    case mode_DIV:
      // By an exact zero, the sum of a fully masked row, the quotient is exact; by an uncertain zero, it is anything.
      if (b == 0) return vb == 0 ? (Real)0 : ATTNPROBE_INFINITY;
      return (vx + y * y * vb) / (b * b) + rounding;
    case mode_MAX:
      return x > b ? vx : vb;
    case mode_MIN:
      return x < b ? vx : vb;
    case mode_BINARY_SELECT:
      return t != 0 ? vx : vb;
    case mode_IDENTITY:
    case mode_NEG:
    case mode_ABS:
      return vx;
    case mode_EXP:
      // The exponential of a very uncertain number may underflow here but be large in the plan.
      if (y == 0) return square(exp(x + sqrt(vx)));
      return square(y) * (square(expm1(sqrt(vx))) + square(exp_unit())) + square(least_probability());
    case mode_LOG:
      return vx / (x * x) + square(4 * f32_unit());
    case mode_RECIPROCAL:
      return square(y * y) * vx + rounding;
    case mode_CEIL:
    case mode_FLOOR:
    case mode_GEN_INDEX:
    case mode_LOGICAL_AND:
    case mode_LOGICAL_OR:
    case mode_LOGICAL_NOT:
    case mode_CMP_EQ:
    case mode_CMP_NEQ:
    case mode_CMP_GT:
    case mode_CMP_GE:
    case mode_CMP_LT:
    case mode_CMP_LE:
      return 0;
    default:
      break;
  }
  // For smooth functions of x, a difference quotient is accurate enough here.
  const Real step = (Real)0.0078125;
  const bool backward = mode >= mode_RELU_BWD && mode <= mode_GELU_APPROX_TANH_BWD;
  if (backward) {
    // The derivative of relu jumps at 0: if the sign is uncertain, the whole gradient is. Exact zeros are certain.
    if (mode == mode_RELU_BWD) return square(slope(mode, x)) * vb + (x != 0 && x * x <= 16 * vx ? square(b) : (Real)0);
    const Real bend = (slope(mode, x + step) - slope(mode, x - step)) / (2 * step);
    return square(slope(mode, x)) * vb + square(b * bend) * vx +
           square(activation_unit()) * (square(b * ((Real)1 + fabs(x * bend))) + vb);
  }
  const Real rise = (pointwise_value(mode, x + step, b, t) - pointwise_value(mode, x - step, b, t)) / (2 * step);
  return square(rise) * vx + square(activation_unit() * (fabs(x) + fabs(y)));
}

ATTNPROBE_BOTH void pointwise(const PointwiseArgs& a, Index thread, Index threads) {
  const Index count = elements(a.y);
  for (Index i = thread; i < count; i += threads) {
    const Place p = place(a.y, i);
    if (a.mode == mode_GEN_INDEX) {
      store(a.y, p, (Real)(p.i[a.axis] + a.origin));
      continue;
    }
    const Real x = load(a.x, p), b = a.b.data != nullptr ? load(a.b, p) : (Real)0,
               t = a.t.data != nullptr ? load(a.t, p) : (Real)0;
    const Real y = pointwise_value(a.mode, x, b, t);
    store(a.y, p, y);
    if (a.y.error == 0) continue;
    const Real vb = a.b.data != nullptr ? variance(a.b, p, b) : (Real)0;
    store_variance(a.y, p, y, pointwise_variance(a.mode, x, b, t, y, variance(a.x, p, x), vb));
  }
}

#ifndef __CUDACC_RTC__
}  // namespace attnprobe::run::kernels
#endif

#endif
