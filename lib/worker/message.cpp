#include "worker/message.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

namespace attnprobe::worker {
namespace {

void check_size(uint64_t size) {
  if (const uint64_t most = value_of(limits::message_bytes); size > most)
    throw Error(
        ErrorKind::internal,
        fmt::format(
            "a message between parent and worker has more than the {} bytes that attnprobe allows; {}={} allows them",
            most, limits::message_bytes.variable, size));
}

}  // namespace

std::string text_of(const Message& message) {
  if (message.payload.empty()) return json_text(message.json) + "\n";
  Json line = message.json;
  line["bytes"] = message.payload.size();
  return json_text(line) + "\n" + message.payload;
}

std::optional<Message> MessageBuffer::take() {
  if (!begun_) {
    const size_t end = bytes_.find('\n', searched_);
    if (end == std::string::npos) {
      check_size(searched_ = bytes_.size());
      return std::nullopt;
    }
    searched_ = 0;
    Json line = parse_json_leniently(std::string_view(bytes_).substr(0, end));
    if (!line.is_object() || (line.contains("bytes") && !line["bytes"].is_number_unsigned()))
      throw Error(ErrorKind::internal, "invalid message between parent and worker: " + cut(bytes_));
    bytes_.erase(0, end + 1);
    begun_ = std::move(line);
    check_size(begun_->value("bytes", uint64_t{0}));
  }
  const auto size = begun_->value("bytes", size_t{0});
  if (bytes_.size() < size) return std::nullopt;
  Message message{std::move(*begun_), bytes_.substr(0, size)};
  bytes_.erase(0, size);
  begun_.reset();
  return message;
}

}  // namespace attnprobe::worker
