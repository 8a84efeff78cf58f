#include "diagnose/sentence_patterns.hpp"

#include <re2/re2.h>

#include <set>

#include "base/json.hpp"
#include "catch.hpp"
#include "diagnose/search_options.hpp"
#include "support.hpp"

namespace attnprobe::test::sentence_patterns_test {

using namespace attnprobe::diagnose;
using Choices = std::vector<std::vector<std::string>>;

TEST_CASE("The words that each hit of a pattern has are those that nothing in it may leave out", "[sentences]") {
  CHECK(words_of_each_hit("head dimension .{0,20} is not supported") ==
        Choices{{" is not supported"}, {"head dimension "}});
  CHECK(words_of_each_hit("kernels? for (flash|mem efficient)") ==
        Choices{{"kernel"}, {" for "}, {"flash", "mem efficient"}});
  CHECK(words_of_each_hit("attn(_bias)? was") == Choices{{"attn"}, {" was"}});
  CHECK(words_of_each_hit("sm_\\d+ or \\(900\\)") == Choices{{" or (900)"}, {"sm_"}});
  CHECK(words_of_each_hit("first way|the (other|second)") == Choices{{"first way", "other", "second"}});
  CHECK(words_of_each_hit("[a-z]+\\d*").empty());
  CHECK(words_of_each_hit("(a|long one)").empty());
}

TEST_CASE("No text is hit by a pattern whose words it lacks", "[sentences]") {
  const SentencePatterns& patterns = sentence_patterns();
  size_t hits = 0;
  const Json texts = Json::parse(read_text(source_dir() / "tests/fixtures/texts/texts.json"))["texts"];
  for (const Json& entry : texts) {
    const auto text = entry["text"].get<std::string>();
    const std::vector<int> possible = patterns.possible(text);
    const std::set<int> is_possible(possible.begin(), possible.end());
    for (int id = 0; id < patterns.size(); ++id)
      if (RE2::PartialMatch(piece(text), patterns.pattern(id))) {
        ++hits;
        INFO(patterns.pattern(id).pattern() << " in " << text);
        CHECK(is_possible.contains(id));
      }
  }
  CHECK(hits > 269);
}

}  // namespace attnprobe::test::sentence_patterns_test
