// Files that are part of the program: cmake/EmbedFiles.cmake writes them as sources.
#pragma once

#include <span>
#include <string_view>

namespace attnprobe {

struct EmbeddedFile {
  std::string_view name;  ///< the file's own, or its path below the folder that lib/CMakeLists.txt says
  std::string_view text;
};

/// There before any code runs, so that what is initialised statically may read them.
using EmbeddedFiles = std::span<const EmbeddedFile>;

}  // namespace attnprobe
