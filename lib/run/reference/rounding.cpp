#include "run/reference/rounding.hpp"

#include <cmath>
#include <map>
#include <set>

#include "graph/operation_table.hpp"

namespace attnprobe::run {

using graph::Uid;

// Ten bits, truncated.
constexpr double tf32_unit = 0x1p-10;

Rounding rounding_of(DataType type) {
  // bf16 and f32 have numbers down to 1e-38. Kernels flush smaller numbers to zero, and also products of small P.
  constexpr double tiny = 0x1p-100;
  switch (type) {
    case DataType::f16:
      return {0x1p-11,
              0x1p-24};  // a whole step: 7 of 842,863 elements of a dBias near 1e-5 were beyond half a step (H200)
    case DataType::bf16:
      return {0x1p-8, tiny};
    case DataType::fp8_e4m3:
      return {0x1p-4, 0x1p-10};
    case DataType::fp8_e5m2:
      return {0x1p-3, 0x1p-17};
    case DataType::f32:
    case DataType::f64:
      return {0x1p-22, tiny};
    default:
      return {};
  }
}

DataType coarser(DataType a, DataType b) {
  return rounding_of(b).unit > rounding_of(a).unit ? b : a;
}

Rounding rounding_in_matmul(DataType type) {
  Rounding rounding = rounding_of(type);
  if (type == DataType::f32) rounding.unit = tf32_unit;
  return rounding;
}

double sums_unit(DataType factors) {
  return is_fp8(factors) ? 0x1p-13 : 0x1p-22;
}

double cut_off(DataType factors) {
  return factors == DataType::f32 ? 2 * tf32_unit : 0;
}

DataType multiplied_in(const graph::OpGraph& graph) {
  std::map<Uid, Uid> from;  // operations that only move or scale an input
  std::set<Uid> factors;
  for (const auto& operation : graph.operations) {
    if (const auto* reshape = std::get_if<graph::Reshape>(&operation)) from[reshape->y] = reshape->x;
    if (const auto* load = std::get_if<graph::PagedCacheLoad>(&operation)) from[load->y] = load->container;
    if (const auto* scaled = std::get_if<graph::BlockScaleDequantize>(&operation)) from[scaled->y] = scaled->x;
    if (const auto* matmul = std::get_if<graph::Matmul>(&operation))
      for (Uid uid : {matmul->a, matmul->b}) {
        for (auto it = from.find(uid); it != from.end(); it = from.find(uid)) uid = it->second;
        factors.insert(uid);
      }
  }
  DataType type = DataType::f32;
  for (const Uid uid : factors)
    if (const auto& t = tensor(graph, uid); !t.is_virtual) type = coarser(type, t.data_type);
  return type;
}

}  // namespace attnprobe::run
