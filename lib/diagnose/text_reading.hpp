// What a text says in words that no sentence of the catalogue knows: an error's own words, or what somebody tells.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/readings.hpp"
#include "diagnose/refusal.hpp"

namespace attnprobe::diagnose {

/// What the text's errors are about and what is told in it, by rule (readings.hpp), the most telling first; empty where that is
/// nothing of an attention. `text`: plain lines (plain_line()) with their ends, blank ones too.
std::vector<Refusal> read_words(std::string_view text, const TextFacts& facts);

/// The exception that the text ends in, where that speaks of an attention and its words say what it is about.
std::optional<Refusal> read_exception(std::string_view text, const TextFacts& facts);

/// The symptoms that somebody tells of in the text, those first that it tells of most, or in its title.
std::vector<const Symptom*> symptoms_in(std::string_view text);

}  // namespace attnprobe::diagnose
