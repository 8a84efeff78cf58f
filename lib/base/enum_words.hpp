// Other accepted spellings of an enumerator: "bfloat16" for bf16.
#pragma once

#include "base/data_type.hpp"
#include "base/plain_word.hpp"

namespace attnprobe {

/// Specialise it like EnumNames. Configs and options accept these words; attnprobe never writes them.
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

/// Finds an enumerator by its name or another spelling, compared as plain words.
template <class E>
std::optional<E> parse_word(std::string_view text) {
  if (const auto named = parse_enum<E>(text)) return named;
  const std::string plain = plain_word(text);
  for (const auto& [value, word] : EnumWords<E>::table)
    if (word == plain) return value;
  for (const auto& [value, name] : EnumNames<E>::table)
    if (plain_word(name) == plain) return value;
  return std::nullopt;
}

}  // namespace attnprobe
