#include "rules/geometry.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace attnprobe::rules {
namespace {

using attention::AttentionSpec;

// A tensor's sizes and strides, in the order batch, head, token, head dimension.
struct StridedTensor {
  std::string_view name;
  attention::Strides sizes, strides;
  DataType type;
  bool ragged;  // offsets locate a sequence, not the batch stride
};

// Q, K, V and O; for bprop also dO, dQ, dK and dV. A paged K or V is a pool of blocks and is ignored.
std::vector<StridedTensor> strided_tensors(const AttentionSpec& s) {
  const attention::Strides q{s.batch, s.heads_q, s.seqlen_q, s.head_dim_qk};
  const attention::Strides k{s.batch, s.heads_kv, s.seqlen_kv, s.head_dim_qk};
  const attention::Strides v{s.batch, heads_v(s), s.seqlen_kv, s.head_dim_v};
  const attention::Strides o{s.batch, s.heads_q, s.seqlen_q, s.head_dim_v};
  std::vector<StridedTensor> tensors{{"Q", q, q_strides(s), s.dtype, s.q.ragged()}};
  if (!s.paged || !s.paged->k) tensors.push_back({"K", k, k_strides(s), s.dtype, s.k.ragged()});
  if (!s.paged || !s.paged->v) tensors.push_back({"V", v, v_strides(s), s.dtype, s.v.ragged()});
  tensors.push_back({"O", o, o_strides(s), output_type(s), s.q.ragged()});
  if (is_bprop(s)) {
    tensors.push_back({"dO", o, d_o_strides(s), d_output_type(s), s.q.ragged()});
    tensors.push_back({"dQ", q, dq_strides(s), gradient_type(s), s.q.ragged()});
    tensors.push_back({"dK", k, dk_strides(s), gradient_type(s), s.k.ragged()});
    tensors.push_back({"dV", v, dv_strides(s), gradient_type(s), s.v.ragged()});
  }
  return tensors;
}

// Order batch, token, head, head dimension, with stride 1 for the last. An axis of size 1 may be anywhere; so may the
// batch axis of ragged sequences. `compact`: without gaps.
bool is_bshd(const StridedTensor& tensor, bool ragged, bool compact) {
  int64_t least = 1;
  for (const size_t axis : {3U, 1U, 2U, 0U}) {
    if (tensor.sizes[axis] == 1 || (axis == 0 && ragged)) continue;
    const int64_t stride = tensor.strides[axis];
    if (axis == 3 || compact ? stride != least : stride < least) return false;
    least = stride * tensor.sizes[axis];
  }
  return true;
}

// The number of tokens of all sequences, for queries or keys.
double all_tokens(const AttentionSpec& s, bool of_queries) {
  const auto& lengths = of_queries ? s.mask.seqlens_q : s.mask.seqlens_kv;
  const auto& total = of_queries ? s.max_total_seqlen_q : s.max_total_seqlen_kv;
  if (!lengths.empty()) return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
  if (total) return static_cast<double>(*total);
  return static_cast<double>(s.batch) * static_cast<double>(of_queries ? s.seqlen_q : s.seqlen_kv);
}

// The key on the diagonal of the first query.
int64_t first_on_diagonal(const attention::Mask& mask, int64_t queries, int64_t keys) {
  return mask.alignment == attention::Alignment::bottom_right ? keys - queries : 0;
}

bool has_row_without_keys(const attention::Mask& mask, int64_t queries, int64_t keys) {
  if (queries == 0) return false;
  const int64_t shift = first_on_diagonal(mask, queries, keys);
  // The last row sees the last keys, the first row the first keys.
  return keys == 0 || (mask.window_left && queries - 1 + shift - *mask.window_left >= keys) ||
         (mask.window_right && shift + *mask.window_right < 0);
}

// Kernels compute 128 rows of queries or keys at a time.
constexpr int64_t rows_of_tile = 128;
int64_t tiles(int64_t rows) {
  return (rows + rows_of_tile - 1) / rows_of_tile;
}

// The numbers of queries and keys of each batch entry; none if padding hides unknown lengths.
std::vector<std::pair<int64_t, int64_t>> entries_of(const AttentionSpec& s) {
  const attention::Mask& mask = s.mask;
  if (!mask.padding) return {{s.seqlen_q, s.seqlen_kv}};
  std::vector<std::pair<int64_t, int64_t>> entries;
  for (size_t i = 0; i < std::min(mask.seqlens_q.size(), mask.seqlens_kv.size()); ++i)
    entries.emplace_back(mask.seqlens_q[i], mask.seqlens_kv[i]);
  return entries;
}

// Whether any batch entry's numbers of queries and keys are as asked; null if they are unknown.
Json any_entry(const AttentionSpec& s, const std::function<bool(int64_t, int64_t)>& asked) {
  const auto entries = entries_of(s);
  if (entries.empty()) return {};
  return std::any_of(entries.begin(), entries.end(),
                     [&](const auto& entry) { return asked(entry.first, entry.second); });
}

}  // namespace

