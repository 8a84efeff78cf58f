// All kernels. For NVRTC, compile.cpp prepends the files included here.
#ifndef ATTNPROBE_RUN_KERNELS
#define ATTNPROBE_RUN_KERNELS

#ifndef __CUDACC_RTC__
#include "run/device/check_kernels.hpp"
#include "run/device/graph_kernels.hpp"
#endif

#define ATTNPROBE_KERNELS(X)       \
  X(pointwise, PointwiseArgs)      \
  X(matmul, MatmulArgs)            \
  X(reduce_parts, ReduceArgs)      \
  X(reduce_join_parts, ReduceArgs) \
  X(paged_load, PagedArgs)         \
  X(dequantize, DequantizeArgs)    \
  X(block_mask, BlockMaskArgs)     \
  X(rope, RopeArgs)                \
  X(fill, FillArgs)                \
  X(read_mask, ReadMaskArgs)       \
  X(cover, CoverArgs) X(check_memory, CheckMemoryArgs) X(compare, CompareArgs) X(difference, DifferenceArgs)

#endif
