// Standard output and standard error: what cannot be written is an error of the first, and nothing that the second could
// end. And which files a command writes and reads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.hpp"

namespace attnprobe::app {

/// Call it first. Opens what of the three standard streams is closed, so that no report gets their numbers, and turns
/// SIGPIPE and SIGXFSZ into errors of the writing call; makes spdlog's logger, whose messages are printable() and whose
/// stream may be full or closed.
void prepare_streams();

/// The signals that prepare_streams() made this process ignore, and a program that it starts should not.
std::vector<int> signals_for_programs();

/// To standard output: text for people, made printable(); data for programs as it is. Throws Error(environment) if it
/// cannot be written, BrokenPipe if nobody reads it.
void print_text(std::string_view text);
void print_data(std::string_view data);
/// Throws likewise for what is still in stdio's buffer.
void flush_output();

/// To standard error, as far as it takes it; never throws.
void say(std::string_view text) noexcept;

/// On a terminal, a line of progress in place of the one before, cut to the terminal's width; "" removes it. Never throws.
void say_status(std::string_view text) noexcept;
/// The beginning of a line without colours that takes at most so many columns, each character from U+1100 on two of them.
std::string cut_to_columns(std::string_view text, size_t columns);

/// Ends by SIGPIPE as a program does that leaves it alone, unless whoever started this one had it ignored.
void end_by_broken_pipe();

/// Writes to the file of --output, else to standard output.
void write_text(const std::string& file, const std::string& text);
void write_data(const std::string& file, const std::string& data);

/// A file as the command line names it: "--report csv=a.csv" and "a.csv".
struct NamedFile {
  std::string words;
  std::filesystem::path path;
};

/// Throws Error(usage) if an output is another output's file or one of the inputs, by whatever spelling or link. "-" as
/// an input is standard input; a folder stands for the reports in it.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

}  // namespace attnprobe::app
