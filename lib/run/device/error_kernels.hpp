// How far what a plan computes may be from what the reference computes: a standard deviation beside every value, carried
// through each operation. Roundings are taken as independent, so that squares add up: what is added from n terms of
// either sign is as uncertain as the root of n of them, not as n, and an error is seen that a sum of magnitudes would hide.
#ifndef ATTNPROBE_RUN_ERROR_KERNELS
#define ATTNPROBE_RUN_ERROR_KERNELS

#ifndef __CUDACC_RTC__
#include "run/device/kernel_values.hpp"

namespace attnprobe::run::kernels {
#endif

/// One operation in f32, by the GPU's approximations: a few units in the last place.
ATTNPROBE_BOTH Real f32_unit() {
  return (Real)2.384185791015625e-7;  // 2^-22
}
/// exp2 by a polynomial of degree 3, as Blackwell kernels have it, is off by 2^-13.5; ex2.approx is far better.
ATTNPROBE_BOTH Real exp_unit() {
  return (Real)1.220703125e-4;  // 2^-13
}
/// Beside a row's largest probability, 1, what kernels make of those below this is worth nothing: of e^-52 an H200's were off
/// by 6 % (cuDNN 9.19, exact scores).
ATTNPROBE_BOTH Real least_probability() {
  return (Real)9.31322574615478515625e-10;  // 2^-30
}
/// A score and a row's maximum, or the logarithm of its sum: in units of log2 and back, 2^-19.7 was seen of scores near -160.
ATTNPROBE_BOTH Real difference_unit() {
  return (Real)1.9073486328125e-6;  // 2^-19
}
/// tanh.approx.f32 is off by 2^-11; other activations may be made from it.
ATTNPROBE_BOTH Real activation_unit() {
  return (Real)4.8828125e-4;  // 2^-11
}

/// Tensor cores add with the bits below the last place cut off, always towards zero, so that it does not average out:
/// half a last place for each 16 products or so, as a part of the sum, for each of them. Stats of head dimension 512 were
/// off by 2.9e-6 as a whole (H200, cuDNN 9.19).
ATTNPROBE_BOTH Real truncation_unit() {
  return (Real)3.725290298461914e-9;  // 2^-28
}

ATTNPROBE_BOTH bool is_number(Real x) {
  return x - x == 0;
}

ATTNPROBE_BOTH Real square(Real x) {
  return x * x;
}

/// The same for what is rounded: masks are infinite or, in old graphs, the lowest finite number, and stay what they are.
ATTNPROBE_BOTH Real rounded_square(Real x) {
  return fabs(x) < (Real)1e37 ? x * x : (Real)0;
}

/// The variance of the element `at`, whose value is x, as its reader sees it.
ATTNPROBE_BOTH Real variance(const View& v, Index at, Real x) {
  const Real own = v.error == 0 || at < 0 ? (Real)0 : ((const Real*)(v.data + v.error))[at];
  return square(own) + (x == 0 ? (Real)0 : square((Real)v.unit) * rounded_square(x) + square((Real)v.smallest));
}
ATTNPROBE_BOTH Real variance(const View& v, const Place& p, Real x) {
  return v.error == 0 && v.unit == 0 ? (Real)0 : variance(v, locate(v, p), x);
}

/// A score that is masked has no error. One without bounds, of a number that could be any, is infinite.
ATTNPROBE_BOTH void store_variance(const View& v, const Place& p, Real value, Real variance) {
  if (v.error == 0) return;
  ((Real*)(v.data + v.error))[locate(v, p)] = !is_number(value) || variance == 0 ? (Real)0
                                              : is_number(variance)              ? sqrt(variance)
                                                                                 : ATTNPROBE_INFINITY;
}

#ifndef __CUDACC_RTC__
}  // namespace attnprobe::run::kernels
#endif

#endif
