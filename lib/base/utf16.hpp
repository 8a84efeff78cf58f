// UTF-16 as UTF-8: what PowerShell's `>` and editors of Windows write.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attnprobe {

/// Passes text on as UTF-8, however its bytes are cut. Which form it has, its first bytes tell: a byte order mark, which
/// is dropped, or a NUL beside each of two ASCII characters. Other text is passed on as it is, in the pieces that came.
class Utf8Pieces {
 public:
  using Take = std::function<void(std::string_view)>;

  void feed(std::string_view bytes, const Take& take);
  /// The text is at its end.
  void finish(const Take& take);

 private:
  enum class Form { unknown, other, little_endian, big_endian };

  void convert(std::string_view bytes, const Take& take);
  void add_unit(std::string& out, char16_t unit);

  Form form_ = Form::unknown;
  std::string pending_;           // less than it takes to tell the form, or half a unit
  std::optional<char16_t> high_;  // a surrogate whose other half has not come
};

}  // namespace attnprobe
