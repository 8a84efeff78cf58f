// Error propagation: estimates how far a plan's results may differ from the reference. Each value has a standard
// deviation, which every operation propagates. Roundings count as independent, so squares add up: a sum's error grows
// with the square root of its number of terms. Adding magnitudes would hide real errors.
#ifndef ATTNPROBE_RUN_ERROR_KERNELS
#define ATTNPROBE_RUN_ERROR_KERNELS

#ifndef __CUDACC_RTC__
#include "run/device/kernel_values.hpp"

namespace attnprobe::run::kernels {
#endif

/// One operation in f32 with the GPU's approximations: a few units in the last place.
ATTNPROBE_BOTH Real f32_unit() {
  return (Real)2.384185791015625e-7;  // 2^-22
}
/// Blackwell kernels compute exp2 by a polynomial of degree 3, whose error is 2^-13.5; ex2.approx is much better.
ATTNPROBE_BOTH Real exp_unit() {
  return (Real)1.220703125e-4;  // 2^-13
}
/// Relative to a row's largest probability, kernels compute smaller probabilities than this imprecisely. At e^-52, the
/// error on an H200 was 6 % (cuDNN 9.19, exact scores).
ATTNPROBE_BOTH Real least_probability() {
  return (Real)9.31322574615478515625e-10;  // 2^-30
}
/// A score minus a row's maximum, or the logarithm of its sum, converted to log2 and back: 2^-19.7 was seen for scores
/// near -160.
ATTNPROBE_BOTH Real difference_unit() {
  return (Real)1.9073486328125e-6;  // 2^-19
}
/// The error of tanh.approx.f32 is 2^-11; other activations may use it.
ATTNPROBE_BOTH Real activation_unit() {
  return (Real)4.8828125e-4;  // 2^-11
}

/// Tensor cores truncate sums towards zero, so the error does not average out: half a last place of the sum for about
/// every 16 products. For head dimension 512, all Stats had an error of 2.9e-6 (H200, cuDNN 9.19).
ATTNPROBE_BOTH Real truncation_unit() {
  return (Real)3.725290298461914e-9;  // 2^-28
}

ATTNPROBE_BOTH bool is_number(Real x) {
  return x - x == 0;
}

ATTNPROBE_BOTH Real square(Real x) {
  return x * x;
}

/// Likewise for a rounded value. Masks, which are infinite or (in old graphs) the lowest finite number, are exact.
ATTNPROBE_BOTH Real rounded_size(Real x) {
  return fabs(x) < (Real)1e37 ? fabs(x) : (Real)0;
}
ATTNPROBE_BOTH Real rounded_square(Real x) {
  return square(rounded_size(x));
}

/// The variance of element `at`, with value x, after the reader's rounding.
ATTNPROBE_BOTH Real variance(const View& v, Index at, Real x) {
  const Real own = v.error == 0 || at < 0 ? (Real)0 : ((const Real*)(v.data + v.error))[at];
  return square(own) + (x == 0 ? (Real)0 : square((Real)v.unit) * rounded_square(x) + square((Real)v.smallest));
}
ATTNPROBE_BOTH Real variance(const View& v, const Place& p, Real x) {
  return v.error == 0 && v.unit == 0 ? (Real)0 : variance(v, locate(v, p), x);
}

/// A masked score has no error. A value that could be anything has an infinite deviation.
ATTNPROBE_BOTH void store_deviation(const View& v, const Place& p, Real value, Real deviation) {
  if (v.error == 0) return;
  ((Real*)(v.data + v.error))[locate(v, p)] = !is_number(value)      ? (Real)0
                                              : is_number(deviation) ? deviation
                                                                     : ATTNPROBE_INFINITY;
}
ATTNPROBE_BOTH void store_variance(const View& v, const Place& p, Real value, Real variance) {
  store_deviation(v, p, value, sqrt(variance));
}

#ifndef __CUDACC_RTC__
}  // namespace attnprobe::run::kernels
#endif

#endif
