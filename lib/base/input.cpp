#include "base/input.hpp"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/notebook.hpp"
#include "base/utf16.hpp"

namespace attnprobe {
namespace {

using Take = std::function<void(std::string_view)>;

constexpr size_t piece = size_t{256} << 10;

// The file's header determines the decoder's memory; xz -9 needs 65 MiB.
constexpr uint64_t most_decoder_bytes = uint64_t{512} << 20;

// xz packs zeros 7000-fold and logs of cuDNN 150-fold. Any ratio is fine for small contents.
constexpr uint64_t most_expansion = 2000, harmless_bytes = uint64_t{64} << 20;

// Decompresses bytes piece by piece. Returns false when further input cannot produce more output.
class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual bool feed(std::string_view bytes, const Take& take) = 0;
  /// Called at the end of the file. Returns the problem, or "".
  virtual std::string finish() = 0;
};

class Plain : public Decoder {
 public:
  bool feed(std::string_view bytes, const Take& take) override {
    take(bytes);
    return true;
  }
  std::string finish() override { return ""; }
};

class Gzip : public Decoder {
 public:
  Gzip() {
    constexpr int gzip_only = 16;
    if (inflateInit2(&stream_, gzip_only + MAX_WBITS) != Z_OK) throw Error(ErrorKind::internal, "zlib does not start");
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { inflateEnd(&stream_); }

  bool feed(std::string_view bytes, const Take& take) override {
    // zlib does not write to its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    while (stream_.avail_in > 0) {
      // Continues with the next member: `cat a.gz b.gz` makes several.
      if (ended_ && inflateReset(&stream_) != Z_OK) return false;
      ended_ = false;
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      take({buffer_.data(), buffer_.size() - stream_.avail_out});
      ended_ = status == Z_STREAM_END;
      if (status != Z_OK && !ended_) {
        problem_ = fmt::format("its gzip data is broken ({})", stream_.msg != nullptr ? stream_.msg : "zlib");
        return false;
      }
    }
    return true;
  }

  std::string finish() override {
    if (problem_.empty() && !ended_) return "its gzip data is truncated";
    return problem_;
  }

 private:
  z_stream stream_{};
  std::array<char, piece> buffer_{};
  bool ended_ = false;
  std::string problem_;
};

class Xz : public Decoder {
 public:
  Xz() {
    if (lzma_stream_decoder(&stream_, most_decoder_bytes, LZMA_CONCATENATED) != LZMA_OK)
      throw Error(ErrorKind::internal, "liblzma does not start");
  }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;
  ~Xz() override { lzma_end(&stream_); }

  bool feed(std::string_view bytes, const Take& take) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
    stream_.avail_in = bytes.size();
    do {
      if (!step(LZMA_RUN, take)) return false;
    } while (stream_.avail_in > 0 || stream_.avail_out == 0);
    return true;
  }

  std::string finish() override {
    if (!problem_.empty()) return problem_;
    return step(LZMA_FINISH, [](std::string_view) {}) && ended_ ? "" : "its xz data is truncated";
  }

 private:
  bool step(lzma_action action, const Take& take) {
    stream_.next_out = reinterpret_cast<uint8_t*>(buffer_.data());
    stream_.avail_out = buffer_.size();
    const lzma_ret status = lzma_code(&stream_, action);
    take({buffer_.data(), buffer_.size() - stream_.avail_out});
    ended_ = status == LZMA_STREAM_END;
    if (status == LZMA_OK || status == LZMA_BUF_ERROR || ended_) return true;
    if (status == LZMA_MEMLIMIT_ERROR)
      problem_ = fmt::format("decompressing its xz data needs more than {} MiB of memory", most_decoder_bytes >> 20);
    else
      problem_ = fmt::format("its xz data is broken (liblzma error {})", static_cast<int>(status));
    return false;
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::array<char, piece> buffer_{};
  bool ended_ = false;
  std::string problem_;
};

std::unique_ptr<Decoder> decoder_of(std::string_view start) {
  if (start.substr(0, 2) == "\x1f\x8b") return std::make_unique<Gzip>();
  constexpr std::string_view xz_magic("\xFD\x37zXZ\0", 6);
  if (start.substr(0, xz_magic.size()) == xz_magic) return std::make_unique<Xz>();
  return std::make_unique<Plain>();
}

}  // namespace

std::string input_name(const std::string& file) {
  return file == "-" ? "standard input" : file;
}

namespace {

void read_limited(const std::string& file, const Limit& limit, const Take& take, std::string* problem) {
  const auto close = [](std::FILE* f) {
    if (f != stdin) std::fclose(f);
  };
  const std::unique_ptr<std::FILE, decltype(close)> input(file == "-" ? stdin : std::fopen(file.c_str(), "rb"), close);
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::usage, fmt::format("{}: {}", input_name(file), what));
  };
  if (!input) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::array<char, piece> buffer{};
  std::unique_ptr<Decoder> decoder;
  const uint64_t most = value_of(limit);
  uint64_t read = 0, made = 0;
  Utf8Pieces text;
  const Take counted = [&](std::string_view bytes) {
    made += bytes.size();
    if (made > most) fail(fmt::format("it has more than {} bytes; {} allows more", most, limit.variable));
    if (made > harmless_bytes + most_expansion * read)
      fail(fmt::format(
          "its {} bytes so far unpack to {}, more than {} times as many: attnprobe does not read such a file", read,
          made, most_expansion));
    if (!bytes.empty()) text.feed(bytes, take);
  };
  while (const size_t size = std::fread(buffer.data(), 1, buffer.size(), input.get())) {
    const std::string_view bytes(buffer.data(), size);
    read += size;
    if (!decoder) decoder = decoder_of(bytes);
    if (!decoder->feed(bytes, counted)) break;
  }
  if (std::ferror(input.get()) != 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!decoder) return;
  const std::string wrong = decoder->finish();
  text.finish(take);
  if (wrong.empty()) return;
  if (made == 0) fail(wrong);
  if (problem != nullptr) *problem = wrong;
}

}  // namespace

void read_input(const std::string& file, const Take& take, std::string* problem) {
  read_limited(file, limits::log_bytes, take, problem);
}

std::string input_text(const std::string& file) {
  std::string text, problem;
  read_limited(
      file, limits::document_bytes, [&](std::string_view bytes) { text += bytes; }, &problem);
  if (!problem.empty()) throw Error(ErrorKind::usage, fmt::format("{}: {}", input_name(file), problem));
  std::string cells = text_of_notebook(text);
  return cells.empty() ? text : cells;
}

}  // namespace attnprobe
