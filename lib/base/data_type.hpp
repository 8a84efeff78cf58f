// Element types of tensors, under the names that configs and reports use.
#pragma once

#include <cstdint>

#include "base/enum_names.hpp"

namespace attnprobe {

/// The values of cudnnDataType_t (cudnn_graph.h) that attention graphs use.
enum class DataType {
  f16,
  bf16,
  f32,
  f64,
  i8,
  u8,
  i32,
  i64,
  boolean,
  fp8_e4m3,
  fp8_e5m2,
  fp8_e8m0,
  fp4_e2m1,
  byte_boolean
};
ATTNPROBE_ENUM(DataType, f16, bf16, f32, f64, i8, u8, i32, i64, boolean, fp8_e4m3, fp8_e5m2, fp8_e8m0, fp4_e2m1,
               byte_boolean)

/// The element types of fp8 attention. fp8_e8m0 is not included: only block scales use it.
constexpr bool is_fp8(DataType type) {
  return type == DataType::fp8_e4m3 || type == DataType::fp8_e5m2;
}

/// Bits of a packed element.
constexpr int bits_of(DataType type) {
  switch (type) {
    case DataType::f64:
    case DataType::i64:
      return 64;
    case DataType::f32:
    case DataType::i32:
      return 32;
    case DataType::f16:
    case DataType::bf16:
      return 16;
    case DataType::i8:
    case DataType::u8:
    case DataType::fp8_e4m3:
    case DataType::fp8_e5m2:
    case DataType::fp8_e8m0:
    case DataType::byte_boolean:
      return 8;
    case DataType::fp4_e2m1:
      return 4;
    // One bit when packed. A boolean of one byte is byte_boolean (from cuDNN 9.25).
    case DataType::boolean:
      return 1;
  }
  return 0;
}

/// Bytes of one unpacked element.
constexpr int64_t element_size(DataType type) {
  constexpr int byte = 8;
  return (bits_of(type) + byte - 1) / byte;
}

}  // namespace attnprobe
