// The next step of an answer, with what the text tells of the call. Internal to lib/diagnose.
#pragma once

#include <string>
#include <utility>

#include "diagnose/sentences.hpp"
#include "diagnose/text_facts.hpp"

namespace attnprobe::diagnose {

/// The command of a step, with the options that the text tells (probe_options()).
std::string with_options(std::string next, const std::string& options);

/// The catalogue's step may name a second one, "A; or B": the first is the one to take, the other is what else helps.
std::pair<std::string, std::string> step_and_rest(const std::string& next);

/// A step that leaves framework and GPU open, with those of the text.
std::string with_names(std::string step, const TextFacts& facts);

/// Where the text tells something of the call, cuDNN can be asked about the like at once.
std::string step_of(const Sentence& sentence, const std::string& step, const std::string& options);

}  // namespace attnprobe::diagnose
