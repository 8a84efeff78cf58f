// Finds where support begins and ends along a field, for rows of configs, GPUs and cuDNN versions, with few questions
// each.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ask/plan.hpp"
#include "base/enum_names.hpp"
#include "studies/limits/axis.hpp"
#include "studies/limits/boundary_search.hpp"

namespace attnprobe::limits {

/// The properties that are equal within a run.
enum class Shown {
  answer,    ///< yes, but, no
  engine,    ///< the answer, and the engine of the first choice
  category,  ///< the answer, and for a no or a but the category of the reason
  all,       ///< all of these properties
  time,      ///< the answer; every point is asked, run and timed
};
ATTNPROBE_ENUM(Shown, answer, engine, category, all, time)

/// One answer.
struct Point {
  answer::Word word =
      answer::Word::not_asked;    ///< yes, but, no; error, environment; invalid if the config cannot have that value
  std::string category;           ///< category of the root cause, or the kind of obstacle; "" for yes
  std::string reason;             ///< in the refusing layer's words
  std::string source;             ///< "cuDNN", or another source
  std::optional<int64_t> engine;  ///< engine of the first choice
  bool operator==(const Point&) const = default;
};

/// The times of a point's plans on a GPU: medians of cold runs, in milliseconds.
struct PointTime {
  std::optional<double> first_ms;    ///< time of the first choice that works, which programs use; none: not timed
  std::optional<double> fastest_ms;  ///< time of the fastest correct plan
  int64_t fastest_engine = -1;
};

/// Whether cuDNN supports the point: yes or but.
inline bool is_taken(const Point& point) {
  return is_taken(point.word);
}

/// "yes", "yes, engine 8", "no, head_dim".
std::string label_text(const Point& point, Shown shown);

struct Question {
  std::vector<attention::AttentionConfig> configs;
  std::vector<Axis> vary;  ///< each combination of their values is a row; all values of a range are asked
  Axis axis;               ///< the axis along which a row runs
  std::vector<gpu::Target> targets;
  std::vector<cudnn::LibraryInfo> cudnns;
  Shown shown = Shown::answer;
  std::vector<std::string> assumed;  ///< "heads 8": assumed parts of the shape
  bool times = false;  ///< every point is asked and its plans are run: the targets are GPUs of this machine
  /// Rows up to this size are asked in full, unless all rows together exceed the cells.
  uint64_t values_in_full = 1024, cells_in_full = 16'384;
};

/// Why a run begins, ends, omits numbers, or is "but".
struct Edge {
  enum class Side { below, above, between, inside } side = Side::above;
  Label label = 0;    ///< label of the run
  int64_t value = 0;  ///< the number with the answer Point
  Point point;
};

struct Row {
  size_t config = 0, target = 0, cudnn = 0;
  std::vector<Json> varied;            ///< one value per axis of Question::vary
  std::vector<Run> runs;               ///< for a range: labels are indices into Limits::labels
  std::vector<Point> points;           ///< one per value, for an axis with values
  std::vector<Edge> edges;             ///< edges of the supported runs
  std::map<int64_t, Point> asked;      ///< for a range: the asked numbers
  std::map<int64_t, PointTime> times;  ///< times of executed plans, by number or index among the values; with
                                       ///< Question::times
  int surprises = 0;                   ///< see BoundarySearch
};

/// Rows with the same runs; they differ only in these properties.
struct Line {
  std::vector<size_t> configs, targets, cudnns;
  std::vector<std::vector<Json>> varied;
  std::vector<size_t> rows;  ///< the first represents all
  /// For a row whose last run is supported and reaches the end of a default range. Whether the first choice at that end
  /// compiled; none if not tried.
  std::optional<bool> end_compiled;
};

struct Limits {
  std::vector<std::string> labels;  ///< "yes", or "yes, engine 8"
  std::vector<Point> of_label;      ///< the first point of each label
  std::vector<Row> rows;
  std::vector<Line> lines;
  uint64_t asked = 0, cells = 0;  ///< questions asked, and cells of the rows
  bool stopped = false;           ///< stopped by the user: there are no rows
};

/// The config at a place of a row; may contradict itself.
attention::AttentionSpec spec_at(const Question& question, const Row& row, const Json& value);

/// Called for every answer.
using OnAnswer = std::function<void(const answer::Answer&)>;

/// Asks with as many workers as the options allow, and keeps them between rounds. Ignores the plans of `options`.
/// Throws Error(usage) for an axis that suits no config, and for more cells than the limits allow. Also throws if times
/// of a simulated GPU are requested.
Limits find_limits(const Question& question, const asking::PlanOptions& options, const asking::Session& session,
                   const OnAnswer& on_answer = {});

/// The number of asked numbers in a run.
int64_t asked_of(const Row& row, const Run& run);

/// The longest gap of unasked members of a run: a narrower band with another answer could be hidden there.
int64_t widest_unasked(const Limits& limits);

/// The answer of a row at a place of the axis.
const Point& point_at(const Limits& limits, const Row& row, const Axis& axis, size_t index);

}  // namespace attnprobe::limits
