// The place of the answers that `attnprobe matrix` stores.
#pragma once

#include <filesystem>
#include <string>

#include "ask/walk_cache.hpp"

namespace attnprobe::app {

/// Why there may be no cache file.
inline constexpr const char* no_cache_file =
    "neither XDG_CACHE_HOME nor HOME names a folder, or other users can write the cache there; name a file with --cache";

/// The given file, otherwise the user's own; empty if there is none.
inline std::filesystem::path cache_file(const std::string& named) {
  return named.empty() ? asking::default_cache_file() : std::filesystem::path(named);
}

}  // namespace attnprobe::app
