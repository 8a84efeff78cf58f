// Whether a process is still running.
#pragma once

#include <cstdint>
#include <filesystem>

namespace attnprobe::trace {

/// False for one that has ended, also where nobody has waited for it yet; for 0 and less. A number is given again once
/// it is free: true then says nothing of the process that had it.
bool is_running(int64_t pid);

/// Whether a process of this user was started with the folder's path in its environment. cuDNN crashes where it cannot open the
/// log that its environment names (seen from 9.8 to 9.28): the folder has to stay as long as there is one.
bool any_process_names(const std::filesystem::path& folder);

}  // namespace attnprobe::trace
