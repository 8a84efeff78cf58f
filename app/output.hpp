// Standard output and standard error: a failed write is an error on the first, but never on the second. Also handles
// the files that a command writes and reads.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.hpp"

namespace attnprobe::app {

/// Call it first. Opens closed standard streams, so that no report reuses their numbers, and ignores SIGPIPE and
/// SIGXFSZ, so that the write call fails instead. Creates spdlog's logger, which prints messages through printable()
/// and tolerates a full or closed stream.
void prepare_streams();

/// The signals that prepare_streams() ignores in this process; a started program must not inherit that.
std::vector<int> signals_for_programs();

/// Writes to standard output: text through printable(), or data unchanged. Throws Error(environment) if writing fails,
/// BrokenPipe if the reader has closed it.
void print_text(std::string_view text);
void print_data(std::string_view data);
/// Flushes stdio's buffer; throws the same errors.
void flush_output();

/// Writes to standard error as far as possible; never throws.
void say(std::string_view text) noexcept;

/// The columns of the terminal on standard output, 41 to 140; none if it is not a terminal.
std::optional<size_t> terminal_columns();

/// On a terminal, replaces the progress line, truncated to the terminal's width; "" removes it. Never throws.
void say_status(std::string_view text) noexcept;
/// A line without colours, truncated to that many columns; characters from U+1100 on count as two.
std::string cut_to_columns(std::string_view text, size_t columns);

/// Ends by SIGPIPE like an ordinary program, unless the parent process ignored it.
void end_by_broken_pipe();

/// Writes to the file of --output, otherwise to standard output.
void write_text(const std::string& file, const std::string& text);
void write_data(const std::string& file, const std::string& data);

/// A file as named on the command line: "--report csv=a.csv" and "a.csv".
struct NamedFile {
  std::string words;
  std::filesystem::path path;
};

/// Throws Error(usage) if an output is also another output or an input, under any spelling or link. "-" as an input is
/// standard input; a folder means the reports in it.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

}  // namespace attnprobe::app
