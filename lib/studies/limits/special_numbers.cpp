#include "studies/limits/special_numbers.hpp"

#include <algorithm>
#include <set>

#include "attention/spec.hpp"

namespace attnprobe::limits {
namespace {

using attention::AttentionSpec;

struct Size {
  std::string kind;  // the prefix of its fields' names
  int64_t value = 0;
};

std::vector<Size> sizes_of(const AttentionSpec& spec) {
  return {{"batch", spec.batch},
          {"heads", spec.heads_q},
          {"heads", spec.heads_kv},
          {"heads", heads_v(spec)},
          {"seqlen", spec.seqlen_q},
          {"seqlen", spec.seqlen_kv},
          {"head_dim", spec.head_dim_qk},
          {"head_dim", spec.head_dim_v},
          {"window", spec.mask.window_left.value_or(0)},
          {"window", spec.mask.window_right.value_or(0)},
          {"page_size", spec.paged ? spec.paged->block_size : 0}};
}

}  // namespace

std::vector<int64_t> special_numbers(const Question& question, const Row& row) {
  constexpr int64_t multiples_of_kind = 1024, multiples_of_others = 16, largest_divided = 1 << 24;
  const attention::Range& range = *question.axis.range;
  const auto ones = sizes_of(spec_at(question, row, range.first));
  const auto others = sizes_of(spec_at(question, row, range.last));
  std::set<int64_t> numbers;
  const auto add = [&](int64_t value) {
    if (value >= range.first && value <= range.last) numbers.insert(value);
  };
  for (size_t i = 0; i < ones.size(); ++i) {
    const auto& [kind, size] = ones[i];
    // A size that the axis sets differs at the other end.
    if (size <= 1 || size > largest_divided || size != others[i].value) continue;
    for (int64_t divisor = 1; divisor * divisor <= size; ++divisor)
      if (size % divisor == 0) {
        add(divisor);
        add(size / divisor);
      }
    const int64_t most = question.axis.name.starts_with(kind) ? multiples_of_kind : multiples_of_others;
    const int64_t first = std::max<int64_t>(1, (range.first + size - 1) / size);
    for (int64_t k = first; k < first + most && k * size <= range.last; ++k) add(k * size);
  }
  return {numbers.begin(), numbers.end()};
}

}  // namespace attnprobe::limits
