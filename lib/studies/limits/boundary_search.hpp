// Finds with few questions where the answers for a row of numbers change. Independent of attention.
//
// Kernels need multiples of a power of two, so numbers are divided into classes: odd, 2 mod 4, 4 mod 8, … . Classes
// with the same answers form a group. Within a group the answer rarely changes; halving finds the change between two
// members with different answers. Random members are also asked. A wrong prediction splits a gap, which is then
// searched like the others, and adds more random members. Isolated numbers cannot be found this way, so short ranges
// are asked in full, and some numbers of longer ranges always.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "attention/range.hpp"

namespace attnprobe::limits {

using Label = int;  ///< an answer; its meaning is up to the caller

/// The numbers first, first + step, … last without multiples of `except`, all with one answer.
struct Run {
  int64_t first = 0, last = 0;  ///< both ends have that answer
  int64_t step = 1;
  int64_t except = 0;  ///< 0: no exceptions
  Label label = 0;
  bool operator==(const Run&) const = default;
};

/// Whether the run includes the number.
bool contains(const Run& run, int64_t value);
/// The number of its members.
int64_t count_of(const Run& run);

struct SearchOptions {
  uint64_t seed = 0;             ///< seed of the random members
  uint64_t asked_in_full = 12;   ///< ranges of at most this many numbers are asked in full
  std::vector<int64_t> special;  ///< always asked, like both neighbours of every power of two
};

class BoundarySearch {
 public:
  /// Searches first, first + step, … last. Precondition: the range is not geometric.
  BoundarySearch(const attention::Range& range, SearchOptions options);

  /// Patterns of similar rows, most likely first, each as runs of the whole range. Uses the first pattern that is
  /// correct at its ends, beyond them and at random members, which needs only a fraction of the questions. Call it
  /// before the first wanted().
  void suppose(std::vector<std::vector<Run>> candidates) { candidates_ = std::move(candidates); }

  /// The numbers to ask next, ascending; none: all answers are known or predicted.
  std::vector<int64_t> wanted();
  /// Sets the answer of a wanted number or any other number.
  void tell(int64_t value, Label label);

  /// The known or inferred answer of a number.
  Label label_of(int64_t value) const;

  /// The whole range, by first numbers. Precondition of both: wanted() returned none.
  std::vector<Run> runs() const;

  const std::map<int64_t, Label>& known() const { return known_; }
  /// The number of wrongly predicted random members: above 0, the row is less regular than assumed.
  int surprises() const { return surprises_; }

 private:
  struct Group {
    std::set<int> classes;
    std::map<int64_t, Label> answers;  // answers of its members
  };
  using Wanted = std::set<int64_t>;

  int class_of(int64_t value) const;
  int64_t member_near(const std::set<int>& classes, int64_t start, int64_t after, int64_t before) const;
  int64_t random_member(const std::set<int>& classes, int64_t after, int64_t before, uint64_t salt) const;
  void want(Wanted& wanted, int64_t value) const;
  bool is_asked_in_full() const;
  void add_special(Wanted& wanted) const;
  void add_first_samples(Wanted& wanted) const;
  void group();
  void add_samples_of_classes(Wanted& wanted) const;
  void add_boundaries(Wanted& wanted) const;
  void add_checks(Wanted& wanted);
  void add_tests(Wanted& wanted, const std::vector<Run>& runs) const;
  bool holds(const std::vector<Run>& runs) const;
  void try_candidates(Wanted& wanted);
  const Group& group_of(int64_t value) const;
  void add_runs(std::vector<Run>& runs, int64_t after, int64_t upto) const;
  std::vector<Run> runs_by_classes() const;
  std::vector<Run> progressions(Label label) const;

  attention::Range range_;
  SearchOptions options_;
  int64_t last_ = 0;        // the last number of the range
  int64_t coarse_ = 1;      // a power of two: the first questions are its multiples
  int coarsest_class_ = 0;  // log2 of the first value
  std::set<int> classes_;   // number of classes in the range
  int surprises_ = 0;
  size_t checks_left_ = 2;
  std::vector<std::vector<Run>> candidates_;
  std::optional<std::vector<Run>> taken_;  // index of the accepted candidate
  std::vector<Group> groups_;              // of known_
  std::map<int64_t, Label> known_;
  std::map<int64_t, Label> foretold_;  // for requested random members
};

}  // namespace attnprobe::limits
