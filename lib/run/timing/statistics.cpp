#include "run/timing/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace attnprobe::run {
namespace {

using probe::TimeFindings;

constexpr double outlier_distance = 14.826;
// nvbench/detail/statistics.cuh and stdrel_criterion.cxx.
constexpr size_t min_samples_of_estimate = 5, min_estimates = 64, kept_estimates = 512, check_interval = 16;
constexpr double stable_variation = 0.05;
constexpr size_t max_timeless_in_a_row = 64;
// If the host time exceeds this share of the GPU time, the GPU waits between back-to-back launches (trtexec's advice).
constexpr double enqueue_fraction = 0.8;

double quantile(const std::vector<double>& sorted, double fraction) {
  const double rank = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], rank - static_cast<double>(below));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double stdev_of(std::span<const double> values, double mean) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

size_t count_outliers(std::span<const double> values, double middle) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  const double deviation = median(distances);
  if (deviation == 0) return 0;
  return static_cast<size_t>(std::count_if(distances.begin(), distances.end(),
                                           [&](double distance) { return distance / deviation > outlier_distance; }));
}

std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool has_time(const Sample& sample) {
  return std::isfinite(sample.gpu_ms) && sample.gpu_ms > 0;
}

bool is_throttled(const Sample& sample, const MeasureOptions& options) {
  return sample.clock_mhz > 0 && sample.clock_mhz < options.throttle_fraction * options.reference_clock_mhz;
}

// The pause of a throttled GPU. Once increased, it is not reduced (as in nvbench).
class RecoveryDelay {
 public:
  double after_discarding() {
    if (in_a_row_++ > 2) seconds_ += std::min(1.5 * seconds_, 0.5);
    return seconds_;
  }
  void sample_was_good() { in_a_row_ = 0; }

 private:
  double seconds_ = 0.05;
  int in_a_row_ = 0;
};

struct Series {
  std::vector<double> gpu_ms, enqueue_ms, clock_mhz;
  size_t throttled = 0, timeless = 0, timeless_in_a_row = 0;
  std::optional<double> noise;
  Stop stop = Stop::not_yet;
  double wall_s = 0;

  void add(const Sample& sample) {
    gpu_ms.push_back(sample.gpu_ms);
    enqueue_ms.push_back(sample.enqueue_ms);
    if (sample.clock_mhz > 0) clock_mhz.push_back(sample.clock_mhz);
  }
};

void warm_up(const std::function<Sample()>& sampler, const std::function<double()>& elapsed, const Profile& profile) {
  double spent_ms = 0;
  do {
    const Sample sample = sampler();
    if (!has_time(sample)) return;
    spent_ms += sample.gpu_ms;
  } while (spent_ms < profile.warm_up_ms && elapsed() < profile.limits.max_wall_s);
}

Series collect(const std::function<Sample()>& sampler, const std::function<double()>& elapsed,
               const std::function<void(double)>& pause, const MeasureOptions& options) {
  Series series;
  StoppingRule rule(options.profile.limits);
  RecoveryDelay delay;
  while (series.stop == Stop::not_yet && series.timeless_in_a_row < max_timeless_in_a_row) {
    const Sample sample = sampler();
    series.timeless_in_a_row = has_time(sample) ? 0 : series.timeless_in_a_row + 1;
    if (!has_time(sample)) {
      ++series.timeless;
    } else if (is_throttled(sample, options)) {
      ++series.throttled;
      const double left = options.profile.limits.max_wall_s - elapsed();
      if (left > 0) pause(std::min(delay.after_discarding(), left));
    } else {
      delay.sample_was_good();
      series.add(sample);
      rule.add(sample.gpu_ms);
    }
    series.wall_s = elapsed();
    series.stop = rule.check(series.wall_s);
  }
  series.noise = rule.noise();
  return series;
}

bool is_unstable(const Series& series, const StoppingLimits& limits) {
  if (series.stop == Stop::quiet || series.stop == Stop::stable) return false;
  return !series.noise || *series.noise >= limits.max_noise;
}

std::string noise_text(const Series& series, const StoppingLimits& limits) {
  const size_t count = series.gpu_ms.size();
  if (!series.noise)
    return fmt::format("{} sample{} in {:.1f} s, too few to know the noise", count, count == 1 ? "" : "s",
                       series.wall_s);
  return fmt::format("noise of {:.2f} % (limit {:.2f} %) in {} samples", 100 * *series.noise, 100 * limits.max_noise,
                     count);
}

