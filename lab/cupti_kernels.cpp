// CUDA loads this library into a process (CUDA_INJECTION64_PATH). It writes "start end name" for every kernel and memset to
// $ATTNPROBE_CUPTI_FOLDER/PID, in nanoseconds, from CUPTI's activity records. For lab/compare-cupti.
#include <cupti.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr size_t buffer_bytes = size_t{1} << 20;
std::FILE* out = nullptr;

void write(uint64_t start, uint64_t end, const char* name) {
  std::fprintf(out, "%llu %llu %s\n", static_cast<unsigned long long>(start), static_cast<unsigned long long>(end),
               name);
}

void request(uint8_t** buffer, size_t* size, size_t* records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *records = 0;
}

void complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    // Later forms of a record begin like these.
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      write(kernel->start, kernel->end, kernel->name);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto* memset = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      write(memset->start, memset->end, "memset");
    }
  }
  std::fflush(out);
  std::free(buffer);
}

}  // namespace

extern "C" int InitializeInjection() {
  const char* folder = std::getenv("ATTNPROBE_CUPTI_FOLDER");
  if (folder == nullptr) return 0;
  out = std::fopen((std::string(folder) + "/" + std::to_string(getpid())).c_str(), "w");
  if (out == nullptr || cuptiActivityRegisterCallbacks(request, complete) != CUPTI_SUCCESS) return 0;
  // Flushes often, because attnprobe kills a worker that it no longer needs.
  cuptiActivityFlushPeriod(50);
  for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET})
    if (cuptiActivityEnable(kind) != CUPTI_SUCCESS) return 0;
  return 1;
}
