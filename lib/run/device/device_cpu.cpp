#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "run/device/device.hpp"
#include "run/device/kernels.hpp"

namespace attnprobe::run {
namespace {

static_assert(kernels::type_fp4_e2m1 == static_cast<int>(DataType::fp4_e2m1));

class CpuDevice : public Device {
 public:
  void* allocate(size_t bytes) override {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }
  size_t free_bytes() const override { return std::numeric_limits<size_t>::max(); }
  void set_bytes(void* memory, unsigned char value, size_t bytes) override { std::memset(memory, value, bytes); }
  void copy_in(void* memory, const void* host, size_t bytes) override { std::memcpy(memory, host, bytes); }
  void copy_out(void* host, const void* memory, size_t bytes) override { std::memcpy(host, memory, bytes); }
  void copy(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void wait() override {}
  int64_t threads_for(int64_t) const override { return 1; }
  int64_t counters() const override { return 1; }
  DataType real() const override { return DataType::f64; }

 private:
  void launch_bytes(Kernel kernel, const void* args, size_t, int64_t threads) override {
    for (int64_t thread = 0; thread < threads; ++thread) {
#define ATTNPROBE_CASE(name, Args)                                            \
  case Kernel::name:                                                          \
    kernels::name(*static_cast<const kernels::Args*>(args), thread, threads); \
    break;
      switch (kernel) { ATTNPROBE_KERNELS(ATTNPROBE_CASE) }
#undef ATTNPROBE_CASE
    }
  }
};

}  // namespace

std::unique_ptr<Device> cpu_device() {
  return std::make_unique<CpuDevice>();
}

}  // namespace attnprobe::run
