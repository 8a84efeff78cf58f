// Values of a flat problem derived from a config's sizes, strides and lengths. Not installed.
#pragma once

#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::rules {

/// Whether the head dimension has stride 1 in every tensor.
bool contiguous_head_dim(const attention::AttentionSpec& spec);

/// Whether every tensor has the order batch, token, head, head dimension; `compact`: also without gaps.
bool all_bshd(const attention::AttentionSpec& spec, bool compact);

/// Whether the strides in use are multiples of 16 bytes. PyTorch's nested tensors have a batch stride of 2147483647;
/// their results are correct on an H200 with PyTorch's engine (docs/running.md).
bool strides_of_16_bytes(const attention::AttentionSpec& spec);

/// The first tensor with a stride that is not a multiple of 16 bytes, along an axis with more than one element. The
/// batch axis of a ragged tensor also counts. cudnn-frontend 1.32 checks the same (misaligned_stride_dimension,
/// node_interface.h). Null if every tensor is fine.
Json misaligned_tensor(const attention::AttentionSpec& spec);

/// The largest ragged offset, in the unit of the offsets. Assumes full sequences if neither lengths nor total tokens
/// are given. Null if nothing is ragged.
Json largest_offset(const attention::AttentionSpec& spec);

/// Whether lengths and window leave any query without keys; null if the lengths are unknown.
Json rows_without_keys(const attention::AttentionSpec& spec);

/// The most queries that any batch entry has beyond its keys; negative if all have more keys. Null if the lengths are
/// unknown.
Json queries_over_keys(const attention::AttentionSpec& spec);

/// Whether any batch entry leaves a whole tile of 128 query rows unused; null if the lengths are unknown.
Json unused_query_tile(const attention::AttentionSpec& spec);

/// Whether the window of a tile of 128 query rows begins behind the last tile of 128 keys. Rows of seqlen_q beyond an
/// entry's length count too. Null as above.
Json tile_without_keys(const attention::AttentionSpec& spec);

/// The fewest queries of a batch entry. Null as above.
Json shortest_queries(const attention::AttentionSpec& spec);

}  // namespace attnprobe::rules
