// Detects who refused, in any text: an exception, a warning, a CI log of 100 MB. Needs no cuDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "explain/facts.hpp"
#include "explain/messages.hpp"

namespace attnprobe::explain {

/// The place of a match in a text.
struct Place {
  std::string said;        ///< the longest matched text of all occurrences
  std::string line;        ///< the plain line (plain_line()) in which it begins, shortened if long
  int64_t first_line = 0;  ///< of the first occurrence, from 1
  int64_t times = 0;       ///< number of occurrences
  bool in_log = true;      ///< only in lines of cuDNN's log, which also has errors that programs recover from
  friend bool operator==(const Place&, const Place&) = default;
};

/// A sentence of the catalogue.
struct MessageHit {
  const Message* message = nullptr;
  size_t match = 0;  ///< index of the form with the longest match
  Place place;
};

struct TextFindings {
  std::vector<MessageHit> messages;  ///< each once, in the order of messages()
  TextFacts facts;                   ///< from the surrounding text
  int64_t lines = 0;
  std::string pasted;  ///< the plain lines of a text short enough to paste, with line ends; "" for longer texts
};

/// Accepts a text in pieces of any size; memory does not grow with the text. In a text short enough to paste, it also
/// finds sentences across line ends, because terminals and mail programs wrap them.
class MessageFinder {
 public:
  MessageFinder();
  ~MessageFinder();
  MessageFinder(MessageFinder&&) noexcept;
  MessageFinder& operator=(MessageFinder&&) noexcept;
  MessageFinder(const MessageFinder&) = delete;
  MessageFinder& operator=(const MessageFinder&) = delete;

  void feed(std::string_view bytes);
  TextFindings finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace attnprobe::explain
