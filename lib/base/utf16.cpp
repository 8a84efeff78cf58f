#include "base/utf16.hpp"

#include <utility>

namespace attnprobe {
namespace {

constexpr size_t telling_bytes = 4;
constexpr char32_t replacement = 0xfffd;

bool is_ascii(char c) {
  return c > 0;
}

void add_utf8(std::string& out, char32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_high(char16_t unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}

bool is_low(char16_t unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

}  // namespace

void Utf8Pieces::feed(std::string_view bytes, const Take& take) {
  if (form_ == Form::other) return take(bytes);
  std::string joined;
  if (!pending_.empty()) {
    joined = std::exchange(pending_, "") + std::string(bytes);
    bytes = joined;
  }
  if (form_ == Form::unknown) {
    if (bytes.size() < telling_bytes) {
      pending_ = bytes;
      return;
    }
    if (bytes.starts_with("\xff\xfe") || (is_ascii(bytes[0]) && bytes[1] == 0 && is_ascii(bytes[2]) && bytes[3] == 0))
      form_ = Form::little_endian;
    else if (bytes.starts_with("\xfe\xff") ||
             (bytes[0] == 0 && is_ascii(bytes[1]) && bytes[2] == 0 && is_ascii(bytes[3])))
      form_ = Form::big_endian;
    else
      form_ = Form::other;
    if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff")) bytes.remove_prefix(2);
    if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  }
  if (form_ == Form::other)
    take(bytes);
  else
    convert(bytes, take);
}

void Utf8Pieces::finish(const Take& take) {
  std::string rest;
  if (form_ == Form::unknown || form_ == Form::other)
    rest = pending_;
  else if (high_ || !pending_.empty())
    add_utf8(rest, replacement);
  if (!rest.empty()) take(rest);
}

void Utf8Pieces::convert(std::string_view bytes, const Take& take) {
  std::string out;
  out.reserve(bytes.size());
  for (; bytes.size() >= 2; bytes.remove_prefix(2)) {
    const auto first = static_cast<unsigned char>(bytes[0]), second = static_cast<unsigned char>(bytes[1]);
    add_unit(out, static_cast<char16_t>(form_ == Form::little_endian ? first | second << 8 : first << 8 | second));
  }
  pending_ = bytes;
  if (!out.empty()) take(out);
}

void Utf8Pieces::add_unit(std::string& out, char16_t unit) {
  if (high_ && is_low(unit)) {
    add_utf8(out,
             0x10000 + ((static_cast<char32_t>(*std::exchange(high_, std::nullopt)) - 0xd800) << 10) + (unit - 0xdc00));
    return;
  }
  if (std::exchange(high_, std::nullopt)) add_utf8(out, replacement);
  if (is_high(unit))
    high_ = unit;
  else
    add_utf8(out, is_low(unit) ? replacement : unit);
}

}  // namespace attnprobe
