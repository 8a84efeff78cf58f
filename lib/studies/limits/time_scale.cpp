#include "studies/limits/time_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace attnprobe::limits {

TimeScale::TimeScale(const Limits& limits) {
  double shortest = std::numeric_limits<double>::infinity(), longest = 0;
  for (const auto& row : limits.rows)
    for (const auto& [place, time] : row.times)
      if (time.first_ms) {
        shortest = std::min(shortest, *time.first_ms);
        longest = std::max(longest, *time.first_ms);
      }
  if (longest <= 0) return;
  shortest_ = shortest;
  longest_ = longest;
}

double TimeScale::share_of(double ms) const {
  if (longest_ <= shortest_ || shortest_ <= 0) return 0;
  return std::clamp(std::log(ms / shortest_) / std::log(longest_ / shortest_), 0.0, 1.0);
}

std::string TimeScale::digit(double ms) const {
  return std::to_string(std::min(9, static_cast<int>(10 * share_of(ms))));
}

std::string TimeScale::colour(double ms) const {
  return colour_at(share_of(ms));
}

// Lightness decreases from one to the next, so that the order is visible even without hues.
const std::vector<std::string>& TimeScale::stops() {
  static const std::vector<std::string> colours{"#fff1a8", "#f6a04d", "#c8424f", "#47206b"};
  return colours;
}

std::string TimeScale::colour_at(double share) {
  const double place = share * static_cast<double>(stops().size() - 1);
  const size_t below = std::min(static_cast<size_t>(place), stops().size() - 2);
  std::array<int, 3> mixed{};
  for (size_t channel = 0; channel < mixed.size(); ++channel) {
    const auto value = [&](size_t stop) {
      return static_cast<double>(std::stoi(stops()[stop].substr(1 + 2 * channel, 2), nullptr, 16));
    };
    const double part = place - static_cast<double>(below);
    mixed[channel] = static_cast<int>(std::lround(value(below) * (1 - part) + value(below + 1) * part));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

std::string ms_text(double ms) {
  return fmt::format("{:.3g} ms", ms);
}

std::string time_words(const Row& row, int64_t place) {
  const auto found = row.times.find(place);
  if (found == row.times.end() || !found->second.fastest_ms) return "";
  const PointTime& time = found->second;
  std::string first = time.first_ms ? ", " + ms_text(*time.first_ms) : "";
  if (time.first_ms && *time.first_ms <= *time.fastest_ms) return first;
  return fmt::format("{}, engine {} {}", first, time.fastest_engine, ms_text(*time.fastest_ms));
}

std::optional<double> time_at(const Row& row, int64_t place) {
  const auto found = row.times.find(place);
  return found == row.times.end() ? std::nullopt : found->second.first_ms;
}

}  // namespace attnprobe::limits
