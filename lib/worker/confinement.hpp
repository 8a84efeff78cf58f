// What a worker gives up before it loads cuDNN: a graph of a stranger's log that gets hold of the process is to find
// little there. docs/reliability.md says what is left.
#pragma once

namespace attnprobe::worker {

/// A worker that cuDNN takes down, as thousands may be in a matrix, leaves no core file.
void leave_no_core();

/// For a worker that simulates a GPU: it keeps reading, memory and threads, and loses the right to write any file but
/// /dev/null, to start programs, to look into other processes or signal them, and to reach a network. Each part is left
/// out in silence where the kernel lacks it, all of them where ATTNPROBE_UNCONFINED is set, for tools that write files
/// from inside a process (coverage, heap profilers). Never for a real GPU: its driver may need any of these. Throws
/// Error(usage) for limits::worker_bytes that are no number.
void confine();

}  // namespace attnprobe::worker
