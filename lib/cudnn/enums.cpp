#include "cudnn/enums.hpp"

#include "base/error.hpp"

namespace attnprobe::cudnn {

cudnnDataType_t cudnn_value(DataType type) {
  switch (type) {
    case DataType::f16:
      return CUDNN_DATA_HALF;
    case DataType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DataType::f32:
      return CUDNN_DATA_FLOAT;
    case DataType::f64:
      return CUDNN_DATA_DOUBLE;
    case DataType::i8:
      return CUDNN_DATA_INT8;
    case DataType::u8:
      return CUDNN_DATA_UINT8;
    case DataType::i32:
      return CUDNN_DATA_INT32;
    case DataType::i64:
      return CUDNN_DATA_INT64;
    case DataType::boolean:
      return CUDNN_DATA_BOOLEAN;
    case DataType::fp8_e4m3:
      return CUDNN_DATA_FP8_E4M3;
    case DataType::fp8_e5m2:
      return CUDNN_DATA_FP8_E5M2;
    case DataType::fp8_e8m0:
      return CUDNN_DATA_FP8_E8M0;
    case DataType::fp4_e2m1:
      return CUDNN_DATA_FP4_E2M1;
    case DataType::byte_boolean: {
      constexpr int number = 22;  // CUDNN_DATA_BYTE_BOOLEAN, which older headers lack
      return static_cast<cudnnDataType_t>(number);
    }
  }
  throw Error(ErrorKind::internal, "unknown data type");
}

#define ATTNPROBE_POINTWISE_CASE(name) \
  case graph::PointwiseMode::name:     \
    return CUDNN_POINTWISE_##name;
cudnnPointwiseMode_t cudnn_value(graph::PointwiseMode mode) {
  switch (mode) { ATTNPROBE_POINTWISE_MODES(ATTNPROBE_POINTWISE_CASE) }
  throw Error(ErrorKind::internal, "unknown pointwise mode");
}
#undef ATTNPROBE_POINTWISE_CASE

#define ATTNPROBE_REDUCTION_CASE(name) \
  case graph::ReductionOperator::name: \
    return CUDNN_REDUCE_TENSOR_##name;
cudnnReduceTensorOp_t cudnn_value(graph::ReductionOperator op) {
  switch (op) { ATTNPROBE_REDUCTION_OPERATORS(ATTNPROBE_REDUCTION_CASE) }
  throw Error(ErrorKind::internal, "unknown reduction operator");
}
#undef ATTNPROBE_REDUCTION_CASE

#define ATTNPROBE_REORDERING_CASE(name) \
  case graph::Reordering::name:         \
    return CUDNN_TENSOR_REORDERING_##name;
cudnnBackendTensorReordering_t cudnn_value(graph::Reordering reordering) {
  switch (reordering) { ATTNPROBE_REORDERINGS(ATTNPROBE_REORDERING_CASE) }
  throw Error(ErrorKind::internal, "unknown reordering");
}
#undef ATTNPROBE_REORDERING_CASE

#define ATTNPROBE_DISTRIBUTION_CASE(name) \
  case graph::RngDistribution::name:      \
    return CUDNN_RNG_DISTRIBUTION_##name;
cudnnRngDistribution_t cudnn_value(graph::RngDistribution distribution) {
  switch (distribution) { ATTNPROBE_RNG_DISTRIBUTIONS(ATTNPROBE_DISTRIBUTION_CASE) }
  throw Error(ErrorKind::internal, "unknown distribution");
}
#undef ATTNPROBE_DISTRIBUTION_CASE

}  // namespace attnprobe::cudnn
