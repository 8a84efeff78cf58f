// The default text output: one screen of 24 lines by 80 columns if possible.
#pragma once

#include <string>
#include <vector>

#include "report/formats/report.hpp"

namespace attnprobe::report {

/// "sdpa fprop b1 h8 s512 d64 f16 bshd", or the graph's description in a log or file.
std::string description_of(const answer::Answer& result);

/// "NVIDIA T4 (sm_75, simulated)".
std::string target_text(const answer::Answer& result);

std::string bold(const std::string& text, const TextStyle& style);

/// Whether the answer differs from the config's expectation.
bool is_unmet(const answer::Answer& result);

/// Groups the results by config, every target once.
std::vector<Results> answers_by_config(const Results& results);

/// The text after the answer's word: the first choice, the obstacles, or why nothing works; may be "".
std::string account_text(const answer::Answer& result);

/// " (expected no)" if the answer differs from the config's expectation; " (expected)" for an expected no.
std::string expectation_mark(const answer::Answer& result);

/// The word of an answer, coloured.
std::string coloured_word(const answer::Answer& result, const TextStyle& style);

/// One result: verdict, why, fixes. Several: a grid of words, configs by targets, and each distinct reason once with
/// its fix. `results`: from one cuDNN, by config, then by target.
std::string screen_text(const Results& results, const TextStyle& style);

}  // namespace attnprobe::report
