// What `attnprobe` prints without arguments: this machine, one answer, three commands.
#pragma once

#include <string>
#include <vector>

namespace attnprobe::app {

/// Prints this machine's GPUs and cuDNN. Returns whether a cuDNN works.
bool print_machine();

/// The words of the command line that asks about Llama 3's prefill.
std::vector<std::string> first_question();

void print_next_commands();

}  // namespace attnprobe::app
