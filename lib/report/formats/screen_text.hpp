// The default answer for people: one screen of 24 lines by 80 columns where it can be.
#pragma once

#include <string>
#include <vector>

#include "report/formats/report.hpp"

namespace attnprobe::report {

/// "sdpa fprop b1 h8 s512 d64 f16 bshd", or what a log or file says of its graph.
std::string description_of(const answer::Answer& result);

/// "NVIDIA T4 (sm_75, simulated)".
std::string target_text(const answer::Answer& result);

std::string bold(const std::string& text, const TextStyle& style);

/// The config says what is expected, and this is not it.
bool is_unmet(const answer::Answer& result);

/// Those of one config together, every target once.
std::vector<Results> answers_by_config(const Results& results);

/// After the answer's word: the first choice, what stands in the way, or why nothing works. "" for nothing.
std::string account_text(const answer::Answer& result);

/// " (expected no)", where the config says what is expected and this is not it; " (expected)" for an expected no.
std::string expectation_mark(const answer::Answer& result);

/// The word of an answer, in its colour.
std::string coloured_word(const answer::Answer& result, const TextStyle& style);

/// One result: verdict, why, fixes. Several: a grid of words, configs by targets, and each distinct reason once with its
/// fix. `results`: of one cuDNN, every config on its targets in turn.
std::string screen_text(const Results& results, const TextStyle& style);

}  // namespace attnprobe::report
