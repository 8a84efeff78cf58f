// Pasted texts, and lines of unrelated software.
#include <algorithm>
#include <sstream>
#include <string>

#include "answer_to_text.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "catch.hpp"
#include "explain/explain_text.hpp"
#include "support.hpp"

namespace attnprobe::test::texts_test {

using namespace attnprobe::explain;

namespace {

// Whether the answer names a cause, a layer or a program for the failure.
bool claims(const TextAnswer& answer) {
  return is_established(answer);
}

}  // namespace

TEST_CASE("At most one in two hundred lines of other software is misattributed", "[texts]") {
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

TEST_CASE("Lines unrelated to attention get no answer", "[texts]") {
  std::istringstream lines(fixture("texts/unrelated.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("## ")) continue;
    INFO(line);
    CHECK(answer_to(line).refusals.empty());
  }
}

TEST_CASE("Nine in ten pasted texts are attributed to their layer, and none to a deeper one", "[texts]") {
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

TEST_CASE("Calls refused by PyTorch and JAX are explained by the message or rule that refused them", "[texts]") {
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

TEST_CASE("Reports that people judged keep their answers", "[texts]") {
  const Json texts = Json::parse(unpacked_fixture("texts/judged.json.xz"))["texts"];
  REQUIRE(texts.size() >= 200);
  size_t right = 0;
  for (const Json& text : texts) {
    const std::string id = id_for(text["text"].get<std::string>());
    right += id == text["id"].get<std::string>() ? 1 : 0;
    if (id != text["id"].get<std::string>())
      UNSCOPED_INFO(text["id"] << ", now \"" << id << "\": " << text["text"].get<std::string>().substr(0, 120));
  }
  CHECK(right * 50 >= texts.size() * 49);
}

TEST_CASE("Every answer fits in 15 lines, with the verdict first and the next command last", "[texts][slow]") {
  for (const char* file : {"texts/texts.json", "texts/refused-calls.json"}) {
    const Json texts = Json::parse(fixture(file))["texts"];
    for (const Json& text : texts) {
      INFO(text["text"].get<std::string>());
      const auto give = [&](const auto& take, std::string*) { take(text["text"].get<std::string>()); };
      std::string said;
      try {
        said = explain_text(explain::explain(typed_text, typed_text, give, {false, ""}), {});
      } catch (const Error&) {
        continue;
      }
      CHECK(std::count(said.begin(), said.end(), '\n') <= 15);
      CHECK_FALSE(said.starts_with(' '));
      const size_t next = said.find("\nnext: ");
      if (next != std::string::npos) CHECK(said.find('\n', next + 1) + 1 == said.size());
    }
  }
}

}  // namespace attnprobe::test::texts_test
