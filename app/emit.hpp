// --emit: a program that asks the same question without attnprobe.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "answer/question.hpp"
#include "ask.hpp"

namespace attnprobe::app {

void add_emit_option(CLI::App& command, std::string& form);

/// Writes the program to --output, for this machine's GPU, otherwise for the GPU that `otherwise` names. Throws
/// Error(usage) unless there is one question and one target, and if the form cannot express it.
int emit_program(const std::string& form, const AskOptions& options, const std::vector<answer::Question>& questions,
                 const std::string& otherwise = "h100");

}  // namespace attnprobe::app
