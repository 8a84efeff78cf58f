// Who refused, from whatever text people have: an exception, a warning, a CI log of 100 MB. Needs no cuDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "answer/reasons.hpp"
#include "explain/facts.hpp"
#include "explain/messages.hpp"

namespace attnprobe::explain {

/// Where in a text something was found.
struct Place {
  std::string said;        ///< what was hit, the longest of all times
  std::string line;        ///< the plain line (plain_line()) in which it begins, cut where it is long
  int64_t first_line = 0;  ///< of the text, from 1: the first time
  int64_t times = 0;       ///< how often
  bool in_log = true;      ///< in lines of cuDNN's log alone: cuDNN says there what programs get over, too
  friend bool operator==(const Place&, const Place&) = default;
};

/// A sentence of the catalogue.
struct MessageHit {
  const Message* message = nullptr;
  size_t match = 0;  ///< which of its forms of words was the longest hit
  Place place;
};

/// One of cuDNN's own reasons, with or without the heading that its log gives it.
struct ReasonHit {
  const answer::KnownReason* reason = nullptr;
  std::string status;  ///< in the same line; "" where there is none
  Place place;
};

struct TextFindings {
  std::vector<MessageHit> messages;  ///< each once, in the order of messages()
  std::vector<ReasonHit> reasons;    ///< each once, those that came furthest first
  TextFacts facts;                   ///< of the text around them
  int64_t lines = 0;
  std::string pasted;  ///< the plain lines with their ends, of a text as people paste it; "" of a longer one
};

/// Takes a text as it comes, in pieces of any size; its memory does not grow with the text. A sentence is found within
/// a line and over the ends of lines, as terminals and mail programs wrap them.
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
