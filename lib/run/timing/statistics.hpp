// Timing as plain numbers: when enough samples are there, what they say,
// and what they are worth. No GPU and no clock in here: both are handed in.
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
  double gpu_ms = 0;      ///< between CUDA events right before and right after it
  double enqueue_ms = 0;  ///< host time of cudnnBackendExecute
  double clock_mhz = 0;   ///< SM clock meanwhile; 0: unknown
};

struct Summary {
  size_t count = 0;
  double median = 0, min = 0, max = 0, mean = 0;
  double stdev = 0;                ///< of a sample (Bessel's correction); NaN where there is one value
  double q1 = 0, q3 = 0, iqr = 0;  ///< interpolated between the two nearest values
  double noise = 0;                ///< stdev / mean
  /// Values farther from the median than 14.826 times the median absolute deviation, which is ten standard deviations
  /// of a normal distribution (hyperfine's threshold); none where that deviation is 0.
  size_t outliers = 0;
};

/// Every value counts, outliers too. Precondition: not empty, and all finite.
Summary summarise(std::span<const double> values);

/// When to stop. The defaults are nvbench's.
struct StoppingLimits {
  size_t min_samples = 10;
  double min_gpu_ms = 500;                                      ///< GPU time of all samples together
  double max_noise = 0.005;                                     ///< stdev / mean
  double max_wall_s = 15;                                       ///< all in all, warm-up and pauses included
  double max_gpu_ms = std::numeric_limits<double>::infinity();  ///< enough then, whatever the noise
};

/// How much time a measurement may take.
struct Profile {
  std::string name;       ///< "standard" or "fast"
  double warm_up_ms = 0;  ///< GPU time of samples that do not count; there is always one
  StoppingLimits limits;
};

/// As nvbench measures.
Profile standard_profile();

/// 25 ms of warm-up and 100 ms of samples, the budgets of triton's do_bench; at least 5 samples, at most 2 s. The
/// samples are too few for nvbench's 0.5 % of noise: from 5 % on they are called unstable.
Profile fast_profile();

enum class Stop {
  not_yet,
  quiet,    ///< noise below the limit
  stable,   ///< noisy, but more samples would not change the noise
  spent,    ///< max_gpu_ms are over
  time_up,  ///< max_wall_s are over
};

/// nvbench's "stdrel" criterion (nvbench/detail/stdrel_criterion.cxx): quiet, or stable: of
/// more than 64 estimates of the noise the last 512 vary by less than 5 % (stdev / mean;
/// nvbench takes the latest estimate for the mean), looked at after every 16th sample.
class StoppingRule {
 public:
  explicit StoppingRule(const StoppingLimits& limits) : limits_(limits) {}

  /// Precondition: positive and finite.
  void add(double gpu_ms);

  /// `wall_s`: seconds since the measurement began.
  Stop check(double wall_s) const;
  bool done(double wall_s) const { return check(wall_s) != Stop::not_yet; }

  /// stdev / mean of all samples; std::nullopt for fewer than five, which say too little.
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
  double reference_clock_mhz = 0;   ///< SM clock of a GPU that is not throttled; 0: samples are not checked
  double throttle_fraction = 0.75;  ///< samples at less than this of it are discarded (nvbench's default)
};

/// Takes samples until StoppingRule has enough. Discards those whose clock was throttled, each followed by a pause that
/// grows after three in a row (nvbench's: 0.05 s, then + min(1.5 delay, 0.5 s)), and those without a positive time, of
/// which 64 in a row end the measurement. One that takes longer than the wall limit is still one sample.
///
/// Fills every field but `method` and those of other measurements (hot_, graph_, rates). Where no sample was accepted
/// the status is "no_accepted_samples", every time is null and `advice` says why.
///
/// `sampler` executes once; whatever only the first execution does (lazy loading) must have happened. `wall_seconds`: a
/// clock that never goes back. `pause` waits. What they throw passes through.
probe::TimeFindings measure(const std::function<Sample()>& sampler, const std::function<double()>& wall_seconds,
                            const std::function<void(double seconds)>& pause, const MeasureOptions& options);

}  // namespace attnprobe::run
