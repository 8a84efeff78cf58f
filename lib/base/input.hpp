// Files that may be compressed, read in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace attnprobe {

/// The name of a file in messages; "-" is standard input.
std::string input_name(const std::string& file);

/// Calls `take` with the file's content, piece by piece; "-" is standard input. Gzip and xz are decompressed, and
/// UTF-16 is converted to UTF-8; the first bytes determine the format. For a truncated compressed file, `take` gets the
/// intact part, and `problem`, if not null, gets the reason. Throws Error(usage), naming the file, if it cannot be
/// opened or read or its compression is broken from the start. Also throws it for a file beyond limits::log_bytes, and
/// for one that expands more than any real log.
void read_input(const std::string& file, const std::function<void(std::string_view)>& take,
                std::string* problem = nullptr);

/// The whole content, decompressed in the same way. Throws Error(usage) also for a truncated compressed file and for
/// more than limits::document_bytes.
std::string input_text(const std::string& file);

}  // namespace attnprobe
