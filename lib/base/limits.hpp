// Limits on files and options, so that a small file cannot exhaust the machine's memory or run for hours. Each limit is
// far above any known need; an environment variable changes it.
#pragma once

#include <cstdint>
#include <string>

namespace attnprobe {

struct Limit {
  const char* variable;  ///< name of the environment variable
  uint64_t usual;
};

namespace limits {
/// Configs of one document, and of all documents of a matrix together.
inline constexpr Limit configs{"ATTNPROBE_MAX_CONFIGS", 100'000};
/// Cells of a matrix; the atlas has 138,864.
inline constexpr Limit cells{"ATTNPROBE_MAX_CELLS", 2'000'000};
/// Bytes, decompressed, of a file that is read whole: configs, reports, targets.
inline constexpr Limit document_bytes{"ATTNPROBE_MAX_DOCUMENT_BYTES", uint64_t{256} << 20};
/// Bytes, decompressed, of a file that is read in pieces: logs.
inline constexpr Limit log_bytes{"ATTNPROBE_MAX_LOG_BYTES", uint64_t{16} << 30};
/// Bytes of address space that a worker with a simulated GPU may add to what it starts with. A walk needs 1.1 GB, plans
/// need 1.3 GB.
inline constexpr Limit worker_bytes{"ATTNPROBE_MAX_WORKER_BYTES", uint64_t{8} << 30};
/// Bytes unpacked from a wheel of cuDNN or CUDA; the largest is 0.94 GB.
inline constexpr Limit wheel_bytes{"ATTNPROBE_MAX_WHEEL_BYTES", uint64_t{4} << 30};
/// Bytes of one message from a worker to its parent: a crashing cuDNN may send anything.
inline constexpr Limit message_bytes{"ATTNPROBE_MAX_MESSAGE_BYTES", uint64_t{2} << 30};
}  // namespace limits

/// The limit in effect. Throws Error(usage) unless the variable is a whole number above 0.
uint64_t value_of(const Limit& limit);

/// Throws Error(usage): "<where>: <count> <what> are more than the <limit> that attnprobe allows; <variable>=<count>
/// allows them".
void check_limit(const Limit& limit, uint64_t count, const std::string& where, const std::string& what);

/// Checks the size of a matrix with axes of these lengths.
void check_cells(const std::string& where, size_t configs, size_t targets, size_t cudnns);

/// The largest number of worker processes for --jobs: 4 per core, at least 16, but at most one per 128 MiB of memory.
/// With cuDNN 9.19, a worker uses 43 MB during a walk, 19 MB of it private. ATTNPROBE_MAX_JOBS changes it.
uint64_t most_jobs();

}  // namespace attnprobe
