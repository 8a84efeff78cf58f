#include "emit/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace attnprobe::emit {

void refuse_fields_beyond(const std::string& form, const std::string& whose, const attention::AttentionSpec& spec,
                          const std::vector<std::string>& expressible) {
  for (const attention::Field& field : attention::fields()) {
    if (field.name == "name" || field.name == "source" || field.name == "expect") continue;
    const bool known = std::find(expressible.begin(), expressible.end(), field.name) != expressible.end();
    if (known || !field.given(spec)) continue;
    throw Error(ErrorKind::usage, fmt::format("--emit {}: {} cannot express {}; allowed: {}, or --emit cpp", form,
                                              whose, attention::option_of(field.name), quoted_list(expressible)));
  }
}

std::string python_comment(const std::string& text) {
  return text.empty() ? "#" : "# " + printable_line(text);
}

std::string python_head(const Question& question, const std::vector<std::string>& what) {
  std::string text =
      python_comment((question.name.empty() ? "" : question.name + ": ") + question.description) + "\n#\n";
  for (const std::string& line : what) text += python_comment(line) + "\n";
  text += python_comment(fmt::format("Written by attnprobe {}.", ATTNPROBE_VERSION)) + "\n";
  if (!question.command.empty()) text += python_comment("The same with attnprobe: " + question.command) + "\n";
  return text;
}

std::string python_number(double value) {
  return fmt::format("{}", value);
}

}  // namespace attnprobe::emit
