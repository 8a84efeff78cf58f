// The default answer for people: one screen of 24 lines by 80 columns where it can be.
#pragma once

#include <string>

#include "report/formats/report.hpp"

namespace attnprobe::report {

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
