#include "run/timing/timing.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "gpu/catalogue.hpp"
#include "run/device/captured_plan.hpp"
#include "run/timing/statistics.hpp"

namespace attnprobe::run {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A plan that waits for the GPU inside execute would wait for this long; queuing takes only microseconds.
constexpr uint64_t hold_limit_ns = 2'000'000'000;

class Event {
 public:
  Event() {
    CUevent event = nullptr;
    cuda_api().check(cuda_api().cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    event_ = CudaEvent(event);
  }
  void record(CUstream stream) const {
    cuda_api().check(cuda_api().cuEventRecord(event_.get(), stream), "cuEventRecord");
  }
  double milliseconds_to(const Event& end) const {
    float ms = 0;
    cuda_api().check(cuda_api().cuEventElapsedTime(&ms, event_.get(), end.event_.get()), "cuEventElapsedTime");
    return static_cast<double>(ms);
  }

 private:
  CudaEvent event_;
};

// Two flags in memory that host and GPU share.
class Flags {
 public:
  Flags() {
    void* memory = nullptr;
    cuda_api().check(cuda_api().cuMemHostAlloc(&memory, 2 * sizeof(int), CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
    flags_ = static_cast<volatile int*>(memory);
  }
  ~Flags() { cuda_api().cuMemFreeHost(const_cast<int*>(flags_)); }
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;
  volatile int* release() const { return flags_; }
  volatile int* gave_up() const { return flags_ + 1; }

 private:
  volatile int* flags_ = nullptr;
};

// The kind of work queued first, because after an event a kernel starts later than a memset.
enum class FirstWork { kernel, memset };

FirstWork first_work_of(CudaDevice& device, const Execute& execute) try {
  return CapturedPlan(device, execute).begins_with_memset() ? FirstWork::memset : FirstWork::kernel;
} catch (const Error& e) {
  if (e.kind() != ErrorKind::cudnn) throw;
  return FirstWork::kernel;  // most plans
}

class Sampler {
 public:
  Sampler(CudaDevice& device, FirstWork first)
      : device_(device),
        hold_(device.function("hold")),
        stamp_(device.function("stamp")),
        blocks_(4 * static_cast<unsigned>(device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT))),
        flushed_(device, 2 * static_cast<size_t>(device.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE))),
        stamps_(device, 4 * sizeof(uint64_t)) {
    // The time between two events exceeds the work between them by some microseconds; minimal work of the same kind
    // measures it. H100: 3.07 around an empty kernel, 2.02 around a small memset, 1.25 around nothing. With the
    // kernel's overhead subtracted, a plan that begins with a memset was 1.1 below CUPTI's time, other plans 0.3.
    constexpr int samples = 21;
    constexpr size_t least_bytes = 256;
    const CUfunction nothing = device.function("nothing");
    std::vector<double> times;
    times.reserve(samples);
    for (int i = 0; i < samples; ++i)
      times.push_back(cold([&] {
                        if (first == FirstWork::memset)
                          device_.set_bytes(flushed_.data(), 0, least_bytes);
                        else
                          device_.launch_function(nothing, 1, 1, nullptr);
                      }).gpu_ms);
    overhead_ms_ = summarise(times).median;
  }

  double overhead_ms() const { return overhead_ms_; }

  // One sample: the L2 flushed, then all work queued behind a kernel that waits for the host.
  Sample cold(const std::function<void()>& execute) {
    rest();
    device_.set_bytes(flushed_.data(), 0, flushed_.bytes());
    device_.set_bytes(stamps_.data(), 0, stamps_.bytes());
    device_.wait();
    Sample sample;
    {
      const Held held(*this);
      stamp(0);
      begin_.record(device_.stream());
      const auto start = Clock::now();
      execute();
      sample.enqueue_ms = since(start) * 1e3;
      end_.record(device_.stream());
      stamp(1);
    }
    device_.wait();
    note_gave_up();
    sample.gpu_ms = begin_.milliseconds_to(end_) - overhead_ms_;
    last_ms_ = sample.gpu_ms;
    std::array<uint64_t, 4> at{};
    device_.copy_out(at.data(), stamps_.data(), sizeof at);
    if (at[0] != 0 && at[2] > at[0])
      sample.clock_mhz = static_cast<double>(at[3] - at[1]) / static_cast<double>(at[2] - at[0]) * 1e3;
    return sample;
  }

  // Milliseconds per run of `count` back-to-back runs.
  double hot(const Execute& execute, int count) {
    device_.wait();
    {
      const Held held(*this);
      begin_.record(device_.stream());
      execute();
      execute();
    }
    for (int i = 2; i < count; ++i) execute();
    end_.record(device_.stream());
    device_.wait();
    note_gave_up();
    return begin_.milliseconds_to(end_) / count;
  }

  bool holds() const { return holds_; }

 private:
  // Holds the stream until the end of the scope, even after an exception.
  class Held {
   public:
    explicit Held(Sampler& sampler) : flags_(sampler.flags_) {
      *flags_.release() = sampler.holds_ ? 0 : 1;
      *flags_.gave_up() = 0;
      if (sampler.holds_) sampler.launch_hold();
    }
    ~Held() { *flags_.release() = 1; }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    const Flags& flags_;
  };

