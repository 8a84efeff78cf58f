// Removes a worker's permissions before it loads cuDNN, so that a malicious graph in a log can do little harm.
// docs/reliability.md describes the remaining risks.
#pragma once

namespace attnprobe::worker {

/// Suppresses core files, because cuDNN can crash workers thousands of times in a matrix.
void leave_no_core();

/// Confines a worker that simulates a GPU. It can still read files, allocate memory and start threads. It can no longer
/// write files other than /dev/null, start programs, inspect or signal other processes, or use a network. Silently
/// skips parts that the kernel does not support. ATTNPROBE_UNCONFINED turns confinement off, for tools that write files
/// from inside a process (coverage, heap profilers). Never call it for a real GPU: its driver may need any of these.
/// Throws Error(usage) for an invalid limits::worker_bytes.
void confine();

}  // namespace attnprobe::worker
