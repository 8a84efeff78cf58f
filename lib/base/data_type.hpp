// Element types of tensors, by the names that configs and reports use.
#pragma once

#include "enum_names.hpp"

namespace attnprobe {

/// Those of cudnnDataType_t that attention graphs use (cudnn_graph.h).
enum class DataType { f16, bf16, f32, f64, i8, u8, i32, i64, boolean, fp8_e4m3, fp8_e5m2, fp8_e8m0, fp4_e2m1 };

/// The element types of fp8 attention; not fp8_e8m0, which block scales have.
constexpr bool is_fp8(DataType type) {
  return type == DataType::fp8_e4m3 || type == DataType::fp8_e5m2;
}

template <>
struct EnumNames<DataType> {
  static constexpr std::array<std::pair<DataType, std::string_view>, 13> table{{
      {DataType::f16, "f16"},
      {DataType::bf16, "bf16"},
      {DataType::f32, "f32"},
      {DataType::f64, "f64"},
      {DataType::i8, "i8"},
      {DataType::u8, "u8"},
      {DataType::i32, "i32"},
      {DataType::i64, "i64"},
      {DataType::boolean, "boolean"},
      {DataType::fp8_e4m3, "fp8_e4m3"},
      {DataType::fp8_e5m2, "fp8_e5m2"},
      {DataType::fp8_e8m0, "fp8_e8m0"},
      {DataType::fp4_e2m1, "fp4_e2m1"},
  }};
};

}  // namespace attnprobe