  // Attention draws more power than a GPU sustains. An H200 without pauses falls from 1980 to 1640 MHz, and times
  // differ by 10 % from a profiler's single calls (measured). So the GPU pauses for two thirds of the time.
  void rest() const {
    constexpr double worth_it_ms = 0.05, rests_for_one = 2;
    if (last_ms_ > worth_it_ms)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(rests_for_one * last_ms_));
  }

  void launch_hold() {
    volatile int *release = flags_.release(), *gave_up = flags_.gave_up();
    uint64_t limit = hold_limit_ns;
    void* args[] = {&release, &gave_up, &limit};
    device_.launch_function(hold_, 1, 1, args);
  }
  void stamp(size_t which) {
    auto* out = reinterpret_cast<uint64_t*>(stamps_.data()) + 2 * which;
    void* args[] = {&out};
    device_.launch_function(stamp_, blocks_, 1, args);
  }
  // A plan that waits for the GPU while it is queued is timed without the hold, including launches.
  void note_gave_up() {
    if (*flags_.gave_up() != 0) holds_ = false;
  }

  CudaDevice& device_;
  CUfunction hold_, stamp_;
  unsigned blocks_;
  Memory flushed_, stamps_;
  Flags flags_;
  Event begin_, end_;
  bool holds_ = true;
  double overhead_ms_ = 0, last_ms_ = 0;
};

std::optional<double> median_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return summarise(values).median;
}

void add_hot(probe::TimeFindings& findings, Sampler& sampler, const Execute& execute) {
  constexpr double batch_ms = 20;
  constexpr int batches = 10, most = 2000;
  const int count = std::clamp(static_cast<int>(batch_ms / std::max(findings.median_ms.value_or(1), 1e-3)), 4, most);
  sampler.hot(execute, count);
  std::vector<double> times;
  times.reserve(batches);
  for (int i = 0; i < batches; ++i) times.push_back(sampler.hot(execute, count));
  findings.hot_ms = median_of(times);
}

// The median of some cold samples of the queued work, after a warm-up.
double median_of_some(Sampler& sampler, const std::function<void()>& queue) {
  constexpr int samples = 20;
  sampler.cold(queue);
  std::vector<double> times;
  times.reserve(samples);
  for (int i = 0; i < samples; ++i) times.push_back(sampler.cold(queue).gpu_ms);
  return summarise(times).median;
}

void add_graph(probe::TimeFindings& findings, CudaDevice& device, Sampler& sampler, const Execute& execute) {
  try {
    const CapturedPlan captured(device, execute);
    findings.graph_ms = median_of_some(sampler, [&] { captured.replay(); });
    findings.graph_status = "ok";
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::cudnn) throw;
    findings.graph_status = e.what();
  }
}

}  // namespace

GpuLimits limits_of(const CudaDevice& device) {
  constexpr double khz = 1e-3;
  GpuLimits limits;
  const int sm = device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                 device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  limits.multiprocessors = device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  limits.sm_clock_mhz = device.attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * khz;
  limits.memory_clock_mhz = device.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * khz;
  limits.memory_bus_bits = device.attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  limits.matmul_rates = gpu::matmul_rates(device.name(), sm);
  return limits;
}

probe::TimeFindings time_plan(CudaDevice& device, const Execute& execute, const RunOptions& options) {
  const FirstWork first = first_work_of(device, execute);
  Sampler sampler(device, first);
  MeasureOptions measuring;
  measuring.profile = options.timing == Timing::fast ? fast_profile() : standard_profile();
  const GpuLimits limits = limits_of(device);
  measuring.reference_clock_mhz = limits.sm_clock_mhz;
  const auto start = Clock::now();
  probe::TimeFindings findings =
      measure([&] { return sampler.cold(execute); }, [&] { return since(start); },
              [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }, measuring);
  findings.method =
      fmt::format("CUDA events less those of {}, L2 flushed, rests of twice the time, {}",
                  first == FirstWork::memset ? "a small memset (the plan begins with one)" : "an empty kernel",
                  sampler.holds() ? "queued before the start" : "launches included: the plan waits for the GPU");
  findings.profile = name_of(options.timing);
  findings.overhead_ms = sampler.overhead_ms();
  if (options.hot) add_hot(findings, sampler, execute);
  if (options.cuda_graph) add_graph(findings, device, sampler, execute);
  if (findings.median_ms)
    add_rates(findings, options.flop, options.bytes, limits,
              parse_enum<DataType>(options.data_type).value_or(DataType::f16));
  return findings;
}

std::vector<probe::KernelLaunch> launches_of(CudaDevice& device, const Execute& execute, bool timed) try {
  const CapturedPlan captured(device, execute);
  auto launches = captured.launches();
  if (!timed || launches.size() < 2) return launches;
  Sampler sampler(device, captured.begins_with_memset() ? FirstWork::memset : FirstWork::kernel);
  // Later kernels are not timed separately: they may need workspace contents from earlier ones.
  double before = median_of_some(sampler, [&] { captured.replay_first(0); });
  for (size_t i = 0; i < launches.size(); ++i) {
    const double with_it = median_of_some(sampler, [&] { captured.replay_first(i + 1); });
    launches[i].median_ms = std::max(0.0, with_it - before);
    before = with_it;
  }
  return launches;
} catch (const Error& e) {
  if (e.kind() != ErrorKind::cudnn) throw;
  return {};  // the plan cannot be captured
}

}  // namespace attnprobe::run
