// Converts UTF-16, as PowerShell's `>` and Windows editors write it, to UTF-8.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attnprobe {

/// Converts text that arrives in pieces of any size. The first bytes show the encoding: a byte order mark, which is
/// dropped, or two ASCII characters with a NUL each. Other text passes unchanged, in the same pieces.
class Utf8Pieces {
 public:
  using Take = std::function<void(std::string_view)>;

  void feed(std::string_view bytes, const Take& take);
  /// Call at the end of the text.
  void finish(const Take& take);

 private:
  enum class Form { unknown, other, little_endian, big_endian };

  void convert(std::string_view bytes, const Take& take);
  void add_unit(std::string& out, char16_t unit);

  Form form_ = Form::unknown;
  std::string pending_;           // too few bytes to detect the encoding, or half a unit
  std::optional<char16_t> high_;  // a surrogate without its other half yet
};

}  // namespace attnprobe
