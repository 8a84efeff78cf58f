// Which files are believed without being named: nobody but root and the user can have written them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace attnprobe {

/// Why the file at `path` is not believed, "it belongs to user 1001"; none where it is. It and every folder above it,
/// links resolved, must belong to root or to this user and not be writable by all, but for folders with the sticky bit
/// (/tmp), in which nobody can replace what another owns. A group may write: many systems give /usr/local to one.
std::optional<std::string> why_not_believed(const std::filesystem::path& path);

/// Where this user's programs keep what can be had again: $XDG_CACHE_HOME, else $HOME/.cache. None where neither is an
/// absolute path: in no case the working directory or a folder that all share.
std::optional<std::filesystem::path> user_cache_folder();

}  // namespace attnprobe
