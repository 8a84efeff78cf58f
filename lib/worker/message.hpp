// A message on a worker's socket: a line of JSON, optionally followed by bytes. Graphs and findings are bytes, because
// JSON would cost a tenth of cuDNN's answer time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace attnprobe::worker {

struct Message {
  Json json;            ///< an object
  std::string payload;  ///< from pack() in archive.hpp, or ""
};

/// The line, with "bytes" if there is a payload, and the payload.
std::string text_of(const Message& message);

/// Assembles messages from bytes as they arrive.
class MessageBuffer {
 public:
  void append(std::string_view bytes) { bytes_.append(bytes); }
  /// The next message, once it is complete. Throws Error(internal) for an invalid message, and before reading a message
  /// above limits::message_bytes.
  std::optional<Message> take();

 private:
  std::string bytes_;
  size_t searched_ = 0;        // bytes_ before this have no line end
  std::optional<Json> begun_;  // the message's line, while its payload is incomplete
};

}  // namespace attnprobe::worker
