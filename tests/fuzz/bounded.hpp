// The limits of every fuzz target, and files for readers that need a file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace attnprobe::fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Calls `read`, which may throw Error for bad input. More than 2 s of this process's CPU time is a finding;
/// libFuzzer's own limit would count other load on the machine.
template <class Read>
void bounded(const Read& read) {
  const auto seconds = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  constexpr double most = 2;
  const double begin = seconds();
  static bool is_warm = false;  // the first input loads the shared data
  try {
    read();
  } catch (const Error&) {
  }
  const double taken = seconds() - begin;
  if (is_warm && taken > most) {
    std::fprintf(stderr, "took %.1f s of processor time\n", taken);
    std::abort();
  }
  is_warm = true;
}

/// A file in a folder of this process; removes both in the destructor.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "attnprobe-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file(const char* name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace attnprobe::fuzz
