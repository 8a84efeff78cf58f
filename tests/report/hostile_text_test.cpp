// Foreign names and reasons in all formats: each output is safe for its readers.
#include <fmt/format.h>

#include "base/text.hpp"
#include "catch.hpp"
#include "report/formats/format.hpp"
#include "report/formats/markdown_text.hpp"
#include "support.hpp"

namespace attnprobe::test::hostile_text_test {

using namespace attnprobe::report;

namespace {

// One unexpected cell, with a config of that name and that reason.
CellTable table_with(const std::string& name, const std::string& reason) {
  CellTable table;
  table.axes.title = name;
  table.axes.command = "attnprobe matrix '" + name + "'";
  table.axes.configs = {name};
  table.axes.targets = {{"h200", "an H200", "simulated", "Hopper", 90}};
  table.axes.cudnns = {"9.19.0"};
  table.configs = {{name, "summary", "sdpa", "fprop", "f16", "", "attnprobe", Json::object()}};
  CellAnswer answer;
  answer.verdict = answer::Verdict::unsupported;
  answer.expect = "supported";
  answer.reason = reason;
  answer.category = "dimensions";
  table.answers = {answer};
  table.cells = {{{0, 0, 0}, 0}};
  table.target_words = {"h200"};
  table.cudnn_words = {"9.19.0"};
  return table;
}

std::string in_format(const std::string& format, const std::string& name, const std::string& reason = "") {
  return find_format(format)->of_cells(table_with(name, reason));
}

std::string first_field(const std::string& name) {
  const std::string csv = in_format("csv", name);
  const size_t begin = csv.find("\r\n") + 2;
  return csv.substr(begin, csv.find(",summary", begin) - begin);
}

}  // namespace

TEST_CASE("CSV contains no formulas, and numbers are unchanged", "[hostile]") {
  CHECK(first_field("=cmd|' /C calc'!A0") == "'=cmd|' /C calc'!A0");
  CHECK(first_field("+1+2") == "'+1+2");
  CHECK(first_field("-1+2") == "'-1+2");
  CHECK(first_field("@SUM(A1)") == "'@SUM(A1)");
  CHECK(first_field("\t=1") == "'\t=1");
  CHECK(first_field("\r=1") == "\"'\r=1\"");
  CHECK(first_field("-inf") == "'-inf");
  for (const char* plain : {"-1.5e-7", "42", "bert", "a=b"}) CHECK(first_field(plain) == plain);
}

TEST_CASE("Markdown shows foreign text without interpreting it", "[hostile]") {
  CHECK(markdown_text("<img src=x onerror=a&b>") == "&lt;img src=x onerror=a&amp;b&gt;");
  CHECK(markdown_text("[text](https://x.y) ![i](j) www.evil.example") ==
        "\\[text](https&#58;//x.y) !\\[i](j) www&#46;evil.example");
  CHECK(markdown_text("a|b\nc `d` *e* ~f~ \\| head_dim _g_") ==
        "a\\|b c \\`d\\` \\*e\\* \\~f\\~ \\\\\\| head_dim \\_g\\_");
  CHECK(markdown_text("\x1b\u202e") == "\\\\x1b\\\\u202e");
  CHECK(markdown_code("a ``b` c\nd") == "``` a ``b` c d ```");
  CHECK(markdown_code("plain") == "`plain`");
}

TEST_CASE("A hostile name stays in its cell of a Markdown report", "[hostile]") {
  const std::string whole = in_format("md", "x` | <script>alert(1)</script>\n\n# [a](javascript:b)", "a|b<!--");
  CHECK_THAT(whole, ContainsSubstring("\n`` attnprobe matrix 'x` | "));  // a fence longer than any in the command
  const std::string report = whole.substr(whole.find("\n### "));
  CHECK_FALSE(contains(report, "<script"));
  CHECK_FALSE(contains(report, "<!--"));
  CHECK_FALSE(contains(report, "\n# "));
  CHECK_THAT(report, ContainsSubstring("| x\\` \\| &lt;script&gt;"));
}

TEST_CASE("A page contains no control character", "[hostile]") {
  const std::string page = in_format("html", "a\x1b b\x7f c");
  CHECK_FALSE(contains(page, "\x1b"));
  CHECK_FALSE(contains(page, "\x7f"));
  CHECK(contains(page, "a\\u001b b\\u007f c"));
}

TEST_CASE("JUnit is valid XML for any text", "[hostile]") {
  const TemporaryFolder folder;
  const std::string name = "n\"'<>&]]>\x01\x1b\xef\xbf\xbe\xef\xbf\xbf\xed\xa0\x80\xff\u202e";
  const auto file = folder.file("r.xml", in_format("junit", name, name + "\n::error::x ##[error]y"));
  const Run run = shell(
      "python3 -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); "
      "print(ascii(d.getElementsByTagName(\"testcase\")[0].getAttribute(\"name\")))' " +
      file.string());
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out == R"('n"\'<>&]]>\\x01\\x1b\\ufffe\\uffff\\xed\\xa0\\x80\\xff\\u202e')"
                   "\n");
  CHECK_FALSE(contains(read_text(file), "\n::"));
  CHECK_FALSE(contains(read_text(file), "##["));
}

TEST_CASE("A config's name cannot control the terminal, in a report or a message", "[hostile]") {
  const TemporaryFolder folder;
  const std::string name = "\x1b]0;owned\x07\n::error::x\u202e##[error]";
  const auto config =
      folder.file("c.json", json_text({{"name", name}, {"heads", 8}, {"seqlen", 128}, {"head_dim", 64}}));
  const std::string hazards[] = {"\x1b", "\x07", "\n::", "\u202e", "##["};
  const std::string arguments = fmt::format("--config {} --quick --mode A", config.string());
  const auto texts = {
      run_attnprobe(arguments + " --target h200").out,
      run_attnprobe(arguments + " --target h200,t4 -o /dev/stdout").out,
      run_attnprobe(fmt::format("matrix {0} {0} --out {1}/m", config.string(), folder.path().string())).err,
      run_attnprobe("--target '" + name + "' --heads 8 --seqlen 128 --head-dim 64").err,
      run_attnprobe("probe '--" + name + "'").err};
  for (const std::string& text : texts) {
    INFO(text);
    CHECK_THAT(text, ContainsSubstring("\\x1b]0;owned\\x07"));
    for (const auto& hazard : hazards) CHECK_FALSE(contains(text, hazard));
  }
}

TEST_CASE("A log's text cannot control the terminal", "[hostile]") {
  const Run run = run_attnprobe(
      "explain -", {}, "RuntimeError: cuDNN Frontend error: \x1b[31m\u202e bad ##[error]x CUDNN_STATUS_BAD_PARAM\n");
  INFO(run.err);
  CHECK_FALSE(contains(run.out + run.err, "\x1b"));
  CHECK_FALSE(contains(run.out + run.err, "\u202e"));
  CHECK_FALSE(contains(run.out + run.err, "##["));
}

}  // namespace attnprobe::test::hostile_text_test
