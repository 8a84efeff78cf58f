// How much a file or an option may ask for: a small file must not take a machine's memory, or hours. Each limit is far
// beyond what anybody was seen to need, and an environment variable moves it.
#pragma once

#include <cstdint>
#include <string>

namespace attnprobe {

struct Limit {
  const char* variable;  ///< of the environment
  uint64_t usual;
};

namespace limits {
/// Of one document, and of the documents of a matrix together.
inline constexpr Limit configs{"ATTNPROBE_MAX_CONFIGS", 100'000};
/// Of a matrix; the atlas has 138,864.
inline constexpr Limit cells{"ATTNPROBE_MAX_CELLS", 2'000'000};
/// Of a file that is read whole, decompressed: configs, reports, targets.
inline constexpr Limit document_bytes{"ATTNPROBE_MAX_DOCUMENT_BYTES", uint64_t{256} << 20};
/// Of a file that is read in pieces, decompressed: logs.
inline constexpr Limit log_bytes{"ATTNPROBE_MAX_LOG_BYTES", uint64_t{16} << 30};
/// Of the address space of a worker for simulated GPUs, beyond what it starts with. A walk takes 1.1 GB, plans 1.3.
inline constexpr Limit worker_bytes{"ATTNPROBE_MAX_WORKER_BYTES", uint64_t{8} << 30};
/// Of what is unpacked of a wheel of cuDNN or CUDA; the largest has 0.94 GB.
inline constexpr Limit wheel_bytes{"ATTNPROBE_MAX_WHEEL_BYTES", uint64_t{4} << 30};
/// Of what a worker tells its parent at once: what cuDNN has lost may say anything.
inline constexpr Limit message_bytes{"ATTNPROBE_MAX_MESSAGE_BYTES", uint64_t{2} << 30};
}  // namespace limits

/// What holds here. Throws Error(usage) for a variable that is not a whole number above 0.
uint64_t value_of(const Limit& limit);

/// Throws Error(usage), "<where>: <count> <what> are more than the <limit> that attnprobe takes; <variable>=<count>
/// allows them".
void check_limit(const Limit& limit, uint64_t count, const std::string& where, const std::string& what);

/// Of a matrix with axes of these lengths, which a file may claim.
void check_cells(const std::string& where, size_t configs, size_t targets, size_t cudnns);

/// The worker processes that --jobs may ask for: 4 a core and no fewer than 16, but no more than 128 MiB of memory each
/// allow (measured with cuDNN 9.19: a worker that walks takes 43 MB, 19 of them its own). ATTNPROBE_MAX_JOBS moves it.
uint64_t most_jobs();

}  // namespace attnprobe
