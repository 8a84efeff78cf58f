// What follows from the sizes, strides and lengths of a config, for the keys of a flat problem. Not installed.
#pragma once

#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::rules {

/// Whether the head dimension has stride 1 in every tensor.
bool contiguous_head_dim(const attention::AttentionSpec& spec);

/// Whether every tensor lies as batch, token, head, head dimension; `compact`: without gaps.
bool all_bshd(const attention::AttentionSpec& spec, bool compact);

/// Whether the strides that are stepped over are multiples of 16 bytes. PyTorch's nested tensors have a batch stride of
/// 2147483647, and are right on an H200 with the engine that PyTorch takes (docs/running.md).
bool strides_of_16_bytes(const attention::AttentionSpec& spec);

/// The first tensor with a stride that is no multiple of 16 bytes, as cudnn-frontend 1.32 checks it
/// (misaligned_stride_dimension, node_interface.h): along an axis that has more than one element, the batch of a ragged
/// tensor too. Null where every tensor is fine.
Json misaligned_tensor(const attention::AttentionSpec& spec);

/// The largest ragged offset, in what offsets count: that of full sequences where neither their lengths nor the number
/// of all tokens are given. Null where nothing is ragged.
Json largest_offset(const attention::AttentionSpec& spec);

/// Whether some query has no key that lengths and window let through; null where the lengths are not given.
Json rows_without_keys(const attention::AttentionSpec& spec);

}  // namespace attnprobe::rules
