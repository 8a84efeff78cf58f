// Pasted texts, and lines of unrelated software.
#include <algorithm>
#include <sstream>
#include <string>

#include "answer_to_text.hpp"
#include "base/json.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::texts_test {

using namespace attnprobe::explain;

namespace {

// Whether it names a cause, a layer or a program for the failure.
bool claims(const TextAnswer& answer) {
  return is_established(answer);
}

}  // namespace

TEST_CASE("Lines that other software prints are claimed in at most one of two hundred", "[texts]") {
  std::istringstream lines(fixture("texts/other-software.txt"));
  size_t count = 0, claimed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("## ")) continue;
    ++count;
    if (!claims(asked_answer_to(line))) continue;
    ++claimed;
    UNSCOPED_INFO(line);
  }
  CHECK(count >= 500);
  CHECK(claimed * 200 <= count);
}

TEST_CASE("Nothing is said of lines that have nothing to do with attention", "[texts]") {
  std::istringstream lines(fixture("texts/unrelated.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("## ")) continue;
    INFO(line);
    CHECK(answer_to(line).refusals.empty());
  }
}

TEST_CASE("Of the texts that people pasted nine in ten are answered in their layer, and none in a deeper one",
          "[texts]") {
  const Json texts = Json::parse(fixture("texts/texts.json"))["texts"];
  size_t right = 0;
  for (const Json& text : texts) {
    const TextAnswer answer = answer_to(text["text"].get<std::string>());
    const bool is_right =
        !answer.refusals.empty() && name_of(answer.refusals.front().layer) == text["layer"].get<std::string>();
    right += is_right ? 1 : 0;
    if (!is_right) UNSCOPED_INFO(text["id"]);
  }
  CHECK(right * 10 >= texts.size() * 9);
}

TEST_CASE("Calls that PyTorch and JAX refused are answered by the message or the rule that refused them", "[texts]") {
  const Json texts = Json::parse(fixture("texts/refused-calls.json"))["texts"];
  size_t right = 0;
  for (const Json& text : texts) {
    const TextAnswer answer = answer_to(text["text"].get<std::string>());
    const bool is_right = !answer.refusals.empty() && answer.refusals.front().id == text["id"].get<std::string>();
    right += is_right ? 1 : 0;
    if (!is_right)
      UNSCOPED_INFO(text["id"] << ": " << (answer.refusals.empty() ? "nothing" : answer.refusals.front().id));
  }
  CHECK(right * 10 >= texts.size() * 9);
}

}  // namespace attnprobe::test::texts_test
