// Files that may be compressed, read in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace attnprobe {

/// How messages name a file: "-" is standard input.
std::string input_name(const std::string& file);

/// Calls `take` with the content of the file, piece by piece, decompressed if it is gzip or xz and as UTF-8 if it is
/// UTF-16 (told by its first bytes); "-" is standard input. A compressed file that is cut off gives what there is of it. `problem`, if not null,
/// gets what is wrong with such a file. Throws Error(usage) naming a file that cannot be opened or read, or whose
/// compression is broken from the start; for one that is longer than limits::log_bytes, or that a few bytes of it blow
/// up beyond what any log was seen to do.
void read_input(const std::string& file, const std::function<void(std::string_view)>& take,
                std::string* problem = nullptr);

/// The whole content, decompressed likewise. Throws Error(usage) also for a compressed file that is cut off, and for
/// more than limits::document_bytes.
std::string input_text(const std::string& file);

}  // namespace attnprobe