bool contiguous_head_dim(const AttentionSpec& s) {
  std::vector<attention::Strides> strides{q_strides(s), k_strides(s), v_strides(s), o_strides(s)};
  if (is_bprop(s)) {
    for (const auto& gradient : {d_o_strides(s), dq_strides(s), dk_strides(s), dv_strides(s)})
      strides.push_back(gradient);
  }
  return std::all_of(strides.begin(), strides.end(), [](const auto& of_one) { return of_one[3] == 1; });
}

bool all_bshd(const AttentionSpec& s, bool compact) {
  const auto tensors = strided_tensors(s);
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const StridedTensor& tensor) { return is_bshd(tensor, is_ragged(s), compact); });
}

bool strides_of_16_bytes(const AttentionSpec& s) {
  constexpr int64_t bits = 128;
  const auto tensors = strided_tensors(s);
  return std::all_of(tensors.begin(), tensors.end(), [&](const StridedTensor& tensor) {
    for (const size_t axis : {0U, 1U, 2U})
      if (tensor.sizes[axis] > 1 && !(axis == 0 && tensor.ragged) &&
          tensor.strides[axis] * bits_of(tensor.type) % bits != 0)
        return false;
    return true;
  });
}

Json misaligned_tensor(const AttentionSpec& s) {
  constexpr int64_t alignment = 16;
  for (const StridedTensor& one : strided_tensors(s))
    for (size_t i = 0; i < one.sizes.size(); ++i)
      if (one.sizes[i] > 1 && one.strides[i] != 1 && one.strides[i] * element_size(one.type) % alignment != 0)
        return one.name;
  return {};
}

Json largest_offset(const AttentionSpec& s) {
  if (!is_ragged(s)) return {};
  double largest = 0;
  for (const StridedTensor& one : strided_tensors(s)) {
    if (!one.ragged) continue;
    const bool of_queries = one.name.back() == 'Q' || one.name.back() == 'O';
    const double unit = s.ragged_unit == attention::RaggedUnit::token ? 1 : static_cast<double>(one.strides[2]);
    largest = std::max(largest, all_tokens(s, of_queries) * unit);
  }
  return largest;
}

Json rows_without_keys(const AttentionSpec& s) {
  return any_entry(s, [&](int64_t queries, int64_t keys) { return has_row_without_keys(s.mask, queries, keys); });
}

Json queries_over_keys(const AttentionSpec& s) {
  Json most;
  for (const auto& [queries, keys] : entries_of(s))
    if (most.is_null() || queries - keys > most.get<int64_t>()) most = queries - keys;
  return most;
}

Json shortest_queries(const AttentionSpec& s) {
  Json fewest;
  for (const auto& [queries, keys] : entries_of(s))
    if (fewest.is_null() || queries < fewest.get<int64_t>()) fewest = queries;
  return fewest;
}

Json tile_without_keys(const AttentionSpec& s) {
  if (!s.mask.window_left) return false;
  return any_entry(s, [&](int64_t queries, int64_t keys) {
    const int64_t first_row = (tiles(s.seqlen_q) - 1) * rows_of_tile;
    const int64_t first_key = first_row - *s.mask.window_left + first_on_diagonal(s.mask, queries, keys);
    return first_key >= tiles(keys) * rows_of_tile;
  });
}

Json unused_query_tile(const AttentionSpec& s) {
  return any_entry(s, [&](int64_t queries, int64_t) { return tiles(queries) < tiles(s.seqlen_q); });
}

}  // namespace attnprobe::rules
