#include "studies/limits/boundary_search.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <optional>

namespace attnprobe::limits {
namespace {

constexpr int64_t first_multiples = 6;  // the first questions are between this number and twice as many
constexpr uint64_t checks_of_candidate = 2;
constexpr int64_t none = -1;

// SplitMix64 (Steele, Lea, Flood 2014): a row has the same samples on every machine.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The answer of a number between known members that agree; none if they differ, or if one side has no member.
std::optional<Label> between(const std::map<int64_t, Label>& answers, int64_t value) {
  const auto above = answers.lower_bound(value);
  if (above == answers.end() || above == answers.begin()) return std::nullopt;
  const auto below = std::prev(above);
  return below->second == above->second ? std::optional(above->second) : std::nullopt;
}

// Adjacent members with the same answer, first and last number.
struct Segment {
  int64_t first, last;
};

std::vector<Segment> segments_of(const std::map<int64_t, Label>& answers) {
  std::vector<Segment> segments;
  const Label* before = nullptr;
  for (const auto& [value, label] : answers) {
    if (before == nullptr || *before != label)
      segments.push_back({value, value});
    else
      segments.back().last = value;
    before = &label;
  }
  return segments;
}

const Run* run_with(const std::vector<Run>& runs, int64_t value) {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const Run& run) { return contains(run, value); });
  return found == runs.end() ? nullptr : &*found;
}

}  // namespace

bool contains(const Run& run, int64_t value) {
  if (value < run.first || value > run.last) return false;
  return (value - run.first) % run.step == 0 && (run.except == 0 || value % run.except != 0);
}

int64_t count_of(const Run& run) {
  const int64_t all = (run.last - run.first) / run.step + 1;
  if (run.except == 0) return all;
  // Every k-th of them is a multiple of `except`; neither end is.
  const int64_t together = std::lcm(run.step, run.except);
  int64_t excepted = 0;
  for (int64_t value = run.first; value <= std::min(run.last, run.first + together); value += run.step)
    if (value % run.except == 0) {
      excepted = (run.last - value) / together + 1;
      break;
    }
  return all - excepted;
}

BoundarySearch::BoundarySearch(const attention::Range& range, SearchOptions options)
    : range_(range), options_(std::move(options)) {
  last_ = range.first + (range.last - range.first) / range.step * range.step;
  const int64_t span = std::max<int64_t>(1, (last_ - range.first) / first_multiples);
  coarse_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(span)));
  coarsest_class_ = std::countr_zero(static_cast<uint64_t>(coarse_));
  const int64_t period = std::lcm(range.step, coarse_);
  for (int64_t value = range.first; value <= std::min(last_, range.first + 2 * period); value += range.step)
    classes_.insert(class_of(value));
}

int BoundarySearch::class_of(int64_t value) const {
  if (value == 0) return coarsest_class_;
  return std::min(std::countr_zero(static_cast<uint64_t>(value)), coarsest_class_);
}

// The member nearest to `start` between the two, or none. A class is every second multiple of a power of two. Iterates
// over multiples of the wider step (the class's or the range's), which repeat after the narrower step's number of
// steps.
int64_t BoundarySearch::member_near(const std::set<int>& classes, int64_t start, int64_t after, int64_t before) const {
  const int64_t low = std::max(after + 1, range_.first), high = std::min(before - 1, last_);
  const auto modulo = [](int64_t value, int64_t by) { return (value % by + by) % by; };
  int64_t best = none;
  const auto is_nearer = [&](int64_t distance) { return best == none || distance < std::abs(best - start); };
  for (const int one : classes) {
    const bool is_coarsest = one == coarsest_class_;
    const int64_t period = int64_t{1} << (is_coarsest ? one : one + 1), offset = is_coarsest ? 0 : int64_t{1} << one;
    const int64_t wide = std::max(period, range_.step), narrow = std::min(period, range_.step);
    const int64_t below = start - modulo(start - (period >= range_.step ? offset : range_.first), wide);
    const auto is_member = [&](int64_t value) {
      return value >= low && value <= high && modulo(value - range_.first, range_.step) == 0 &&
             modulo(value - offset, period) == 0;
    };
    for (int64_t k = 0;
         k <= narrow && is_nearer((k - 1) * wide) && (below - k * wide >= low || below + (k + 1) * wide <= high); ++k)
      for (const int64_t value : {below - k * wide, below + (k + 1) * wide})
        if (is_member(value) && is_nearer(std::abs(value - start))) best = value;
  }
  return best;
}

