// Text output: columns, paragraphs, hints.
#include "answer/judge.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "report/formats/notes.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::test::table_test {

using namespace attnprobe::report;

namespace {

// A handmade result with messages from version rules.
answer::Answer result_on(const std::string& target, answer::Verdict verdict) {
  answer::Answer result;
  result.target.id = target;
  result.verdict = verdict;
  return result;
}

const rules::KnownBug bug{"b", "It hangs.", "Wait.", "", false, false, {"issue 1", "https://x/1"}};
const rules::FrontendAnswer refusal{"1.23.0", true, "r", "GRAPH_NOT_SUPPORTED", "no", {"file.h line 2", "https://x/2"},
                                    "",       ""};
const rules::Requirement need{
    "p", "paging", "cuDNN 9.5.0", "paging needs cuDNN 9.5.0; this is 9.2.1", {"doc", "https://x/3"}};

}  // namespace

// ---- columns

TEST_CASE("Columns are aligned and two spaces apart, except the last", "[text]") {
  CHECK(aligned({{"id", "verdict"}, {"a100-40gb", "ok"}, {"t4", "unsupported by far"}}, 2) ==
        "  id         verdict\n"
        "  a100-40gb  ok\n"
        "  t4         unsupported by far\n");
}

TEST_CASE("Lines have no white space at the end", "[text]") {
  CHECK(aligned({{"a", "b", ""}, {"aaa", "", "c"}, {"x"}, {""}}, 1) == " a    b\n aaa     c\n x\n\n");
}

TEST_CASE("No rows give no text", "[text]") {
  CHECK(aligned({}, 4).empty());
}

TEST_CASE("Colour codes have no width", "[text]") {
  CHECK(printable(aligned({{coloured("ok", "1;32"), "x"}, {"three", "y"}}, 0)) ==
        "\x1b[1;32mok\x1b[0m     x\nthree  y\n");
}

TEST_CASE("A character outside ASCII counts as one column", "[text]") {
  CHECK(aligned({{"é…Kᵀ", "x"}, {"abcde", "y"}}, 0) == "é…Kᵀ   x\nabcde  y\n");
}

// ---- paragraphs

TEST_CASE("Paragraphs break at spaces and fill the width", "[text]") {
  CHECK(wrapped("one two three four", 2, 11) == "  one two\n  three\n  four\n");
  CHECK(wrapped("one two three four", 2, 15) == "  one two three\n  four\n");
}

TEST_CASE("A word longer than the line is not broken", "[text]") {
  CHECK(wrapped("a CUDNN_STATUS_NOT_SUPPORTED b", 2, 8) == "  a\n  CUDNN_STATUS_NOT_SUPPORTED\n  b\n");
}

TEST_CASE("Line breaks are kept, and extra white space is removed", "[text]") {
  CHECK(wrapped("one  two\nthree \n\nfour", 0, 80) == "one two\nthree\nfour\n");
  CHECK(wrapped("", 4, 80).empty());
  CHECK(wrapped(" \n ", 4, 80).empty());
}

TEST_CASE("Widths count characters, not bytes", "[text]") {
  CHECK(wrapped("éé éé éé", 0, 5) == "éé éé\néé\n");
}

// ---- hints

TEST_CASE("The suggested word is one typo away", "[text]") {
  const std::vector<std::string> words{"seqlen", "heads", "heads_kv", "dtype"};
  CHECK(nearest("seqln", words) == "seqlen");    // a letter is missing
  CHECK(nearest("seqlenn", words) == "seqlen");  // one too many
  CHECK(nearest("seqlem", words) == "seqlen");   // another key
  CHECK(nearest("hedas", words) == "heads");     // swapped
  CHECK(nearest("heads_k", words) == "heads_kv");
}

TEST_CASE("A word is also suggested for its prefix", "[text]") {
  CHECK(nearest("seq", {"heads", "seqlen_kv"}) == "seqlen_kv");
  CHECK(nearest("se", {"heads", "seqlen_kv"}).empty());
}

TEST_CASE("There is no suggestion for a word unlike all others", "[text]") {
  CHECK(nearest("voodoo", {"heads", "seqlen"}).empty());
  CHECK(nearest("x", {}).empty());
  CHECK(did_you_mean("voodoo", {"heads"}).empty());
  CHECK(did_you_mean("head", {"heads"}) == " (did you mean \"heads\"?)");
}

