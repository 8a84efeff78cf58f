// Other accepted spellings of an enumerator: "bfloat16" for bf16.
#pragma once

#include "data_type.hpp"

namespace attnprobe {

/// Specialise it like EnumNames. The words are read wherever a config or an option has the enum, and never written.
template <class E>
struct EnumWords {
  static constexpr std::array<std::pair<E, std::string_view>, 0> table{};
};

template <>
struct EnumWords<DataType> {
  static constexpr std::array<std::pair<DataType, std::string_view>, 22> table{{
      {DataType::f16, "float16"},
      {DataType::f16, "fp16"},
      {DataType::f16, "half"},
      {DataType::f16, "torch.float16"},
      {DataType::bf16, "bfloat16"},
      {DataType::bf16, "bfp16"},
      {DataType::bf16, "torch.bfloat16"},
      {DataType::f32, "float32"},
      {DataType::f32, "fp32"},
      {DataType::f32, "float"},
      {DataType::f64, "float64"},
      {DataType::f64, "double"},
      {DataType::i8, "int8"},
      {DataType::u8, "uint8"},
      {DataType::i32, "int32"},
      {DataType::i64, "int64"},
      {DataType::fp8_e4m3, "fp8"},
      {DataType::fp8_e4m3, "e4m3"},
      {DataType::fp8_e4m3, "float8_e4m3fn"},
      {DataType::fp8_e4m3, "float8_e4m3"},
      {DataType::fp8_e5m2, "e5m2"},
      {DataType::fp8_e5m2, "float8_e5m2"},
  }};
};

/// Finds an enumerator by its name or another spelling, in any letter case.
template <class E>
std::optional<E> parse_word(std::string text) {
  if (const auto named = parse_enum<E>(text)) return named;
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const auto& [value, word] : EnumWords<E>::table)
    if (word == text) return value;
  return parse_enum<E>(text);
}

}  // namespace attnprobe
