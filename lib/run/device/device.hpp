// Runs kernels and owns buffers, on a GPU, or on the CPU for tests and machines without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/data_type.hpp"

namespace attnprobe::run {

/// The kernels of kernels.hpp.
enum class Kernel {
  pointwise,
  matmul,
  reduce_parts,
  reduce_join_parts,
  paged_load,
  dequantize,
  block_mask,
  rope,
  fill,
  read_mask,
  cover,
  check_memory,
  compare,
  difference
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// Throws Error(environment) if there is not enough memory.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  virtual size_t free_bytes() const = 0;

  /// Each runs after earlier work; copies return when they are complete. They throw Error(cuda).
  virtual void set_bytes(void* memory, unsigned char value, size_t bytes) = 0;
  virtual void copy_in(void* memory, const void* host, size_t bytes) = 0;
  virtual void copy_out(void* host, const void* memory, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void wait() = 0;

  /// Runs a kernel with its argument struct from kernels.hpp on `threads` threads. Kernels loop, so any number of
  /// threads works. Throws Error(cuda).
  template <class Args>
  void launch(Kernel kernel, const Args& args, int64_t threads) {
    launch_bytes(kernel, &args, sizeof args, threads);
  }
  /// The number of threads for that many elements.
  virtual int64_t threads_for(int64_t elements) const = 0;
  /// The number of threads of a counting kernel; each has one slot.
  virtual int64_t counters() const = 0;

  /// The type that kernels compute in: f64 on the CPU, f32 on a GPU.
  virtual DataType real() const = 0;

 private:
  virtual void launch_bytes(Kernel kernel, const void* args, size_t bytes, int64_t threads) = 0;
};

/// The CPU as a device. One thread.
std::unique_ptr<Device> cpu_device();

/// Owned device memory.
class Memory {
 public:
  Memory() = default;
  Memory(Device& device, size_t bytes) : device_(&device), bytes_(bytes) {
    if (bytes > 0) data_ = device.allocate(bytes);
  }
  ~Memory() { reset(); }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    if (this != &other) {
      reset();
      swap(other);
    }
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* data() const { return static_cast<char*>(data_); }
  size_t bytes() const { return bytes_; }
  void reset() noexcept {
    if (data_ != nullptr) device_->release(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  void swap(Memory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Device* device_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Memory with these values.
template <class T>
Memory memory_of(Device& device, const std::vector<T>& values) {
  Memory memory(device, values.size() * sizeof(T));
  if (!values.empty()) device.copy_in(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

/// The counts of a kernel's threads, one slot each. `launch` receives the memory and the number of threads.
template <class Count, class Launch>
std::vector<Count> counted(Device& device, Launch&& launch) {
  const int64_t threads = device.counters();
  std::vector<Count> counts(static_cast<size_t>(threads));
  const Memory memory(device, counts.size() * sizeof(Count));
  launch(reinterpret_cast<Count*>(memory.data()), threads);
  device.copy_out(counts.data(), memory.data(), counts.size() * sizeof(Count));
  return counts;
}

}  // namespace attnprobe::run