int64_t BoundarySearch::random_member(const std::set<int>& classes, int64_t after, int64_t before,
                                      uint64_t salt) const {
  if (before - after < 2) return none;
  const uint64_t random = mixed(options_.seed ^ mixed(salt ^ mixed(static_cast<uint64_t>(after))));
  const auto width = static_cast<uint64_t>(before - after - 1);
  return member_near(classes, after + 1 + static_cast<int64_t>(random % width), after, before);
}

void BoundarySearch::want(Wanted& wanted, int64_t value) const {
  if (value >= range_.first && value <= last_ && (value - range_.first) % range_.step == 0 && known_.count(value) == 0)
    wanted.insert(value);
}

bool BoundarySearch::is_asked_in_full() const {
  return attention::count_of(range_) <= options_.asked_in_full;
}

// Numbers that differ from their neighbours more often than others.
void BoundarySearch::add_special(Wanted& wanted) const {
  for (const int64_t value : options_.special) want(wanted, value);
  for (int64_t power = 1; power - 1 <= last_; power *= 2)
    for (const int64_t value : {power - 1, power, power + 1}) want(wanted, value);
}

// All of a short range; otherwise the ends, special numbers, and a coarse grid.
void BoundarySearch::add_first_samples(Wanted& wanted) const {
  if (is_asked_in_full()) {
    for (const int64_t value : attention::values_of(range_)) want(wanted, value);
    return;
  }
  for (const int64_t value : {range_.first, range_.first + range_.step, last_}) want(wanted, value);
  add_special(wanted);
  for (int64_t value = range_.first / coarse_ * coarse_; value <= last_; value += coarse_) want(wanted, value);
}

// A class joins the first group that predicts each of its predictable members.
void BoundarySearch::group() {
  std::map<int, std::map<int64_t, Label>> by_class;
  for (const auto& [value, label] : known_) by_class[class_of(value)].emplace(value, label);
  groups_.clear();
  for (auto its = by_class.rbegin(); its != by_class.rend(); ++its) {
    const auto agrees = [&](const Group& group) {
      bool compared = false;
      for (const auto& [value, label] : its->second)
        if (const auto foretold = between(group.answers, value)) {
          if (*foretold != label) return false;
          compared = true;
        }
      return compared;
    };
    auto joined = std::find_if(groups_.begin(), groups_.end(), agrees);
    if (joined == groups_.end()) joined = groups_.insert(groups_.end(), Group());
    joined->classes.insert(its->first);
    joined->answers.insert(its->second.begin(), its->second.end());
  }
}

// Two distant members of each class, within each segment of each group: tests whether the class has the group's
// answers.
void BoundarySearch::add_samples_of_classes(Wanted& wanted) const {
  std::map<int, std::vector<int64_t>> by_class;
  for (const auto& [value, label] : known_) by_class[class_of(value)].push_back(value);
  for (const auto& group : groups_)
    for (const auto& [first, last] : segments_of(group.answers))
      for (const int one : classes_) {
        const auto& members = by_class[one];
        const auto above = std::upper_bound(members.begin(), members.end(), first);
        const auto beyond = std::lower_bound(members.begin(), members.end(), last);
        const auto sample = [&](int64_t after, int64_t before) {
          want(wanted, random_member({one}, after, before, static_cast<uint64_t>(one)));
        };
        if (above >= beyond) {  // none within; beyond it if the segment is one number, which is a member
          const int64_t middle = first + (last - first) / 2;
          sample(first, middle + 1);
          sample(middle, last);
        } else if (const int64_t lowest = *above, highest = *std::prev(beyond); highest - lowest < (last - first) / 4) {
          last - highest > lowest - first ? sample(highest, last) : sample(first, lowest);
        }
      }
}

