// How a framework chooses between cuDNN and its other attention kernels, for questions about the choice.
#pragma once

#include <string>

#include "explain/text_answer.hpp"

namespace attnprobe::explain {

/// The setting that excludes cuDNN's attention in a program, by its name in messages: "PyTorch SDPA"; "" if unknown.
std::string setting_without_cudnn(const std::string& program);

/// If the text asks how the framework chooses, adds the rule of its release.
void add_choice(TextAnswer& answer, const ToldQuestion& question, const TextFacts& facts);

}  // namespace attnprobe::explain
