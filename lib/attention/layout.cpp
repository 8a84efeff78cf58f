#include "attention/layout.hpp"

#include <algorithm>
#include <cctype>

#include "base/text.hpp"

namespace attnprobe::attention {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// cuDNN requires a contiguous head_dim, so "d" comes last; the other axes may be in any order.
bool well_formed(std::string_view axes, char digit) {
  std::string letters = without_interleave(axes);
  const auto digits = std::count_if(axes.begin(), axes.end(), is_digit);
  if (digits > 1 || (digits == 1 && axes.find(digit) == std::string_view::npos)) return false;
  if (axes.empty() || axes.back() != 'd') return false;
  std::sort(letters.begin(), letters.end());
  return letters == "bdhs" || (letters == "dht" && axes.front() == 't');
}

}  // namespace

std::string without_interleave(std::string_view axes) {
  std::string letters(axes);
  letters.erase(std::remove_if(letters.begin(), letters.end(), is_digit), letters.end());
  return letters;
}

std::optional<Strides> strides_of(std::string_view axes, const TensorShape& shape) {
  if (!well_formed(axes, '2') && !well_formed(axes, '3')) return std::nullopt;
  Strides strides{};
  int64_t step = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    switch (*axis) {
      case 't':  // ragged; cuDNN expects the dims of a padded batch
        strides[2] = step;
        strides[0] = step * shape.seqlen;
        break;
      case 'b':
        strides[0] = step;
        step *= shape.batch;
        break;
      case 'h':
        strides[1] = step;
        step *= shape.heads;
        break;
      case 's':
        strides[2] = step;
        step *= shape.seqlen;
        break;
      case 'd':
        strides[3] = step;
        step *= shape.head_dim;
        break;
      default:
        step *= *axis - '0';
    }
  }
  return strides;
}

std::optional<std::array<std::string, 3>> split_layout_name(std::string_view name) {
  const std::vector<std::string> groups = split(name, '_');
  const char none = '\0';
  switch (groups.size()) {
    case 1:
      if (!well_formed(groups[0], '3')) return std::nullopt;
      return std::array{groups[0], groups[0], groups[0]};
    case 2:
      if (!well_formed(groups[0], none) || !well_formed(groups[1], '2')) return std::nullopt;
      return std::array{groups[0], groups[1], groups[1]};
    case 3:
      for (const auto& group : groups)
        if (!well_formed(group, none)) return std::nullopt;
      return std::array{groups[0], groups[1], groups[2]};
    default:
      return std::nullopt;
  }
}

std::vector<std::string> common_layout_names() {
  return {"bshd",       "bhsd",       "sbhd",       "bs3hd", "bsh3d", "sb3hd", "sbh3d",    "bshd_bs2hd",
          "bshd_bsh2d", "sbhd_sb2hd", "sbhd_sbh2d", "thd",   "t3hd",  "th3d",  "thd_t2hd", "thd_th2d"};
}

}  // namespace attnprobe::attention
