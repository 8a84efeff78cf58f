#include "attention/mask.hpp"

#include <fmt/format.h>

namespace attnprobe::attention {

const std::vector<std::pair<std::string, Mask>>& named_masks() {
  static const std::vector<std::pair<std::string, Mask>> masks{
      {"none", {}},
      {"causal", {.window_right = 0}},
      {"causal_bottom_right", {.window_right = 0, .alignment = Alignment::bottom_right}},
      {"padding", {.padding = true}},
      {"padding_causal", {.window_right = 0, .padding = true}},
      {"padding_causal_bottom_right", {.window_right = 0, .alignment = Alignment::bottom_right, .padding = true}},
  };
  return masks;
}

std::optional<std::string> mask_name(const Mask& mask) {
  for (const auto& [name, named] : named_masks())
    if (named == mask) return name;
  return std::nullopt;
}

std::string describe(const Mask& mask) {
  if (mask.padding_after_stats) {
    Mask usual = mask;
    usual.padding_after_stats = false;
    return describe(usual) + " after_stats";
  }
  if (const auto name = mask_name(mask)) return *name;
  std::string text = mask.window_right == 0 ? "causal" : "band";
  if (mask.window_left) text += fmt::format(" left {}", *mask.window_left);
  if (mask.window_right.value_or(0) > 0) text += fmt::format(" right {}", *mask.window_right);
  if (mask.alignment == Alignment::bottom_right) text += " bottom_right";
  return mask.padding ? "padding " + text : text;
}

}  // namespace attnprobe::attention
