// Times as colours and digits: how a map draws what was measured. Not installed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "limits/find_limits.hpp"

namespace attnprobe::report {

/// From the shortest to the longest time of some maps, in equal ratios: twice as long is as far everywhere.
class TimeScale {
 public:
  explicit TimeScale(const limits::Limits& limits);

  /// Whether anything has a time.
  bool empty() const { return shortest_ > longest_; }
  double shortest_ms() const { return shortest_; }
  double longest_ms() const { return longest_; }

  /// 0 for the shortest, 1 for the longest. Precondition, of all of these: it is not empty.
  double share_of(double ms) const;
  /// "0" to "9".
  std::string digit(double ms) const;
  /// "#rrggbb", the longer the darker.
  std::string colour(double ms) const;

  /// The colours between which the others lie, at equal distances.
  static const std::vector<std::string>& stops();
  static std::string colour_at(double share);

 private:
  double shortest_ = 1, longest_ = 0;
};

/// "0.0123 ms", "1.23 ms": three digits.
std::string ms_text(double ms);

/// ", 0.0123 ms" and, where another was faster, which; "" where no time was taken.
std::string time_words(const limits::Row& row, int64_t place);

/// The first choice's time of a place of the axis.
std::optional<double> time_at(const limits::Row& row, int64_t place);

}  // namespace attnprobe::report
