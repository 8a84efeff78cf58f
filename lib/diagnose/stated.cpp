#include "diagnose/stated.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"

namespace attnprobe::diagnose {

std::string stated_way_out(std::string_view message) {
  constexpr size_t longest = 300;
  static const RE2 names_way_out(
      "\\bonly (?:the )?[\\[{('\"]?[\\w'\", /.*-]{2,160}[\\]})'\"]? ?(?:backends?|versions?|dtypes?|types?|GPUs?|heads?|dims?|sizes?)? ?(?:is|are) (?:supported|allowed|available)|"
      "only supports? \\S|must be (?:one of|either|in|a multiple of|at least|at most|divisible|between|>=|<=|less|greater|set)|should be (?:one of|either|in|a multiple|divisible|between)|"
      "(?:allowed|valid|available|possible|supported) (?:[\\w-]+ ){0,3}(?:are|is|values?|options?|backends?|versions?)\\b[: ]|choose (?:from|one of|between)|expected one of|"
      "(?:please|instead|consider|try|make sure (?:to|that|you)|be sure to)[ ,:].{0,40}\\b(?:use|using|set|setting|pass|passing|install|upgrade|load|switch|specify|call|add|remove|disable|enable)\\b|"
      "\\b(?:use|set|pass|install|load) \\S.{0,80} (?:instead|or newer|to (?:avoid|enable|disable|use))\\b|use a different \\S|\\bset `?\\w+=",
      any_case());
  static const RE2 useless(
      "report|file an issue|open an issue|see (?:the|https?)|https?://\\S+$|documentation|stack ?trace|TORCH_USE_CUDA_DSA|"
      "CUDA_LAUNCH_BLOCKING|look up|not supported because",
      any_case());
  size_t begin = 0;
  for (size_t i = 0; i <= message.size(); ++i) {
    const bool ends = i == message.size() || message[i] == '\n' ||
                      (message[i] == ' ' && i > 0 && (message[i - 1] == '.' || message[i - 1] == ';'));
    if (!ends) continue;
    const std::string_view sentence = trim(message.substr(begin, i - begin));
    begin = i + 1;
    if (sentence.size() < 8 || sentence.size() > longest) continue;
    if (has_words(sentence, names_way_out) && !has_words(sentence, useless)) return std::string(sentence);
  }
  return "";
}

bool orders_something(std::string_view message) {
  static const RE2 order(
      "\\b(?:please|you (?:should|must|need to|have to)|make sure (?:to|that|you)|be sure to|consider|try to)\\b.{0,40}\\b(?:specify|set|setting|define|provide|pass|call|export|install|use|enable|add|upgrade|rebuild)\\b|"
      "\\bset (?:the )?(?:environment variable )?[A-Z][A-Z0-9_]{3,}\\b|\\bas (?:an )?environment variable\\b",
      any_case());
  return has_words(message, order);
}

std::vector<std::string> deciding_settings(std::string_view text) {
  constexpr size_t most = 3;
  std::vector<std::string> settings;
  for (const Setting& setting : readings().settings) {
    re2::StringPiece found;
    if (settings.size() == most || !setting.words->Match(piece(text), 0, text.size(), RE2::UNANCHORED, &found, 1))
      continue;
    settings.push_back(fmt::format("{} is set: {}", std::string(found.data(), found.size()), setting.does));
  }
  return settings;
}

std::string without_values(std::string text) {
  static const RE2 values(
      "'[^'\\n]{1,80}'|\"[^\"\\n]{1,80}\"|\\{[^}\\n]{1,200}\\}|--[\\w-]+(?:[= ][^\\s-]\\S*)?|\\b\\w*(?:backend|implementation|impl)=\\S+",
      any_case());
  RE2::GlobalReplace(&text, values, " ");
  return text;
}

}  // namespace attnprobe::diagnose
