// Common parts of emitted Python programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "emit/emit.hpp"

namespace attnprobe::emit {

/// Throws Error(usage) naming the first field of the spec that is not `expressible`: "--emit torch: PyTorch's … cannot
/// express \"softcap\"; allowed: …".
void refuse_fields_beyond(const std::string& form, const std::string& whose, const attention::AttentionSpec& spec,
                          const std::vector<std::string>& expressible);

/// "# …" on one line for any text.
std::string python_comment(const std::string& text);
/// The first lines of a program: the question, the program's purpose and how to start it.
std::string python_head(const Question& question, const std::vector<std::string>& what);

/// "(1, 2, 3, 4)".
template <class List>
std::string python_tuple(const List& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "(" + text + ")";
}

/// A number that reads back as the same double.
std::string python_number(double value);

}  // namespace attnprobe::emit
