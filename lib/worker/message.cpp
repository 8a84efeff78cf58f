#include "worker/message.hpp"

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"

namespace attnprobe::worker {

std::string text_of(const Message& message) {
  if (message.payload.empty()) return json_text(message.json) + "\n";
  Json line = message.json;
  line["bytes"] = message.payload.size();
  return json_text(line) + "\n" + message.payload;
}

std::optional<Message> MessageBuffer::take() {
  if (!begun_) {
    const size_t end = bytes_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    Json line = parse_json_leniently(std::string_view(bytes_).substr(0, end));
    if (!line.is_object() || (line.contains("bytes") && !line["bytes"].is_number_unsigned()))
      throw Error(ErrorKind::internal,
                  "between parent and worker came something that is not a message: " + cut(bytes_));
    bytes_.erase(0, end + 1);
    begun_ = std::move(line);
  }
  const auto size = begun_->value("bytes", size_t{0});
  if (bytes_.size() < size) return std::nullopt;
  Message message{std::move(*begun_), bytes_.substr(0, size)};
  bytes_.erase(0, size);
  begun_.reset();
  return message;
}

}  // namespace attnprobe::worker
