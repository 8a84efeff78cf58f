#include "base/limits.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>

#include "base/error.hpp"
#include "base/number.hpp"

namespace attnprobe {
namespace {

// Saturated: a file may claim any number.
uint64_t product(uint64_t a, uint64_t b) {
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  return b != 0 && a > most / b ? most : a * b;
}

}  // namespace

uint64_t value_of(const Limit& limit) {
  const char* given = std::getenv(limit.variable);
  if (given == nullptr || *given == '\0') return limit.usual;
  const std::string_view text = given;
  const auto value = parse_number<uint64_t>(text);
  if (!value || *value == 0)
    throw Error(ErrorKind::usage,
                fmt::format("{}: \"{:.40}\" is not a whole number; allowed: 1 or more", limit.variable, text));
  return *value;
}

void check_limit(const Limit& limit, uint64_t count, const std::string& where, const std::string& what) {
  const uint64_t most = value_of(limit);
  if (count > most)
    throw Error(ErrorKind::usage, fmt::format("{}: {} {} are more than the {} that attnprobe allows; {}={} allows them",
                                              where, count, what, most, limit.variable, count));
}

void check_cells(const std::string& where, size_t configs, size_t targets, size_t cudnns) {
  check_limit(limits::cells, product(product(configs, targets), cudnns), where,
              fmt::format("cells ({} configs x {} GPUs x {} cuDNNs)", configs, targets, cudnns));
}

uint64_t most_jobs() {
  constexpr uint64_t least = 16, a_core = 4, bytes_a_worker = uint64_t{128} << 20;
  const auto bytes =
      static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t by_cores = std::max<uint64_t>(least, a_core * std::max(1U, std::thread::hardware_concurrency()));
  return value_of({"ATTNPROBE_MAX_JOBS", std::clamp<uint64_t>(bytes / bytes_a_worker, 1, by_cores)});
}

}  // namespace attnprobe
