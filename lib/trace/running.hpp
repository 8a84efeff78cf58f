// Whether a process is still running.
#pragma once

#include <cstdint>

namespace attnprobe::trace {

/// False for one that has ended, also where nobody has waited for it yet; for 0 and less. A number is given again once
/// it is free: true then says nothing of the process that had it.
bool is_running(int64_t pid);

}  // namespace attnprobe::trace