// The ends of each group, and the middle of each gap in which its answer changes.
void BoundarySearch::add_boundaries(Wanted& wanted) const {
  for (const auto& group : groups_) {
    want(wanted, member_near(group.classes, range_.first, range_.first - 1, last_ + 1));
    want(wanted, member_near(group.classes, last_, range_.first - 1, last_ + 1));
    for (auto above = std::next(group.answers.begin()); above != group.answers.end(); ++above) {
      const auto below = std::prev(above);
      if (below->second == above->second) continue;
      const int64_t middle = below->first + (above->first - below->first) / 2;
      if (const int64_t member = member_near(group.classes, middle, below->first, above->first); member != none)
        want(wanted, member);
    }
  }
}

// Random members of the longest segments, and some of the whole range; more if a prediction was wrong.
void BoundarySearch::add_checks(Wanted& wanted) {
  const auto check = [&](int64_t value) {
    if (value == none || known_.count(value) != 0) return;
    foretold_[value] = label_of(value);
    want(wanted, value);
  };
  for (; checks_left_ > 0; --checks_left_) {
    const uint64_t salt = mixed(checks_left_ + 1000 * static_cast<uint64_t>(surprises_));
    check(random_member(classes_, range_.first - 1, last_ + 1, salt));
    for (const auto& group : groups_)
      if (surprises_ > 0 || checks_left_ == 1)
        for (const auto& [first, last] : segments_of(group.answers))
          check(random_member(group.classes, first, last, salt));
  }
}

// The ends of a candidate's runs, the numbers just beyond them, a random member of each, some of the whole range, and
// the special numbers.
void BoundarySearch::add_tests(Wanted& wanted, const std::vector<Run>& runs) const {
  add_special(wanted);
  for (const Run& run : runs) {
    for (const int64_t value : {run.first - run.step, run.first, run.last, run.last + run.step}) want(wanted, value);
    const uint64_t random = mixed(options_.seed ^ mixed(static_cast<uint64_t>(run.first)));
    const auto members = static_cast<uint64_t>((run.last - run.first) / run.step + 1);
    const int64_t member = run.first + static_cast<int64_t>(random % members) * run.step;
    if (contains(run, member)) want(wanted, member);
  }
  for (uint64_t salt = 1; salt <= checks_of_candidate; ++salt)
    want(wanted, random_member(classes_, range_.first - 1, last_ + 1, mixed(salt)));
}

bool BoundarySearch::holds(const std::vector<Run>& runs) const {
  return std::all_of(known_.begin(), known_.end(), [&](const auto& known) {
    const Run* run = run_with(runs, known.first);
    return run != nullptr && run->label == known.second;
  });
}

// Tries candidates one after the other until one agrees with the answers.
void BoundarySearch::try_candidates(Wanted& wanted) {
  while (!candidates_.empty() && wanted.empty()) {
    if (holds(candidates_.front())) add_tests(wanted, candidates_.front());
    if (!wanted.empty()) return;
    if (holds(candidates_.front())) {
      taken_ = std::move(candidates_.front());
      candidates_.clear();
    } else {
      candidates_.erase(candidates_.begin());
    }
  }
}

std::vector<int64_t> BoundarySearch::wanted() {
  Wanted wanted;
  if (is_asked_in_full()) {
    add_first_samples(wanted);
    if (wanted.empty()) group();
    return {wanted.begin(), wanted.end()};
  }
  try_candidates(wanted);
  if (!wanted.empty()) return {wanted.begin(), wanted.end()};
  if (taken_) return {};
  add_first_samples(wanted);
  if (wanted.empty()) {
    group();
    add_samples_of_classes(wanted);
  }
  if (wanted.empty()) add_boundaries(wanted);
  if (wanted.empty()) add_checks(wanted);
  return {wanted.begin(), wanted.end()};
}

void BoundarySearch::tell(int64_t value, Label label) {
  known_[value] = label;
  const auto foretold = foretold_.find(value);
  if (foretold == foretold_.end()) return;
  if (foretold->second != label) {
    ++surprises_;
    checks_left_ = 4;
    if (surprises_ % 2 == 0) coarse_ = std::max<int64_t>(1, coarse_ / 2);
  }
  foretold_.erase(foretold);
}

const BoundarySearch::Group& BoundarySearch::group_of(int64_t value) const {
  const int its = class_of(value);
  for (const auto& group : groups_)
    if (group.classes.count(its) != 0) return group;
  return groups_.front();
}

