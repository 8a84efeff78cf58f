// Standard output and standard error: failing to write the first is an error, failing to write the second never is.
// Also the files that a command writes and reads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.hpp"

namespace attnprobe::app {

/// Call it first. Opens closed standard streams, so that no report gets their numbers, and turns SIGPIPE and SIGXFSZ
/// into errors of the writing call. Creates spdlog's logger, which prints messages printable() and tolerates a full or
/// closed stream.
void prepare_streams();

/// The signals that prepare_streams() made this process ignore, but a started program should not.
std::vector<int> signals_for_programs();

/// To standard output: text made printable(), or data unchanged. Throws Error(environment) if it cannot be written,
/// BrokenPipe if the reader has gone.
void print_text(std::string_view text);
void print_data(std::string_view data);
/// Throws the same errors for text in stdio's buffer.
void flush_output();

/// To standard error, as far as possible; never throws.
void say(std::string_view text) noexcept;

/// On a terminal, replaces the progress line, cut to the terminal's width; "" removes it. Never throws.
void say_status(std::string_view text) noexcept;
/// The start of a line without colours, cut to that many columns; each character from U+1100 on counts as two.
std::string cut_to_columns(std::string_view text, size_t columns);

/// Ends by SIGPIPE like an ordinary program, unless the parent process ignored it.
void end_by_broken_pipe();

/// Writes to the file of --output, else to standard output.
void write_text(const std::string& file, const std::string& text);
void write_data(const std::string& file, const std::string& data);

/// A file in the words of the command line: "--report csv=a.csv" and "a.csv".
struct NamedFile {
  std::string words;
  std::filesystem::path path;
};

/// Throws Error(usage) if an output is also another output or an input, under any spelling or link. "-" as an input is
/// standard input; a folder stands for the reports in it.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

}  // namespace attnprobe::app
