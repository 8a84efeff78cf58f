#include "diagnose/text_lines.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "diagnose/search_options.hpp"

namespace attnprobe::diagnose {

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({text.substr(begin, end - begin), static_cast<int64_t>(lines.size()) + 1});
    begin = end + 1;
  }
  return lines;
}

std::string_view frames_above(const std::vector<Line>& lines, size_t at) {
  constexpr size_t most = 16;
  if (at >= lines.size()) return {};
  const char* begin = lines[at - std::min(at, most)].text.data();
  return {begin, static_cast<size_t>(lines[at].text.data() - begin)};
}

const RE2& attention_words() {
  static const RE2 words(
      "attention|\\battn|_attn|sdpa\\b|scaled_dot_product|\\bsdp_|flash_?att|\\bfmha\\b|\\bmha\\b|sageattn|sage ?att|"
      "mem_eff|softmax_scale|multihead|transformerencoder|encoder_layer|use_nested_tensor|cudnn_att|cudnn_frontend|head_?dim\\b|head_?size|kv[ _-]?cache|context[ _-]?parallel|packed_seq_params|is_sm[89]0\\b|supportMMA|mma layout|"
      "_ATTN\\b|sparse_attn|fused-attention|block_mask|score_mod|inter-document|cu_?seq_?lens|seqlens_[qk]\\b|\\bvarlen\\b|myelin|\\bfa-?[234]\\b|\\btmem\\b",
      any_case());
  return words;
}

}  // namespace attnprobe::diagnose