Label BoundarySearch::label_of(int64_t value) const {
  if (const auto known = known_.find(value); known != known_.end()) return known->second;
  if (taken_)
    if (const Run* run = run_with(*taken_, value)) return run->label;
  const auto& answers = group_of(value).answers;
  const auto above = answers.lower_bound(value);
  return above == answers.begin() ? above->second : std::prev(above)->second;
}

// Adds the runs of the numbers above `after`, up to `upto`, in which no group's answer changes.
void BoundarySearch::add_runs(std::vector<Run>& runs, int64_t after, int64_t upto) const {
  std::map<Label, std::set<int>> by_label;
  std::set<int> present;
  for (const int one : classes_)
    if (const int64_t member = member_near({one}, after + 1, after, upto + 1); member != none) {
      by_label[label_of(member)].insert(one);
      present.insert(one);
    }
  const auto add = [&](Label label, const std::set<int>& classes, int64_t step, int64_t except) {
    const int64_t first = member_near(classes, after + 1, after, upto + 1);
    const int64_t last = member_near(classes, upto, after, upto + 1);
    const auto goes_on = std::find_if(runs.begin(), runs.end(), [&](const Run& run) {
      return run.label == label && run.step == step && run.except == except &&
             first - run.last <= (except != 0 ? 2 * step : step);
    });
    if (goes_on != runs.end())
      goes_on->last = last;
    else
      runs.push_back({first, last, step, except, label});
  };
  const auto multiple = [&](int one) { return std::lcm(range_.step, int64_t{1} << one); };
  // Consecutive classes are the multiples of one number except those of another.
  for (const auto& [label, classes] : by_label)
    for (auto one = present.begin(); one != present.end();) {
      std::set<int> together;
      const int64_t step = one == present.begin() ? range_.step : multiple(*one);
      while (one != present.end() && classes.count(*one) != 0) together.insert(*one++);
      if (!together.empty()) add(label, together, step, one == present.end() ? 0 : int64_t{1} << *one);
      if (one != present.end() && together.empty()) ++one;
    }
}

std::vector<Run> BoundarySearch::runs_by_classes() const {
  std::set<int64_t> changes;  // where some group's answer changes
  for (const auto& group : groups_)
    for (auto above = group.answers.begin(); above != group.answers.end(); ++above)
      if (above != group.answers.begin() && std::prev(above)->second != above->second)
        changes.insert(std::prev(above)->first);
  changes.insert(last_);
  std::vector<Run> runs;
  int64_t after = range_.first - 1;
  for (const int64_t change : changes) {
    add_runs(runs, after, change);
    after = change;
  }
  return runs;
}

// The known numbers with an answer as steps of any length: "3–510 step 3".
std::vector<Run> BoundarySearch::progressions(Label label) const {
  constexpr size_t fewest = 4;
  std::vector<int64_t> numbers;
  for (const auto& [value, its] : known_)
    if (its == label) numbers.push_back(value);
  std::vector<Run> runs;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    const int64_t step = end < numbers.size() ? numbers[end] - numbers[i] : range_.step;
    while (end < numbers.size() && numbers[end] - numbers[end - 1] == step) ++end;
    if (end - i < fewest && step != range_.step) end = i + 1;
    runs.push_back({numbers[i], numbers[end - 1], end - i == 1 ? range_.step : step, 0, label});
    i = end;
  }
  return runs;
}

std::vector<Run> BoundarySearch::runs() const {
  if (taken_) return *taken_;
  std::vector<Run> runs = runs_by_classes();
  if (is_asked_in_full()) {
    std::set<Label> labels;
    for (const Run& run : runs) labels.insert(run.label);
    for (const Label label : labels) {
      const auto is_its = [&](const Run& run) { return run.label == label; };
      auto shorter = progressions(label);
      if (shorter.size() >= static_cast<size_t>(std::count_if(runs.begin(), runs.end(), is_its))) continue;
      std::erase_if(runs, is_its);
      runs.insert(runs.end(), shorter.begin(), shorter.end());
    }
  }
  std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  return runs;
}

}  // namespace attnprobe::limits
