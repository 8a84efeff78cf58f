#include "diagnose/old_releases.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <tuple>

#include "base/number.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"

namespace attnprobe::diagnose {
namespace {

// What tells releases apart: 0.0.35 of a library is another one than 0.0.20, 2.8.3 is 2.8.1 with mended faults, and each beta
// (4.0.0b11) is one of its own, before the release.
std::tuple<int, int, int> release_of(const std::string& version) {
  constexpr int behind_all_betas = 1'000'000;
  static const RE2 numbers("^(\\d+)\\.(\\d+)(?:\\.(\\d+)(?:b(\\d+))?)?");
  int major = 0, minor = 0;
  std::string patch, beta;
  RE2::PartialMatch(version, numbers, &major, &minor, &patch, &beta);
  return {major, major == 0 && minor == 0 ? parse_number<int>(patch).value_or(0) : minor,
          parse_number<int>(beta).value_or(behind_all_betas)};
}

}  // namespace

std::string OldRelease::text() const {
  return fmt::format("{} {} in the text is older than {}, the newest that was read: a bug of it may be mended", name,
                     version, newest);
}

std::vector<OldRelease> old_releases(std::string_view text) {
  constexpr size_t most = 3;
  std::vector<OldRelease> old;
  for (const ReleasedLibrary& library : readings().releases) {
    std::string newest, version;
    re2::StringPiece rest = piece(text);
    while (RE2::FindAndConsume(&rest, *library.words, &version))
      if (newest.empty() || release_of(newest) < release_of(version)) newest = version;
    if (newest.empty() || release_of(newest) >= release_of(library.newest) || old.size() == most) continue;
    old.push_back({library.name, newest, library.newest});
  }
  return old;
}

}  // namespace attnprobe::diagnose
