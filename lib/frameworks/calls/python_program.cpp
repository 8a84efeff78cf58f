#include "frameworks/calls/python_program.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "frameworks/calls/python_syntax.hpp"

namespace attnprobe::frameworks {
namespace {

using re2::StringPiece;

constexpr size_t most_lines = 20'000, longest_line = 8'000, most_text = 300'000, most_parsed = 250'000, most_tries = 40;

// Whether the line has two adjacent words without a keyword, which Python forbids.
bool has_prose(StringPiece line) {
  static const RE2 word("([^\\w\"'#=([{]*)(\\w+(?:'(?:s|t|re|ve|ll|d|m)\\b)?)");
  static const std::set<std::string_view> keywords{
      "and",    "as",     "assert", "async", "await",   "case",     "class", "def",    "del",   "elif",
      "else",   "except", "exec",   "False", "finally", "for",      "from",  "global", "if",    "import",
      "in",     "is",     "lambda", "match", "None",    "nonlocal", "not",   "or",     "print", "raise",
      "return", "True",   "try",    "type",  "while",   "with",     "yield"};
  bool was_word = false;
  for (StringPiece gap, one; RE2::Consume(&line, word, &gap, &one);) {
    const bool is_word = std::isdigit(one[0]) == 0 && !keywords.contains({one.data(), one.size()});
    if (was_word && is_word && std::all_of(gap.begin(), gap.end(), [](char c) { return c == ' '; })) return true;
    was_word = is_word;
  }
  return false;
}

// Whether the line belongs to the text around a program. The grammar would join "Code:" with the next line.
bool is_of_a_report(StringPiece line) {
  static const RE2 mark("\\s*(?:```|~~~|Traceback \\(|File \"|[\\^~ ]+$)"), title("[^()\\[\\]{}=\"]*:[*_]*\\s*"),
      quotes("\"\"\"|\'\'\'"),
      block("\\s*(?:async|case|class|def|elif|else|except|finally|for|if|match|try|while|with)\\b");
  if (has_prose(line)) return !RE2::PartialMatch(line, quotes);
  if (RE2::FullMatch(line, title)) return !RE2::Consume(&line, block);
  return RE2::Consume(&line, mark);
}

// The lines that may be source, at their positions, without prompts and a listing's line numbers.
std::string lines_in(std::string_view text) {
  static const RE2 prompt("(?:(?:>>>|\\.\\.\\.|>|In \\[[^\\]]*\\]:|%+\\w+)(?: |$))+"),
      numbered("(?:-+>)?\\s*\\d+(?: \\||  )(.*)");
  std::string program;
  size_t lines = 0;
  for (size_t begin = 0; begin < text.size() && lines < most_lines && program.size() < most_text; ++lines) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    StringPiece line(text.data() + begin, std::min(end - begin, longest_line));
    begin = end + 1;
    RE2::Consume(&line, prompt);
    RE2::FullMatch(line, numbered, &line);
    if (line.size() < longest_line && !is_of_a_report(line)) program.append(line.data(), line.size());
    program += '\n';
  }
  return program;
}

// The offset of the first statement that an open bracket or quote joins with the lines below it; npos: none.
size_t open_statement(const PythonNode& node, size_t depth) {
  if (!node.has_error() || node.line() == node.last_line() || depth == deepest_python) return std::string::npos;
  if (node.type() == "expression_statement") return node.begin();
  const bool is_error = node.type() == "ERROR";
  size_t begin = node.begin();
  for (const PythonNode& one : node.children()) {
    if (is_error && !one.is_statement()) break;
    if (const size_t inside = open_statement(one, depth + 1); inside != std::string::npos) return inside;
    begin = one.end();
  }
  return is_error ? node.source().find_first_not_of(" \t\r\n;", begin) : std::string::npos;
}

}  // namespace

std::string program_in(std::string_view text) {
  std::string program = lines_in(text);
  for (size_t parsed = 0, tries = 0; parsed < most_parsed && tries < most_tries; parsed += program.size(), ++tries) {
    const size_t open = open_statement(PythonTree(program).root(), 0);
    if (open == std::string::npos) break;
    for (size_t at = program.rfind('\n', open) + 1; at < program.size() && program[at] != '\n'; ++at) program[at] = ' ';
  }
  return program;
}

}  // namespace attnprobe::frameworks
