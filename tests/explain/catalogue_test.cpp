// The catalogue of messages: each entry matches its own example, but not a similar line.
#include <algorithm>
#include <set>
#include <string>

#include "answer_to_text.hpp"
#include "catch.hpp"
#include "explain/message_finder.hpp"
#include "explain/messages.hpp"

namespace attnprobe::test::catalogue_test {

using namespace attnprobe::explain;

namespace {

std::set<std::string> found_in(const std::string& text) {
  MessageFinder finder;
  finder.feed(text);
  std::set<std::string> ids;
  for (const auto& hit : finder.finish().messages) ids.insert(hit.message->id);
  return ids;
}

}  // namespace

TEST_CASE("Each message of the catalogue is found in its example, and not in its counter-example", "[catalogue]") {
  size_t entries = 0;
  std::set<std::string> ids;
  for (const Message& message : messages()) {
    if (message.rule != nullptr || message.reason != nullptr) continue;
    ++entries;
    INFO(message.id);
    CHECK(ids.insert(message.id).second);
    CHECK(found_in(message.example).count(message.id) == 1);
    CHECK(found_in(message.counter_example).count(message.id) == 0);
  }
  for (const Message& report : reports()) {
    ++entries;
    INFO(report.id);
    CHECK(ids.insert(report.id).second);
    CHECK(fits(report, report.example));
    CHECK_FALSE(fits(report, report.counter_example));
  }
  CHECK(entries <= 500);
}

TEST_CASE("No wording appears twice in the catalogue", "[catalogue]") {
  std::set<std::string> forms;
  for (const Message& message : messages())
    for (const auto& form : message.match) {
      INFO(message.id << ": " << form);
      if (message.rule == nullptr && message.reason == nullptr) CHECK(forms.insert(form).second);
    }
}

TEST_CASE("A gate's message is answered from the gate's rule, with the values of the message", "[catalogue]") {
  const TextAnswer answer = answer_to(
      "UserWarning: cuDNN SDPA does not support batch size or num_heads greater than 65535. Got batch size: 131072, num_heads: 8");
  REQUIRE_FALSE(answer.refusals.empty());
  CHECK_THAT(answer.refusals.front().headline, ContainsSubstring("PyTorch's gate refused, before cuDNN was asked"));
  CHECK_FALSE(answer.refusals.front().next.empty());
  CHECK_FALSE(answer.refusals.front().source.empty());
}

TEST_CASE("A message that a gate uses for several reasons identifies none of them", "[catalogue]") {
  const TextAnswer answer =
      answer_to("[DEBUG    | DotProductAttention]: Disabling FusedAttention as no backend supports the provided input");
  REQUIRE_FALSE(answer.refusals.empty());
  const auto& refusal = answer.refusals.front();
  CHECK_THAT(refusal.headline, ContainsSubstring("Transformer Engine's gate refused"));
  CHECK_THAT(refusal.means, ContainsSubstring("different reasons and does not say which"));
  CHECK(refusal.means.find("fp8") == std::string::npos);
}

}  // namespace attnprobe::test::catalogue_test
