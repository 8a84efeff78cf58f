// Times as colours and digits, for maps. Not installed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/limits/find_limits.hpp"

namespace attnprobe::limits {

/// A logarithmic scale from the shortest to the longest time of some maps.
class TimeScale {
 public:
  explicit TimeScale(const Limits& limits);

  /// Whether there are no times.
  bool empty() const { return shortest_ > longest_; }
  double shortest_ms() const { return shortest_; }
  double longest_ms() const { return longest_; }

  /// 0 for the shortest, 1 for the longest. Precondition here and below: not empty.
  double share_of(double ms) const;
  /// "0" to "9".
  std::string digit(double ms) const;
  /// "#rrggbb"; longer times are darker.
  std::string colour(double ms) const;

  /// The colours of the gradient, at equal distances.
  static const std::vector<std::string>& stops();
  static std::string colour_at(double share);

 private:
  double shortest_ = 1, longest_ = 0;
};

/// "0.0123 ms", "1.23 ms": three digits.
std::string ms_text(double ms);

/// ", 0.0123 ms", and the faster plan if there is one; "" without a time.
std::string time_words(const Row& row, int64_t place);

/// The first choice's time at a place of the axis.
std::optional<double> time_at(const Row& row, int64_t place);

}  // namespace attnprobe::limits
