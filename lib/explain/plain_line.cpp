#include "explain/plain_line.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/escapes.hpp"
#include "explain/words.hpp"

namespace attnprobe::explain {
namespace {

// Replacements for characters; some are removed.
constexpr std::array<std::pair<std::string_view, std::string_view>, 23> spellings{{
    {"&lt;", "<"},         {"&gt;", ">"},         {"&quot;", "\""},       {"&#34;", "\""},        {"&#39;", "'"},
    {"&#x27;", "'"},       {"&apos;", "'"},       {"&nbsp;", " "},        {"&#10;", " "},         {"&#xA;", " "},
    {"<br>", " "},         {"<br/>", " "},        {"<br />", " "},        {"\\\"", "\""},         {"\\'", "'"},
    {"\xe2\x80\x98", "'"}, {"\xe2\x80\x99", "'"}, {"\xe2\x80\x9c", "\""}, {"\xe2\x80\x9d", "\""}, {"\xc2\xa0", " "},
    {"\xe2\x80\x8b", ""},  {"\xe2\x94\x82", " "}, {"&amp;", "&"},
}};

bool begins_spelling(char c) {
  return c == '&' || c == '<' || c == '\\' || c == '\xe2' || c == '\xc2';
}

// "\\n" of a JSON log; "C:\\nvidia" does not contain one.
bool is_written_line_end(std::string_view text) {
  return text.starts_with("\\n") && (text.size() == 2 || text[2] < 'a' || text[2] > 'z');
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\0';
}

std::string without_decoration(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  const auto add = [&](char c) {
    if (!is_blank(c))
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  };
  for (size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {
      i += escape_sequence_length(line.substr(i));
      continue;
    }
    if (line[i] == '`' || line[i] == '\b') {
      ++i;
      continue;
    }
    if (begins_spelling(line[i])) {
      const std::string_view rest = line.substr(i);
      if (is_written_line_end(rest)) {
        add(' ');
        i += 2;
        continue;
      }
      bool found = false;
      for (const auto& [written, meant] : spellings)
        if (rest.starts_with(written)) {
          for (const char c : meant) add(c);
          i += written.size();
          found = true;
          break;
        }
      if (found) continue;
    }
    add(line[i++]);
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

const RE2& prefix() {
  static const RE2 pattern(
      "((?:"
      "> ?|\\| ?"                                                            // quotes
      "|\\[?(?:rank|Rank|RANK) ?\\d+\\]?:? "                                 // torchrun
      "|\\[(?:default)?\\d+\\]:"                                             // torch elastic, mpirun, srun -l
      "|\\(?[A-Za-z_][\\w.]* (?:rank=\\d+ )?pid=\\d+(?:, ip=[\\d.]+)?\\)? "  // vLLM, Ray
      "|\\d+: "                                                              // srun -l
      "|[\\w.-]{1,60} +\\| "                                                 // docker compose
      "|\\[?\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?(?:Z|[+-]\\d\\d:?\\d\\d)?\\]?:? "
      "|\\[?\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?\\]?:? "
      "|(?:INFO|WARNING|ERROR|DEBUG) \\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d (?:\\[[^\\]]{1,80}\\] )?"  // vLLM
      "|\\[INFO\\] "  // wrappers of programs
      "|E (?:  +)?"   // pytest
      ")+)",
      exact_case());
  return pattern;
}

}  // namespace

std::string plain_line(std::string_view line) {
  std::string plain = without_decoration(line);
  // The row of a table.
  if (plain.starts_with('|') && std::ranges::count(plain, '|') > 2) return plain;
  re2::StringPiece found;
  if (!prefix().Match(plain, 0, plain.size(), RE2::ANCHOR_START, &found, 1)) return plain;
  const bool is_framed =
      std::string_view(found.data(), found.size()).find('|') != std::string_view::npos && plain.ends_with(" |");
  plain.erase(0, found.size());
  if (is_framed) plain.erase(plain.size() - std::min<size_t>(2, plain.size()));
  return plain;
}

}  // namespace attnprobe::explain
