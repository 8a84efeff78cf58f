// Messages between parent and worker: in pieces, and invalid ones from a crashed worker.
#include "worker/message.hpp"

#include "base/error.hpp"
#include "catch.hpp"

namespace attnprobe::test::message_test {

using worker::Message;
using worker::MessageBuffer;
using worker::text_of;

namespace {

std::string refusal(const std::string& bytes) {
  MessageBuffer buffer;
  buffer.append(bytes);
  try {
    buffer.take();
  } catch (const Error& e) {
    return e.kind() == ErrorKind::internal ? e.what() : "another kind of error";
  }
  return "taken";
}

}  // namespace

TEST_CASE("a message is assembled from any split", "[worker]") {
  const std::string text = text_of({{{"a", 1}}, "line\nand line"}) + text_of({{{"b", 2}}, ""});
  MessageBuffer buffer;
  std::vector<Message> messages;
  for (const char c : text) {
    buffer.append({&c, 1});
    while (auto message = buffer.take()) messages.push_back(*message);
  }
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].json["a"] == 1);
  CHECK(messages[0].payload == "line\nand line");
  CHECK(messages[1].json["b"] == 2);
}

TEST_CASE("a message that claims too much or has no end is refused early", "[worker]") {
  const char* const too_many =
      "a message between parent and worker has more than the 2147483648 bytes that attnprobe allows; ATTNPROBE_MAX_MESSAGE_BYTES=9999999999 allows them";
  CHECK(refusal("{\"bytes\": 9999999999}\n") == too_many);
  setenv("ATTNPROBE_MAX_MESSAGE_BYTES", "1000", 1);
  CHECK_THAT(refusal(std::string(1001, 'x')), ContainsSubstring("more than the 1000 bytes"));
  CHECK(refusal("{\"bytes\": 999}\n") == "taken");
  unsetenv("ATTNPROBE_MAX_MESSAGE_BYTES");
  CHECK_THAT(refusal("{\"bytes\": -1}\n"), ContainsSubstring("invalid message between parent and worker"));
  CHECK_THAT(refusal("hello\n"), ContainsSubstring("invalid message between parent and worker: hello"));
}

}  // namespace attnprobe::test::message_test
