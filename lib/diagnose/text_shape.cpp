#include "diagnose/text_shape.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "base/number.hpp"
#include "diagnose/search_options.hpp"

namespace attnprobe::diagnose {
namespace {

constexpr size_t most_values = 16;

void add_numbers(std::vector<int64_t>& values, std::string_view text, const RE2& pattern, int64_t least, int64_t most) {
  re2::StringPiece rest = piece(text);
  std::string digits;
  while (RE2::FindAndConsume(&rest, pattern, &digits)) {
    std::erase(digits, ',');
    int64_t value = parse_number<int64_t>(
                        digits.ends_with('k') || digits.ends_with('K') ? digits.substr(0, digits.size() - 1) : digits)
                        .value_or(0);
    if (digits.ends_with('k') || digits.ends_with('K')) value *= 1024;
    if (value < least || value > most || values.size() >= most_values) continue;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
}

}  // namespace

void add_shape(TextShape& shape, std::string_view text) {
  constexpr int64_t most_head_dim = 1024, most_length = int64_t{1} << 24, most_heads = 1024, most_batch = 65'536;
  static const RE2 head_dim(
      "\\bhead[_ -]?(?:dim(?:ension)?s?|size)(?:_qk)?['\"]?(?: ?(?:of|is|=|==|:|to)| was)? ?\\(?(\\d{1,4})\\b",
      any_case());
  static const RE2 head_dim_letter("\\b(?:hdim|d_?head|d_qk|D|d) ?= ?(\\d{2,4})\\b", exact_case());
  static const RE2 length(
      "\\b(?:seq(?:uence)?s?[_ -]?len(?:gth)?s?|max_seq_len|context(?:[_ -]len(?:gth)?)?|n_ctx|input_len)(?:_(?:q|kv))?['\"]?"
      "(?: ?(?:of|is|=|==|:))? ?([\\d,]{1,9}k?)\\b",
      any_case());
  static const RE2 length_letter("\\b(?:S|L|T|seq|s_q|s_kv) ?= ?(\\d{2,7})\\b", exact_case());
  static const RE2 tokens("\\b(\\d{3,7}|\\d{1,4}k) tokens\\b", any_case());
  static const RE2 heads_kv(
      "\\b(?:num[_ ](?:kv|key_value)_heads|n_kv_heads|kv[_ ]heads|heads_kv)['\"]?(?: ?(?:of|is|=|==|:))? ?(\\d{1,4})\\b",
      any_case());
  static const RE2 so_many_heads_kv("\\b(\\d{1,4}) (?:kv|key[ /-]value|key) heads\\b", any_case());
  static const RE2 heads(
      "\\b(?:num_(?:attention_|query_|q_)?heads|n_?heads?|nhead|heads_q)['\"]?(?: ?(?:of|is|=|==|:))? ?(\\d{1,4})\\b",
      any_case());
  static const RE2 so_many_heads("\\b(\\d{1,4}) (?:query |attention |q )?heads\\b", any_case());
  static const RE2 batch("\\b(?:batch(?:[_ ]?size)?|bsz|bs)['\"]?(?: ?(?:of|is|=|==|:))? ?(\\d{1,5})\\b", any_case());
  add_numbers(shape.head_dims, text, head_dim, 1, most_head_dim);
  add_numbers(shape.head_dims, text, head_dim_letter, 8, most_head_dim);
  add_numbers(shape.seqlens, text, length, 1, most_length);
  add_numbers(shape.seqlens, text, length_letter, 16, most_length);
  add_numbers(shape.seqlens, text, tokens, 16, most_length);
  add_numbers(shape.heads_kv, text, heads_kv, 1, most_heads);
  add_numbers(shape.heads_kv, text, so_many_heads_kv, 1, most_heads);
  add_numbers(shape.heads, text, heads, 1, most_heads);
  add_numbers(shape.heads, text, so_many_heads, 1, most_heads);
  add_numbers(shape.batches, text, batch, 1, most_batch);
  static const RE2 causal("\\bis_causal ?= ?True|\\bcausal ?= ?True|\\bcausal\\b", any_case());
  static const RE2 not_causal("non-?causal|not causal|no causal|(?:is_)?causal ?= ?False|bidirectional", any_case());
  static const RE2 backward("backward|\\bbprop|\\bgrad(?:_|ient|s?\\b)|\\bd[QKV]\\b|\\btraining\\b|fine-?tun",
                            any_case());
  static const RE2 forward("\\bforward|fprop|inference|prefill|decod|generat", any_case());
  shape.is_causal = shape.is_causal || has_words(text, causal);
  shape.is_not_causal = shape.is_not_causal || has_words(text, not_causal);
  shape.is_backward = shape.is_backward || has_words(text, backward);
  shape.is_forward = shape.is_forward || has_words(text, forward);
}

}  // namespace attnprobe::diagnose
