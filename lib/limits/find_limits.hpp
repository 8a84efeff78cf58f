// Where support begins and ends along a field: rows of configs, GPUs and cuDNN versions, each searched with few questions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "campaign/plan.hpp"
#include "limits/axis.hpp"
#include "limits/boundary_search.hpp"

namespace attnprobe::limits {

/// What must be the same within a run.
enum class Shown {
  answer,    ///< yes, but, no
  engine,    ///< the answer, and the engine of the first choice
  category,  ///< the answer, and whose reason it is where it is not yes
  all,       ///< all of them
  time,      ///< the answer; every point is asked and run, and has its time
};
ATTNPROBE_ENUM(Shown, answer, engine, category, all, time)

/// One answer.
struct Point {
  std::string word;      ///< "yes", "but", "no"; "error", "environment"; "invalid" where no config has that value
  std::string category;  ///< of the root cause, or the kind of what stands in the way; "" for yes
  std::string reason;    ///< in the words of who refuses
  std::string source;    ///< "cuDNN", or who else says so
  std::optional<int64_t> engine;  ///< of the first choice
  bool operator==(const Point&) const = default;
};

/// What the plans of a point took on a GPU: medians of cold runs, in milliseconds.
struct PointTime {
  std::optional<double>
      first_ms;  ///< of the first choice that works, which programs get; none: no time was taken of it
  std::optional<double> fastest_ms;  ///< of whichever right plan was fastest
  int64_t fastest_engine = -1;
};

/// Whether cuDNN takes it: yes, but.
bool is_taken(const Point& point);

/// "yes", "yes, engine 8", "no, head_dim".
std::string label_text(const Point& point, Shown shown);

struct Question {
  std::vector<attention::AttentionConfig> configs;
  std::vector<Axis> vary;  ///< each combination of their values is a row; a range has all its values asked
  Axis axis;               ///< along which a row runs
  std::vector<gpu::Target> targets;
  std::vector<cudnn::LibraryInfo> cudnns;
  Shown shown = Shown::answer;
  std::vector<std::string> assumed;  ///< "heads 8": what of the shape nobody said
  bool times = false;  ///< every point is asked and its plans are run: the targets are GPUs of this machine
  /// Rows of at most so many numbers are asked in full, unless all rows have more cells than that together.
  uint64_t values_in_full = 1024, cells_in_full = 16'384;
};

/// Why a run begins, ends, leaves numbers out, or is "but".
struct Edge {
  enum class Side { below, above, between, inside } side = Side::above;
  Label label = 0;    ///< of the run
  int64_t value = 0;  ///< of which Point is the answer
  Point point;
};

struct Row {
  size_t config = 0, target = 0, cudnn = 0;
  std::vector<Json> varied;            ///< a value of each axis of Question::vary
  std::vector<Run> runs;               ///< of a range: labels are indices into Limits::labels
  std::vector<Point> points;           ///< of an axis with values: of each
  std::vector<Edge> edges;             ///< of the runs that are taken
  std::map<int64_t, Point> asked;      ///< of a range: what was asked
  std::map<int64_t, PointTime> times;  ///< by number, or place among the values: of what ran, where Question::times
  int surprises = 0;                   ///< see BoundarySearch
};

/// Rows with the same runs, which differ in nothing but these.
struct Line {
  std::vector<size_t> configs, targets, cudnns;
  std::vector<std::vector<Json>> varied;
  std::vector<size_t> rows;  ///< the first stands for all
  /// Of a row whose last run is taken and goes on to the end of a usual range: whether the first choice there compiled; none where it
  /// was not tried.
  std::optional<bool> end_compiled;
};

struct Limits {
  std::vector<std::string> labels;  ///< "yes", or "yes, engine 8"
  std::vector<Point> of_label;      ///< the first that was seen of each
  std::vector<Row> rows;
  std::vector<Line> lines;
  uint64_t asked = 0, cells = 0;  ///< questions put, and those that the rows have
  bool stopped = false;           ///< somebody ended it: there are no rows
};

/// The config of a place of a row; it may contradict itself.
attention::AttentionSpec spec_at(const Question& question, const Row& row, const Json& value);

/// Told of every answer.
using OnAnswer = std::function<void(const answer::Answer&)>;

/// Asks with as many workers as the options allow; they stay between the rounds. The plans of `options` do not count.
/// Throws Error(usage) for an axis that does not go with any config, for more cells than the limits allow, and for times of a
/// simulated GPU.
Limits find_limits(const Question& question, const campaign::PlanOptions& options, const campaign::Session& session,
                   const OnAnswer& on_answer = {});

/// How many numbers of a run were asked.
int64_t asked_of(const Row& row, const Run& run);

/// The most members of a run that follow each other and were not asked: a band of another answer that is no wider could lie there
/// unseen.
int64_t widest_unasked(const Limits& limits);

/// What the answer of a row is at a place of the axis.
const Point& point_at(const Limits& limits, const Row& row, const Axis& axis, size_t index);

}  // namespace attnprobe::limits