std::vector<std::string> advice_on(const Series& series, const TimeFindings& findings, const MeasureOptions& options) {
  std::vector<std::string> advice;
  const StoppingLimits& limits = options.profile.limits;
  if (findings.enqueue_ms && *findings.enqueue_ms > enqueue_fraction * findings.median_ms.value())
    advice.push_back(fmt::format(
        "enqueue-bound: the host enqueues in {:.4f} ms what the GPU does in {:.4f} ms. Back to back, the GPU would wait (a CUDA graph avoids that)",
        *findings.enqueue_ms, *findings.median_ms));
  if (findings.status == probe::TimeStatus::unstable)
    advice.push_back("unstable: " + noise_text(series, limits) +
                     (options.profile.name == "fast" ? "; the profile \"standard\" takes more samples"
                                                     : "; lock the clocks, run nothing else on the GPU"));
  if (series.stop == Stop::stable)
    advice.push_back("noisy: " + noise_text(series, limits) +
                     ", which more samples would not change; smaller differences mean nothing");
  if (series.throttled > 0)
    advice.push_back(fmt::format(
        "throttled: {} of {} samples discarded, their SM clock below {:.0f} % of {:.0f} MHz; lock the clocks at a "
        "frequency that power and cooling allow",
        series.throttled, series.throttled + series.timeless + series.gpu_ms.size(), 100 * options.throttle_fraction,
        options.reference_clock_mhz));
  if (series.timeless > 0)
    advice.push_back(
        fmt::format("no time: {} samples without a positive GPU time; did anything run?", series.timeless));
  if (findings.outliers > 0)
    advice.push_back(
        fmt::format("outliers: {} of {} samples are far from the median; does something else use this GPU?",
                    findings.outliers, findings.samples));
  return advice;
}

void add_summary(const Series& series, TimeFindings& findings) {
  const Summary summary = summarise(series.gpu_ms);
  findings.median_ms = summary.median;
  findings.min_ms = summary.min;
  findings.mean_ms = summary.mean;
  findings.max_ms = summary.max;
  findings.stdev_ms = if_finite(summary.stdev);
  findings.q1_ms = summary.q1;
  findings.q3_ms = summary.q3;
  findings.iqr_ms = summary.iqr;
  findings.noise = if_finite(summary.noise);
  findings.outliers = static_cast<int64_t>(summary.outliers);
  findings.enqueue_ms = if_finite(median(series.enqueue_ms));
  if (!series.clock_mhz.empty()) findings.clock_mhz = median(series.clock_mhz);
}

}  // namespace

Summary summarise(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  Summary summary;
  summary.count = sorted.size();
  summary.median = quantile(sorted, 0.5);
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.mean = mean_of(sorted);
  summary.stdev = stdev_of(sorted, summary.mean);
  summary.q1 = quantile(sorted, 0.25);
  summary.q3 = quantile(sorted, 0.75);
  summary.iqr = summary.q3 - summary.q1;
  summary.noise = summary.stdev / summary.mean;
  summary.outliers = count_outliers(sorted, summary.median);
  return summary;
}

Profile standard_profile() {
  return {.name = "standard", .warm_up_ms = 0, .limits = {}};
}

Profile fast_profile() {
  return {.name = "fast",
          .warm_up_ms = 25,
          .limits = {.min_samples = 5, .min_gpu_ms = 100, .max_noise = 0.05, .max_wall_s = 2, .max_gpu_ms = 100}};
}

// Welford's recurrence; nvbench goes through all samples after each one.
void StoppingRule::add(double gpu_ms) {
  ++count_;
  total_ += gpu_ms;
  const double distance = gpu_ms - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (gpu_ms - mean_);
  if (const auto estimate = noise()) estimates_.push_back(*estimate);
  if (estimates_.size() > kept_estimates) estimates_.pop_front();
}

std::optional<double> StoppingRule::noise() const {
  if (count_ < min_samples_of_estimate) return std::nullopt;
  return std::sqrt(squares_ / static_cast<double>(count_ - 1)) / mean_;
}

bool StoppingRule::is_stable() const {
  if (estimates_.size() <= min_estimates || count_ % check_interval != 0) return false;
  const std::vector<double> estimates(estimates_.begin(), estimates_.end());
  const double mean = mean_of(estimates);
  return stdev_of(estimates, mean) / mean < stable_variation;
}

Stop StoppingRule::check(double wall_s) const {
  if (count_ >= limits_.min_samples && total_ >= limits_.min_gpu_ms) {
    if (const auto now = noise(); now && *now < limits_.max_noise) return Stop::quiet;
    if (is_stable()) return Stop::stable;
    if (total_ >= limits_.max_gpu_ms) return Stop::spent;
  }
  return wall_s >= limits_.max_wall_s ? Stop::time_up : Stop::not_yet;
}

TimeFindings measure(const std::function<Sample()>& sampler, const std::function<double()>& wall_seconds,
                     const std::function<void(double seconds)>& pause, const MeasureOptions& options) {
  const double start = wall_seconds();
  const auto elapsed = [&] { return wall_seconds() - start; };
  warm_up(sampler, elapsed, options.profile);
  const Series series = collect(sampler, elapsed, pause, options);

  TimeFindings findings;
  findings.profile = options.profile.name;
  findings.samples = static_cast<int64_t>(series.gpu_ms.size());
  findings.discarded = static_cast<int64_t>(series.throttled);
  findings.raw_ms = series.gpu_ms;
  if (series.gpu_ms.empty()) {
    findings.status = probe::TimeStatus::no_accepted_samples;
  } else {
    findings.status = is_unstable(series, options.profile.limits) ? probe::TimeStatus::unstable : probe::TimeStatus::ok;
    add_summary(series, findings);
  }
  findings.advice = advice_on(series, findings, options);
  return findings;
}

}  // namespace attnprobe::run
