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
  /// The next message, once all of it is there. Throws Error(internal) for what is not one.
  std::optional<Message> take();

 private:
  std::string bytes_;
  std::optional<Json> begun_;  // the line, while its payload is awaited
};

}  // namespace attnprobe::worker
