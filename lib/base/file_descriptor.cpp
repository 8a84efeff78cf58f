#include "base/file_descriptor.hpp"

#include <sys/syscall.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

namespace attnprobe {

// Called by number: Linux has the call from 5.9, glibc a wrapper only from 2.34.
void close_descriptors(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0U) == 0) return;
  std::vector<unsigned> open_ones;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename();
    unsigned number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number >= first && number <= last) open_ones.push_back(number);
  }
  for (const unsigned number : open_ones) close(static_cast<int>(number));
}

}  // namespace attnprobe
