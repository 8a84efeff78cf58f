// Lines of a text that are errors, by their form, and what they are about. Internal to lib/diagnose.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/readings.hpp"
#include "diagnose/refusal.hpp"
#include "diagnose/text_lines.hpp"

namespace attnprobe::diagnose {

inline constexpr size_t longest_line_shown = 400;
inline constexpr const char* by_rule = "by rule: attnprobe knows no such sentence, and read its words";

/// How surely a line is the error itself.
enum class Form { none, demand, warning, failure, exception };

struct ErrorLine {
  Form form = Form::none;
  std::string message;  // with the lines that go on with it
  std::string shown;
  int64_t line = 0;
  const NamedAttention* program = nullptr;
  const NamedAttention* raised_by = nullptr;  // by the file of the innermost frame
  const NamedAttention* host = nullptr;       // who chose it
  std::vector<const Matter*> matters;
  bool orders = false;  // it says what is to be set or given
  int64_t score = 0;
};

/// Whether it is a line of a program or of a diff: what stands in it was not said, but may be.
bool is_source(std::string_view line);

Form form_of(std::string_view line);

/// Without the names of files and of members, whose words are not what an error is about: "…/arbitrary_seqlen.cu.o".
std::string prose_of(std::string text);

/// None: no line speaks of an attention, says whose it is or what it is about.
std::optional<ErrorLine> most_telling_error(std::string_view text, const std::vector<Line>& lines);

Refusal refusal_of(const ErrorLine& error, const TextFacts& facts);

}  // namespace attnprobe::diagnose
