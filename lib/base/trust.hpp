// Decides whether a file that the user did not name can be trusted: only root or the user may have written it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace attnprobe {

/// Why the file at `path` is not trusted ("it belongs to user 1001"); none if it is. After links are resolved, the file
/// and every folder above it must belong to root or this user. None of them may be writable by all users, except
/// folders with the sticky bit (/tmp), where only an owner can replace a file. A group may have write access: many
/// systems give /usr/local to one.
std::optional<std::string> why_not_believed(const std::filesystem::path& path);

/// The folder for data that programs of this user can recreate: $XDG_CACHE_HOME, otherwise $HOME/.cache. None if
/// neither is an absolute path. Never the working directory or a shared folder.
std::optional<std::filesystem::path> user_cache_folder();

}  // namespace attnprobe
