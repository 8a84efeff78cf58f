// Whether a process is still running.
#pragma once

#include <cstdint>
#include <filesystem>

namespace attnprobe::trace {

/// False for a process that has ended, even if it is a zombie, and for 0 and less. Process ids are reused, so true may
/// refer to another process.
bool is_running(int64_t pid);

/// Whether a process of this user has the folder's path in its environment. Such a process needs the folder, because
/// cuDNN crashes if it cannot open its log (seen from 9.8 to 9.28).
bool any_process_names(const std::filesystem::path& folder);

}  // namespace attnprobe::trace
