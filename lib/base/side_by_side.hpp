// Independent tasks on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace attnprobe {

/// Calls `work` with 0 … count - 1 on at most `threads` threads; with one thread, in this thread and in order. If a
/// call throws, no further call begins, and the first exception is thrown after all threads have ended.
inline void side_by_side(size_t threads, size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto some = [&] {
    for (size_t i; (i = next++) < count;) try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(some);
    } catch (const std::system_error&) {  // the system allows no more threads; the existing ones do all the work
    }
    some();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attnprobe
