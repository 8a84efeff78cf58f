#include "trace/engine_lines.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace attnprobe::trace {
namespace {

// The heads of its logger's lines (transformer_engine/pytorch/attention/dot_product_attention/utils.py,
// AttentionLogging: "[%(levelname)-8s | %(name)-19s]: %(message)s", seen in 1.13 to 2.10).
constexpr std::array<std::string_view, 2> engine_heads{"[DEBUG    | DotProductAttention]: ",
                                                       "[INFO     | DotProductAttention]: "};

bool may_become_head(std::string_view text) {
  return std::any_of(engine_heads.begin(), engine_heads.end(),
                     [&](std::string_view head) { return head.starts_with(text); });
}

bool has_head(std::string_view text) {
  return std::any_of(engine_heads.begin(), engine_heads.end(),
                     [&](std::string_view head) { return text.starts_with(head); });
}

}  // namespace

std::string EngineLines::without(std::string_view piece) {
  if (keep_all_) return std::string(piece);
  std::string own;
  for (const char c : piece) {
    if (in_own_line_) {
      own += c;
    } else if (!in_engine_line_) {
      held_ += c;
      in_engine_line_ = has_head(held_);
      in_own_line_ = !in_engine_line_ && !may_become_head(held_);
      if (in_own_line_) own += held_;
      if (in_own_line_ || in_engine_line_) held_.clear();
    }
    if (c == '\n') in_own_line_ = in_engine_line_ = false;
  }
  return own;
}

std::string EngineLines::rest() {
  return std::exchange(held_, "");
}

}  // namespace attnprobe::trace
