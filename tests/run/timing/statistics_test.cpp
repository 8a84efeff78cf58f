// When a measurement has enough samples, and its statistics. Tests control the clock.
#include "run/timing/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "catch.hpp"

namespace attnprobe::test::statistics_test {

using namespace attnprobe::run;

namespace {

using Values = std::vector<double>;

// Times that alternate about 10 ms.
double alternating(size_t sample, double relative) {
  return 10 * (sample % 2 == 0 ? 1 + relative : 1 - relative);
}

StoppingRule rule_after(const Values& times, const StoppingLimits& limits = {}) {
  StoppingRule rule(limits);
  for (const double time : times) rule.add(time);
  return rule;
}

// A GPU with scripted samples, of which the last repeats, and a wall clock that advances by each sample's time plus 1
// ms.
struct Script {
  std::vector<Sample> samples;
  size_t taken = 0;
  double wall_s = 1000;  // real clocks do not start at 0
  Values pauses = {};

  static Script alternating_by(double relative, size_t count) {
    Script script;
    for (size_t i = 0; i < count; ++i) script.samples.push_back({alternating(i, relative), 0, 0});
    return script;
  }

  probe::TimeFindings measured(const MeasureOptions& options = {}) {
    return measure(
        [&] {
          const Sample sample = samples[std::min(taken++, samples.size() - 1)];
          wall_s += 0.001 + (sample.gpu_ms > 0 ? sample.gpu_ms / 1000 : 0);
          return sample;
        },
        [&] { return wall_s; },
        [&](double seconds) {
          pauses.push_back(seconds);
          wall_s += seconds;
        },
        options);
  }
};

bool advises(const probe::TimeFindings& findings, const std::string& word) {
  return std::any_of(findings.advice.begin(), findings.advice.end(),
                     [&](const std::string& advice) { return advice.rfind(word + ": ", 0) == 0; });
}

}  // namespace

// ---- summary

TEST_CASE("A summary of an even number of values", "[timing]") {
  const Summary summary = summarise(Values{4, 1, 3, 2});
  CHECK(summary.count == 4);
  CHECK(summary.median == Approx(2.5));
  CHECK((summary.min == 1 && summary.max == 4));
  CHECK(summary.mean == Approx(2.5));
  CHECK(summary.stdev == Approx(std::sqrt(5.0 / 3)));  // squares 2.25 + 0.25 + 0.25 + 2.25, over n - 1
  CHECK(summary.q1 == Approx(1.75));
  CHECK(summary.q3 == Approx(3.25));
  CHECK(summary.iqr == Approx(1.5));
  CHECK(summary.noise == Approx(std::sqrt(5.0 / 3) / 2.5));
  CHECK(summary.outliers == 0);
}

TEST_CASE("A summary of an odd number of values, and of one", "[timing]") {
  const Summary summary = summarise(Values{5, 1, 12});
  CHECK(summary.median == 5);
  CHECK(summary.mean == Approx(6));
  CHECK(summary.q1 == Approx(3));
  CHECK(summary.q3 == Approx(8.5));
  const Summary single = summarise(Values{7});
  CHECK(single.median == 7);
  CHECK(std::isnan(single.stdev));
  CHECK(std::isnan(single.noise));
}

TEST_CASE("Outliers on both sides are counted and kept", "[timing]") {
  // Median 4, deviations 3 2 1 0 1 2 and the last value's: their median is 2, so the threshold is 29.652.
  CHECK(summarise(Values{1, 2, 3, 4, 5, 6, 33.65}).outliers == 0);
  CHECK(summarise(Values{1, 2, 3, 4, 5, 6, 33.66}).outliers == 1);
  CHECK(summarise(Values{-25.66, 2, 3, 4, 5, 6, 33.66}).outliers == 2);
  CHECK(summarise(Values{-25.66, 2, 3, 4, 5, 6, 33.66}).max == 33.66);
  CHECK(summarise(Values{1, 1, 1, 1, 100}).outliers == 0);  // a deviation of 0 gives no threshold
}

// ---- stopping

TEST_CASE("sampling stops after enough quiet samples and enough time", "[timing]") {
  CHECK(rule_after(Values(10, 50)).check(0) == Stop::quiet);
  CHECK(rule_after(Values(10, 49)).check(0) == Stop::not_yet);   // 490 ms
  CHECK(rule_after(Values(9, 1000)).check(0) == Stop::not_yet);  // 9 samples
}

TEST_CASE("Noise is the standard deviation of a sample over the mean", "[timing]") {
  // Ten values 100 (1 ± x): x sqrt(10 / 9). The limit of 0.5 % is at x = 0.474 %.
  auto noisy = [](double x) {
    Values times;
    for (size_t i = 0; i < 10; ++i) times.push_back(10 * alternating(i, x));
    return rule_after(times);
  };
  CHECK(noisy(0.0048).noise().value() == Approx(0.0048 * std::sqrt(10.0 / 9)));
  CHECK(noisy(0.0048).check(0) == Stop::not_yet);
  CHECK(noisy(0.0047).check(0) == Stop::quiet);
  CHECK_FALSE(rule_after({1, 2, 3, 4}).noise());
  CHECK(rule_after({1, 2, 3, 4, 5}).noise().value() == Approx(std::sqrt(2.5) / 3));
}

TEST_CASE("Steady noise stops at every 16th sample after 64 estimates, but growing noise does not", "[timing]") {
  StoppingRule rule({});
  size_t samples = 0;
  while (!rule.done(0) && samples < 1000) rule.add(alternating(samples++, 0.1));
  CHECK(samples == 80);  // the 65th estimate is that of sample 69
  CHECK(rule.check(0) == Stop::stable);
  CHECK(rule.noise().value() == Approx(0.1 * std::sqrt(80.0 / 79)));

  StoppingRule growing({});
  for (int sample = 0; sample < 160; ++sample) {
    growing.add(10 * std::pow(1.05, sample));
    REQUIRE(growing.check(14.99) == Stop::not_yet);
  }
  CHECK(growing.check(15) == Stop::time_up);
}

TEST_CASE("the stopping rule follows its definition and keeps 512 estimates", "[timing]") {
  // A slow start, whose effect on the noise fades slowly.
  std::mt19937 random(7);
  std::uniform_real_distribution<double> near_one(0.9, 1.1);
  Values times;
  for (int i = 0; i < 2000; ++i) times.push_back((i < 40 ? 30 : 1) * near_one(random));

  auto stop_by_definition = [&](size_t kept) {
    Values estimates;
    double total = 0;
    for (size_t count = 1; count <= times.size(); ++count) {
      total += times[count - 1];
      if (count >= 5) estimates.push_back(summarise(std::span(times).first(count)).noise);
      if (count % 16 != 0 || estimates.size() <= 64 || total < 500) continue;
      if (summarise(std::span(estimates).last(std::min(kept, estimates.size()))).noise < 0.05) return count;
    }
    return size_t{0};
  };
  StoppingRule rule({});
  size_t samples = 0;
  while (!rule.done(0) && samples < times.size()) rule.add(times[samples++]);
  CHECK(rule.check(0) == Stop::stable);
  CHECK(samples == stop_by_definition(512));
  CHECK(samples != stop_by_definition(2000));
}

TEST_CASE("The fast profile stops when its budget is spent", "[timing]") {
  const StoppingLimits limits = fast_profile().limits;
  CHECK(rule_after({30, 20, 30, 20, 30}, limits).check(0) == Stop::spent);
  CHECK(rule_after({30, 20, 30, 20}, limits).check(0) == Stop::not_yet);      // four samples
  CHECK(rule_after({20, 10, 20, 10, 20}, limits).check(0) == Stop::not_yet);  // 80 ms
  CHECK(rule_after({20, 10, 20, 10, 20}, limits).check(2) == Stop::time_up);
  CHECK(rule_after({20, 20, 20, 20, 20}, limits).check(0) == Stop::quiet);
}

// ---- measuring

TEST_CASE("A quiet measurement", "[timing]") {
  Script script{{{500, 9, 900}, {50, 0.1, 1900}, {50, 0.3, 1980}, {50, 0.2, 1980}}};
  const auto findings = script.measured({.reference_clock_mhz = 1980});
  CHECK(findings.status == probe::TimeStatus::ok);
  CHECK(findings.profile == "standard");
  CHECK(script.taken == 11);  // the first one is the warm-up
  CHECK(findings.samples == 10);
  CHECK(findings.raw_ms == Values(10, 50));
  CHECK(findings.median_ms == 50);
  CHECK(findings.noise == 0);
  CHECK(findings.enqueue_ms == 0.2);
  CHECK(findings.clock_mhz == 1980);
  CHECK(findings.discarded == 0);
  CHECK(findings.advice.empty());
}

TEST_CASE("The fast profile warms up for 25 ms and accepts fewer samples", "[timing]") {
  Script script{{{10, 0, 0}}};
  const auto findings = script.measured({.profile = fast_profile()});
  CHECK(findings.profile == "fast");
  CHECK(script.taken == 3 + 10);
  CHECK_FALSE(findings.clock_mhz);
  CHECK(Script::alternating_by(0.04, 100).measured({.profile = fast_profile()}).status == probe::TimeStatus::ok);
  const auto noisy = Script::alternating_by(0.06, 100).measured({.profile = fast_profile()});
  CHECK(noisy.status == probe::TimeStatus::unstable);
  CHECK(advises(noisy, "unstable"));
  CHECK(noisy.samples == 10);
}

TEST_CASE("Throttled samples are discarded, with growing pauses", "[timing]") {
  const Sample good{50, 0, 1500}, throttled{70, 0, 1499};
  Script script{{good, throttled, throttled, throttled, throttled, throttled, good, throttled, good}};
  const auto findings = script.measured({.reference_clock_mhz = 2000});
  CHECK(script.pauses == Values{0.05, 0.05, 0.05, 0.125, 0.3125, 0.3125});
  CHECK(findings.status == probe::TimeStatus::ok);
  CHECK(findings.discarded == 6);
  CHECK(findings.samples == 10);
  CHECK(findings.max_ms == 50);
  CHECK(findings.clock_mhz == 1500);
  REQUIRE(findings.advice.size() == 1);
  CHECK_THAT(findings.advice[0],
             StartsWith("throttled: 6 of 16 samples discarded") && ContainsSubstring("75 % of 2000 MHz"));
}

TEST_CASE("Clocks are not checked if they or the reference are unknown", "[timing]") {
  Script unknown{{{50, 0, 0}}}, no_reference{{{50, 0, 100}}}, strict{{{50, 0, 1900}}};
  CHECK(unknown.measured({.reference_clock_mhz = 2000}).status == probe::TimeStatus::ok);
  CHECK(no_reference.measured().status == probe::TimeStatus::ok);
  CHECK(strict.measured({.reference_clock_mhz = 2000, .throttle_fraction = 0.96}).status ==
        probe::TimeStatus::no_accepted_samples);
}

TEST_CASE("For a GPU that is always throttled, measuring ends in time with a status", "[timing]") {
  Script script{{{1, 0.5, 500}}};
  const auto findings = script.measured({.reference_clock_mhz = 2000});
  CHECK(findings.status == probe::TimeStatus::no_accepted_samples);
  CHECK(findings.samples == 0);
  CHECK(findings.discarded == static_cast<int64_t>(script.taken) - 1);
  CHECK(script.wall_s - 1000 < 15.01);
  CHECK_FALSE(findings.median_ms);
  CHECK(findings.raw_ms.empty());
  CHECK(advises(findings, "throttled"));
  CHECK(Json(findings)["median_ms"].is_null());
}

TEST_CASE("A run without a positive time is not a sample", "[timing]") {
  for (const double time : {0.0, -1.0, std::nan("")}) {
    Script script{{{time, 0, 0}}};
    const auto findings = script.measured();
    CHECK(findings.status == probe::TimeStatus::no_accepted_samples);
    CHECK(script.taken == 1 + 64);
    CHECK(findings.discarded == 0);
    CHECK(advises(findings, "no time"));
  }
  Script now_and_then{{{50, 0, 0}, {0, 0, 0}, {50, 0, 0}}};
  const auto findings = now_and_then.measured();
  CHECK(findings.status == probe::TimeStatus::ok);
  CHECK(advises(findings, "no time"));
}

TEST_CASE("Noise that does not settle is unstable when the time is up", "[timing]") {
  Script script;
  for (int i = 0; i < 400; ++i) script.samples.push_back({std::pow(1.05, i), 0, 0});
  const auto findings = script.measured();
  CHECK(findings.status == probe::TimeStatus::unstable);
  CHECK(advises(findings, "unstable"));
}

TEST_CASE("Noise that settles above the limit is ok and reported", "[timing]") {
  const auto findings = Script::alternating_by(0.1, 400).measured();
  CHECK(findings.status == probe::TimeStatus::ok);
  CHECK(advises(findings, "noisy"));
  CHECK_FALSE(advises(findings, "unstable"));
}

TEST_CASE("An execution longer than the limit is one sample", "[timing]") {
  Script script{{{20000, 0, 0}}};
  const auto findings = script.measured();
  CHECK(findings.samples == 1);
  CHECK(findings.status == probe::TimeStatus::unstable);
  CHECK(findings.median_ms == 20000);
  CHECK_FALSE(findings.stdev_ms);
  CHECK_FALSE(findings.noise);
  CHECK_THAT(findings.advice.at(0), ContainsSubstring("1 sample in"));
}

TEST_CASE("Enqueueing for more than 0.8 of the GPU's time is reported, and so are outliers", "[timing]") {
  Script bound{{{50, 40.5, 0}}}, free{{{50, 40, 0}}};
  CHECK(advises(bound.measured(), "enqueue-bound"));
  CHECK(free.measured().advice.empty());
  Script script;
  for (int i = 0; i < 2000; ++i) script.samples.push_back({i == 20 ? 100 : 10 + 0.1 * (i % 7), 0, 0});
  const auto findings = script.measured();
  CHECK(findings.outliers == 1);
  CHECK(findings.max_ms == 100);
  CHECK(advises(findings, "outliers"));
}

}  // namespace attnprobe::test::statistics_test
