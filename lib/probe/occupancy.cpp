#include "probe/occupancy.hpp"

#include <algorithm>

namespace attnprobe::probe {
namespace {

int64_t rounded_up(int64_t value, int64_t portion) {
  return (value + portion - 1) / portion * portion;
}

std::optional<int64_t> number_at(const Json& properties, const char* key) {
  const auto it = properties.find(key);
  if (it == properties.end() || !it->is_number_integer()) return std::nullopt;
  return it->get<int64_t>();
}

}  // namespace

std::optional<int64_t> blocks_per_sm(const PlanKernel& kernel, int64_t dynamic_shared_memory_bytes,
                                     const Json& properties) {
  constexpr int64_t warp = 32, warps_at_a_time = 4, register_portion = 256, memory_portion = 128;
  const auto registers = number_at(properties, "maxRegistersPerSM"), blocks = number_at(properties, "maxCtasPerSM"),
             threads = number_at(properties, "maxThreadsPerSM"),
             memory_of_block = number_at(properties, "maxSharedMemoryPerBlockOptin");
  if (!registers || !blocks || !threads || !memory_of_block || !kernel.registers || !kernel.max_threads ||
      *kernel.registers <= 0 || *kernel.max_threads <= 0)
    return std::nullopt;
  const int64_t warps = rounded_up(*kernel.max_threads, warp) / warp;
  const int64_t registers_of_warp = rounded_up(*kernel.registers * warp, register_portion);
  const int64_t warps_by_registers = *registers / registers_of_warp / warps_at_a_time * warps_at_a_time;
  // A block may use all of a multiprocessor's shared memory except the system's share per block.
  const int64_t reserved = number_at(properties, "reservedSharedMemoryPerBlock").value_or(0);
  const int64_t memory =
      rounded_up(kernel.shared_memory_bytes.value_or(0) + dynamic_shared_memory_bytes + reserved, memory_portion);
  int64_t most = std::min({*blocks, *threads / (warps * warp), warps_by_registers / warps});
  if (memory > 0) most = std::min(most, (*memory_of_block + reserved) / memory);
  return most;
}

}  // namespace attnprobe::probe
