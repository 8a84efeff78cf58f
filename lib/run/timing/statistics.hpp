// Timing as plain numbers: when to stop sampling, statistics and quality of the samples. Uses no GPU or clock directly;
// the caller passes both.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "probe/run_findings.hpp"

namespace attnprobe::run {

/// One timed execution.
struct Sample {
  double gpu_ms = 0;      ///< between CUDA events directly before and after it
  double enqueue_ms = 0;  ///< host time of cudnnBackendExecute
  double clock_mhz = 0;   ///< SM clock during it; 0: unknown
};

struct Summary {
  size_t count = 0;
  double median = 0, min = 0, max = 0, mean = 0;
  double stdev = 0;                ///< of a sample (Bessel's correction); NaN for one value
  double q1 = 0, q3 = 0, iqr = 0;  ///< interpolated between the two nearest values
  double noise = 0;                ///< stdev / mean
  /// Values farther from the median than 14.826 times the median absolute deviation, which is ten standard deviations
  /// of a normal distribution (hyperfine's threshold). None if that deviation is 0.
  size_t outliers = 0;
};

/// Includes all values, even outliers. Precondition: not empty, and all finite.
Summary summarise(std::span<const double> values);

/// When to stop. The defaults are nvbench's.
struct StoppingLimits {
  size_t min_samples = 10;
  double min_gpu_ms = 500;                                      ///< GPU time of all samples together
  double max_noise = 0.005;                                     ///< stdev / mean
  double max_wall_s = 15;                                       ///< total time, including warm-up and pauses
  double max_gpu_ms = std::numeric_limits<double>::infinity();  ///< stops here, at any noise
};

/// The time budget of a measurement.
struct Profile {
  std::string name;       ///< "standard" or "fast"
  double warm_up_ms = 0;  ///< GPU time of uncounted warm-up samples, at least one
  StoppingLimits limits;
};

/// nvbench's settings.
Profile standard_profile();

/// 25 ms of warm-up and 100 ms of samples, the budgets of triton's do_bench; at least 5 samples, at most 2 s. These are
/// too few samples for nvbench's 0.5 % of noise, so only 5 % and more counts as unstable.
Profile fast_profile();

enum class Stop {
  not_yet,
  quiet,    ///< noise below the limit
  stable,   ///< noisy, but more samples would not reduce the noise
  spent,    ///< max_gpu_ms is used up
  time_up,  ///< max_wall_s is used up
};

/// nvbench's "stdrel" criterion (nvbench/detail/stdrel_criterion.cxx): quiet or stable. Stable: of more than 64
/// estimates of the noise, the last 512 vary by less than 5 % (stdev / mean, with the latest estimate as mean). Checked
/// after every 16th sample.
class StoppingRule {
 public:
  explicit StoppingRule(const StoppingLimits& limits) : limits_(limits) {}

  /// Precondition: positive and finite.
  void add(double gpu_ms);

  /// `wall_s`: seconds since the measurement began.
  Stop check(double wall_s) const;
  bool done(double wall_s) const { return check(wall_s) != Stop::not_yet; }

  /// stdev / mean of all samples; std::nullopt for fewer than five samples.
  std::optional<double> noise() const;

 private:
  bool is_stable() const;

  StoppingLimits limits_;
  size_t count_ = 0;
  double total_ = 0, mean_ = 0, squares_ = 0;  ///< squares_: sum of squared distances to the mean
  std::deque<double> estimates_;
};

struct MeasureOptions {
  Profile profile = standard_profile();
  double reference_clock_mhz = 0;   ///< SM clock of the unthrottled GPU; 0: samples are not checked
  double throttle_fraction = 0.75;  ///< discards samples below this share of it (nvbench's default)
};

/// Samples until StoppingRule is satisfied. Discards samples with a throttled clock, and pauses after each. The
/// pause grows after three in a row (as in nvbench: 0.05 s, then + min(1.5 delay, 0.5 s)). Also discards samples
/// without a positive time; 64 in a row end the measurement. A sample that exceeds the wall limit still counts.
///
/// Fills every field except `method` and those of other measurements (hot_, graph_, rates). If no sample was accepted,
/// the status is "no_accepted_samples", every time is null and `advice` says why.
///
/// `sampler` executes once; work of only the first execution (lazy loading) must be done already. `wall_seconds`: a
/// monotonic clock. `pause` waits. Exceptions pass through.
probe::TimeFindings measure(const std::function<Sample()>& sampler, const std::function<double()>& wall_seconds,
                            const std::function<void(double seconds)>& pause, const MeasureOptions& options);

}  // namespace attnprobe::run
