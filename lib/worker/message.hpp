// What goes through a worker's socket: a line of JSON, and behind it bytes where it says so. Graphs and findings are
// such bytes: as JSON they would cost a tenth of what cuDNN's answer takes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace attnprobe::worker {

struct Message {
  Json json;            ///< an object
  std::string payload;  ///< of pack() in archive.hpp; "" for none
};

/// The line, with "bytes" where there is a payload, and the payload.
std::string text_of(const Message& message);

/// Messages out of bytes as they come.
class MessageBuffer {
 public:
  void append(std::string_view bytes) { bytes_.append(bytes); }
  /// The next message, once all of it is there. Throws Error(internal) for what is not one, and for one of more than
  /// limits::message_bytes, before these are there.
  std::optional<Message> take();

 private:
  std::string bytes_;
  size_t searched_ = 0;        // bytes_ up to here are without the end of a line
  std::optional<Json> begun_;  // the line, while its payload is awaited
};

}  // namespace attnprobe::worker
