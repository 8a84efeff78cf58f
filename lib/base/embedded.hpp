// Files that are part of the program. cmake/EmbedFiles.cmake writes them as sources.
#pragma once

#include <span>
#include <string_view>

namespace attnprobe {

struct EmbeddedFile {
  std::string_view name;  ///< the file name, or the path below the folder that lib/CMakeLists.txt names
  std::string_view text;
};

/// Constant-initialised, so static initialisers may read them.
using EmbeddedFiles = std::span<const EmbeddedFile>;

}  // namespace attnprobe
