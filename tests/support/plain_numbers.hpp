// Plain attention's operations on single numbers.
#pragma once

#include <algorithm>
#include <cmath>

#include "attention/spec.hpp"
#include "plain_attention.hpp"
#include "run/device/kernel_values.hpp"

namespace attnprobe::test {

/// Rounds to that type; f32 is truncated to TF32 for multiplication.
inline double rounded(DataType type, double x) {
  using namespace run::kernels;
  switch (type) {
    case DataType::f16:
      return decode(encode(x, 5, 10, true, false), 5, 10, true);
    case DataType::bf16:
      return float_of(encode(x, 8, 7, true, false) << 16);
    case DataType::fp8_e4m3:
      return decode(encode(x, 4, 3, false, true), 4, 3, false);
    case DataType::fp8_e5m2:
      return decode(encode(x, 5, 2, true, true), 5, 2, true);
    default:
      if (x == 0 || !std::isfinite(x)) return x;
      constexpr int bits = 10;
      const int exponent = std::ilogb(x);
      return std::ldexp(std::trunc(std::ldexp(x, bits - exponent)), exponent - bits);
  }
}

/// Throws NotPlain for a modifier that needs more than one number.
inline double activation(attention::ScoreModifierKind kind, double x) {
  using Kind = attention::ScoreModifierKind;
  switch (kind) {
    case Kind::relu:
    case Kind::max:
      return std::max(x, 0.0);
    case Kind::tanh:
      return std::tanh(x);
    case Kind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Kind::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Kind::swish:
      return x / (1 + std::exp(-x));
    case Kind::abs:
      return std::abs(x);
    case Kind::sin:
      return std::sin(x);
    case Kind::exp:
      return std::exp(x);
    case Kind::pow:
      return x * x;
    default:
      throw NotPlain("plain attention has not this modifier");
  }
}

}  // namespace attnprobe::test
