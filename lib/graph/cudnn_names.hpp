// Enumerators under the names of cudnn_graph.h, as cuDNN's log and JSON write them.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/data_type.hpp"
#include "graph/op_graph.hpp"

namespace attnprobe::graph {

/// The prefix of each enumerator's name.
template <class E>
inline constexpr std::string_view cudnn_prefix = "";
template <>
inline constexpr std::string_view cudnn_prefix<PointwiseMode> = "CUDNN_POINTWISE_";
template <>
inline constexpr std::string_view cudnn_prefix<ReductionOperator> = "CUDNN_REDUCE_TENSOR_";
template <>
inline constexpr std::string_view cudnn_prefix<Reordering> = "CUDNN_TENSOR_REORDERING_";
template <>
inline constexpr std::string_view cudnn_prefix<RngDistribution> = "CUDNN_RNG_DISTRIBUTION_";

inline constexpr std::pair<DataType, std::string_view> cudnn_data_types[] = {
    {DataType::f16, "CUDNN_DATA_HALF"},          {DataType::bf16, "CUDNN_DATA_BFLOAT16"},
    {DataType::f32, "CUDNN_DATA_FLOAT"},         {DataType::f64, "CUDNN_DATA_DOUBLE"},
    {DataType::i8, "CUDNN_DATA_INT8"},           {DataType::u8, "CUDNN_DATA_UINT8"},
    {DataType::i32, "CUDNN_DATA_INT32"},         {DataType::i64, "CUDNN_DATA_INT64"},
    {DataType::boolean, "CUDNN_DATA_BOOLEAN"},   {DataType::fp8_e4m3, "CUDNN_DATA_FP8_E4M3"},
    {DataType::fp8_e5m2, "CUDNN_DATA_FP8_E5M2"}, {DataType::fp8_e8m0, "CUDNN_DATA_FP8_E8M0"},
    {DataType::fp4_e2m1, "CUDNN_DATA_FP4_E2M1"}, {DataType::byte_boolean, "CUDNN_DATA_BYTE_BOOLEAN"}};

/// The enumerator of "CUDNN_POINTWISE_MUL"; none for an unknown name.
template <class E>
std::optional<E> parse_cudnn(std::string_view text) {
  if constexpr (std::is_same_v<E, DataType>) {
    for (const auto& [type, name] : cudnn_data_types)
      if (name == text) return type;
    return std::nullopt;
  } else {
    constexpr std::string_view prefix = cudnn_prefix<E>;
    if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
    return parse_enum<E>(text.substr(prefix.size()));
  }
}

/// Every name that parse_cudnn accepts.
template <class E>
std::vector<std::string> cudnn_names_of() {
  std::vector<std::string> names;
  if constexpr (std::is_same_v<E, DataType>) {
    for (const auto& [type, name] : cudnn_data_types) names.emplace_back(name);
  } else {
    for (const auto& name : names_of<E>()) names.push_back(std::string(cudnn_prefix<E>) + name);
  }
  return names;
}

/// Parses a text that is one whole integer.
inline std::optional<Uid> parse_uid(std::string_view text) {
  Uid value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace attnprobe::graph
