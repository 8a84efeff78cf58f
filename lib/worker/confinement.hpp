// Takes rights from a worker before it loads cuDNN, so that a malicious graph in a log can do little. The document
// docs/reliability.md says what it could still do.
#pragma once

namespace attnprobe::worker {

/// Suppresses the core file if cuDNN crashes the worker, which can happen thousands of times in a matrix.
void leave_no_core();

/// Confines a worker that simulates a GPU. It keeps reading, memory and threads. It may no longer write files other
/// than /dev/null, start programs, inspect or signal other processes, or use a network. A part that the kernel lacks is
/// silently skipped. ATTNPROBE_UNCONFINED turns all of it off, for tools that write files from inside a process
/// (coverage, heap profilers). Never call it for a real GPU: its driver may need any of these. Throws Error(usage) for
/// an invalid limits::worker_bytes.
void confine();

}  // namespace attnprobe::worker
