// What the writer of a text says of the cause himself, and of what works: no rule knows better.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::diagnose {

/// Sentences as they stand in the text, those that tell most first, at most two of each.
struct OwnWords {
  std::vector<std::string> why;    ///< "The BiasLoader hardcoded 128-bit loads, …"
  std::vector<std::string> works;  ///< "The same input works fine with the vanilla flash_attn_varlen_func."
};
ATTNPROBE_JSON(OwnWords, why, works)

/// Whether a person wrote some line of it: one of several words that is neither source nor a log's.
bool has_prose(std::string_view text);

/// Of prose alone: lines of source, of logs and of tracebacks are passed over.
OwnWords own_words_in(std::string_view text);

}  // namespace attnprobe::diagnose