TEST_CASE("Words are listed in quotes", "[text]") {
  CHECK(quoted_list({"a", "b"}) == "\"a\", \"b\"");
  CHECK(quoted_list({}).empty());
}

TEST_CASE("White space at the ends is trimmed", "[text]") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim(" \n").empty());
  CHECK(trim("").empty());
}

// ---- version rules

TEST_CASE("A warning names the affected targets unless all are affected", "[text]") {
  auto a = result_on("a100", answer::Verdict::supported), b = result_on("b200", answer::Verdict::supported);
  CHECK(warning_text({&a, &b}, {}).empty());
  b.warnings = {bug};
  CHECK(warning_text({&a, &b}, {}) == "  warning: b200: It hangs. Wait. (issue 1)\n");
  a.warnings = {bug};
  CHECK(warning_text({&a, &b}, {}) == "  warning: It hangs. Wait. (issue 1)\n");
  auto other = bug;
  other.what = "It lies.";
  a.warnings = {bug, other};
  CHECK(warning_text({&a, &b}, {}) ==
        "  warning: It hangs. Wait. (issue 1)\n  warning: a100: It lies. Wait. (issue 1)\n");
}

TEST_CASE("Details give the location of a source, and only the label is coloured", "[text]") {
  auto a = result_on("a100", answer::Verdict::crashed);
  a.warnings = {bug};
  CHECK(warning_text({&a}, {false, true, 110}) == "  warning: It hangs. Wait. (issue 1: https://x/1)\n");
  const std::string text = printable(warning_text({&a}, {true, false, 110}));
  CHECK(text.starts_with("  \x1b["));
  CHECK(text.ends_with("\x1b[0m It hangs. Wait. (issue 1)\n"));
  CHECK(warning_text({&a}, {false, false, 20}) == "  warning: It hangs.\n  Wait. (issue 1)\n");
}

TEST_CASE("The line has the obstacle, the fix is below it, and details add the source", "[text]") {
  auto a = result_on("a100", answer::Verdict::supported);
  weigh(a);
  CHECK(a.usable == answer::Usable::yes);
  a.frontend = refusal;
  a.warnings = {bug};
  a.requirements = {need};
  weigh(a);
  REQUIRE(a.usable == answer::Usable::but);
  REQUIRE(a.but.size() == 3);
  CHECK(a.but[0].kind == answer::ObstacleKind::requirement);
  CHECK(a.but[0].text == "paging needs cuDNN 9.5.0; this is 9.2.1");
  CHECK(a.but[1].kind == answer::ObstacleKind::frontend);
  CHECK(a.but[1].text == "cudnn-frontend 1.23.0 refuses it: no");
  CHECK(a.but[2].kind == answer::ObstacleKind::known_bug);
  CHECK(a.but[2].text == "known bug: It hangs");
  CHECK(warning_text({&a}, {}) == "  workarounds, by rule: Wait. (issue 1)\n");
  CHECK_THAT(warning_text({&a}, {false, true, 200}), StartsWith("  source: doc"));
  a.verdict = answer::Verdict::unsupported;
  weigh(a);
  CHECK(a.usable == answer::Usable::no);
  CHECK(a.but.empty());
  CHECK(warning_text({&a}, {}) == "  warning: It hangs. Wait. (issue 1)\n");
}

TEST_CASE("A refusal shows the requirement and cudnn-frontend's answer", "[text]") {
  auto a = result_on("a100", answer::Verdict::unsupported), b = result_on("b200", answer::Verdict::unsupported);
  CHECK(requirement_text({&a, &b}, {}).empty());
  a.requirements = b.requirements = {need};
  b.frontend = refusal;
  CHECK(requirement_text({&a, &b}, {}) ==
        "    version rules say\n"
        "      paging needs cuDNN 9.5.0; this is 9.2.1 (doc)\n"
        "    cudnn-frontend 1.23.0 refuses it itself, before it asks cuDNN\n"
        "      b200: GRAPH_NOT_SUPPORTED: \"no\" (file.h line 2)\n");
}

}  // namespace attnprobe::test::table_test
