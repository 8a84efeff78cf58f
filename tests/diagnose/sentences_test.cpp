// Who refused, from texts that people pasted: the catalogue of sentences, and the search for them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "answer_to_text.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "diagnose/pasted_text.hpp"
#include "diagnose/sentence_finder.hpp"
#include "diagnose/text_answer.hpp"
#include "support.hpp"

namespace attnprobe::test::sentences_test {

using namespace attnprobe::diagnose;

namespace {

std::string small(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Json pasted_texts() {
  return Json::parse(read_text(source_dir() / "tests/fixtures/texts/texts.json"))["texts"];
}

// All that an answer says, with the text that it is about.
std::string words_of(const TextAnswer& answer) {
  return small(Json(answer).dump());
}

std::string first_id(const std::string& text) {
  const TextAnswer answer = answer_to(text);
  return answer.refusals.empty() ? "" : answer.refusals.front().id;
}

}  // namespace

TEST_CASE("Every sentence can be read and says what to do", "[sentences]") {
  std::set<std::string> ids;
  const std::set<std::string> commands{"probe",   "matrix", "replay", "explain", "diff",
                                       "targets", "doctor", "bugs",   "tune"};
  const std::string help = run_attnprobe("probe --help").out;
  for (const Sentence& sentence : sentences()) {
    INFO(sentence.id);
    CHECK(ids.insert(sentence.id).second);
    CHECK_FALSE(sentence.match.empty());
    CHECK_FALSE(sentence.means.empty());
    CHECK_FALSE(sentence.causes.empty());
    // A command that is named is one that there is.
    const auto words = split(sentence.next, ' ');
    for (size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "attnprobe" && words[i + 1] != "answers") {
        std::string command = words[i + 1];
        while (!command.empty() && std::ispunct(static_cast<unsigned char>(command.back())) != 0) command.pop_back();
        INFO(sentence.next);
        CHECK((command.starts_with("--te") || command.starts_with("--framework") || commands.contains(command)));
      }
    const size_t probe = sentence.next.find("attnprobe probe");
    if (probe == std::string::npos) continue;
    for (size_t at = sentence.next.find(" --", probe); at != std::string::npos;
         at = sentence.next.find(" --", at + 1)) {
      const std::string option = sentence.next.substr(at + 1, sentence.next.find_first_of(" ,;", at + 1) - at - 1);
      INFO(sentence.next);
      CHECK(contains(help, option));
    }
  }
  CHECK(ids.size() >= 200);
}

TEST_CASE("Every pasted text is explained, its own layer first", "[sentences]") {
  size_t texts = 0, first = 0, names = 0, named = 0;
  for (const Json& text : pasted_texts()) {
    ++texts;
    const auto words = text["text"].get<std::string>();
    const TextAnswer answer = answer_to(words);
    INFO(text["id"].get<std::string>() << ": " << words);
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(name_of(answer.refusals.front().layer) == text["layer"].get<std::string>());
    first += name_of(answer.refusals.front().layer) == text["layer"].get<std::string>() ? 1 : 0;
    CHECK_FALSE(answer.refusals.front().next.empty());
    CHECK_FALSE(answer.refusals.front().headline.empty());
    const std::string said = words_of(answer) + small(words);
    for (const Json& name : text["names"]) {
      ++names;
      const std::string wanted = small(name.get<std::string>());
      const bool is_named = contains(said, wanted) || (wanted == "head_dim" && contains(said, "head dimension"));
      named += is_named ? 1 : 0;
      if (!is_named) WARN("not named: " << name << " of " << text["id"]);
    }
  }
  CHECK(texts >= 200);
  CHECK(first == texts);
  CHECK(named + 1 >= names);
}

TEST_CASE("What frameworks said when they refused a call on a GPU is explained by its own sentence", "[sentences]") {
  const Json document = Json::parse(read_text(source_dir() / "tests/fixtures/texts/refused-calls.json"));
  for (const Json& refused : document["texts"]) {
    const TextAnswer answer = answer_to(refused["text"].get<std::string>());
    INFO(refused["call"].get<std::string>() << ": " << refused["text"].get<std::string>());
    REQUIRE_FALSE(answer.refusals.empty());
    CHECK(answer.refusals.front().id == refused["id"].get<std::string>());
    CHECK_FALSE(answer.refusals.front().next.empty());
  }
  CHECK(document["texts"].size() >= 60);
}

TEST_CASE("No line of others is explained", "[sentences]") {
  for (const auto& line : split(read_text(source_dir() / "tests/fixtures/texts/unrelated.txt"), '\n')) {
    if (trim(line).empty() || line.starts_with("## ")) continue;
    const TextAnswer answer = answer_to(line);
    INFO(line);
    CHECK(answer.refusals.empty());
  }
}

TEST_CASE("What terminals, launchers and web pages put around a sentence does not hide it", "[sentences]") {
  const std::string plans = "fe-no-plans-support";
  const std::pair<std::string, std::string> texts[] = {
      {plans, "No execution plans support the graph"},
      {plans, "[rank3]:     RuntimeError: No execution\r\n[rank3]:     plans support the graph.\r\n"},
      {plans, "> > No execution plans\n> > support the graph"},
      {plans, "| No execution plans |\n| support the graph |"},
      {plans, "\x1b[1;31mNo execution\x1b[0m plans \x1b[31msupport\x1b[0m the graph"},
      {plans,
       "(EngineCore_DP0 pid=76) ERROR 11-20 10:15:01 [core.py:58] No execution plans\n"
       "(EngineCore_DP0 pid=76) ERROR 11-20 10:15:01 [core.py:58] support the graph"},
      {plans, "2026-11-20T10:15:01.123Z No execution plans\n2026-11-20T10:15:01.124Z support the graph"},
      {plans, "E       RuntimeError: No execution plans\nE       support the graph"},
      {plans, "worker-1  | No execution plans\nworker-1  | support the graph"},
      {plans, "{\"msg\": \"RuntimeError:\\nNo execution plans\\n support the graph\"}"},
      {plans,
       "\xe2\x94\x82 RuntimeError: No execution plans \xe2\x94\x82\n"
       "\xe2\x94\x82 support the graph               \xe2\x94\x82"},
      {plans,
       "No\xc2\xa0"
       "execution `plans` support&nbsp;the graph"},
      {plans, "No execution plans sup\nport the graph"},
  };
  for (const auto& [id, text] : texts) {
    INFO(text);
    CHECK(first_id(text) == id);
  }
  CHECK(plain_line("[rank0]: x") == "x");
  CHECK(plain_line("a  \t b\r") == "a b");
  CHECK(plain_line("&lt;a&gt; &amp;lt; \xe2\x80\x98q\xe2\x80\x99") == "<a> &lt; 'q'");
  CHECK(plain_line("C:\\nvidia\\new") == "C:\\nvidia\\new");
  CHECK(plain_line("\x1b]0;title\x07x\x1b[") == "x");
}

TEST_CASE("However a long text is cut into pieces and blocks, each sentence is counted once", "[sentences]") {
  std::string text;
  for (int line = 1; line <= 3000; ++line) {
    text += fmt::format("[rank{}]: step {} loss 2.31 tokens/s 41230\n", line % 8, line);
    if (line % 100 == 50) text += "RuntimeError: No execution plans support the graph.\n";
    if (line % 500 == 250) text += "E   RuntimeError: No valid execution\nE   plans built\n";
  }
  const auto found = [&](size_t piece) {
    SentenceFinder finder;
    for (size_t at = 0; at < text.size(); at += piece) finder.feed(std::string_view(text).substr(at, piece));
    return finder.finish();
  };
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, text.size()}) {
    const TextFindings findings = found(piece);
    INFO(piece);
    CHECK(findings.lines == 3042);
    REQUIRE(findings.sentences.size() == 2);
    CHECK(findings.sentences[0].sentence->id == "fe-no-plans-support");
    CHECK(findings.sentences[0].place.times == 30);
    CHECK(findings.sentences[0].place.first_line == 51);
    CHECK(findings.sentences[1].place.times == 6);
    CHECK(findings.sentences[1].place.first_line == 254);
  }
}

TEST_CASE("Lines without an end, and bytes that are no text, cost nothing but themselves", "[sentences]") {
  SentenceFinder finder;
  for (int i = 0; i < 200; ++i) finder.feed(std::string(100'000, 'x'));
  finder.feed(" No execution plans support the graph " + std::string(100'000, '\xff'));
  finder.feed(std::string("\0\0\0\n\x1b[\n\x1b]\n&lt", 13));
  const TextFindings findings = finder.finish();
  REQUIRE(findings.sentences.size() == 1);
  CHECK(findings.sentences[0].place.first_line == 1);
  CHECK(findings.sentences[0].place.line.size() < 500);
}

TEST_CASE("In a long text a gap in a sentence does not run over the ends of lines", "[sentences]") {
  const std::string pair = "cudnn is loaded\ncode 4001 was given to a door\n";
  std::string text = pair;
  CHECK_FALSE(answer_to(text).refusals.empty());  // pasted, it may be one sentence that was wrapped
  for (int i = 0; i < 500; ++i) text += "a line\n";
  CHECK(answer_to(text).refusals.empty());
}

}  // namespace attnprobe::test::sentences_test
