// Where support begins and ends along a field: rows of configs, GPUs and cuDNN versions, each searched with few questions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "campaign/campaign.hpp"
#include "limits/axis.hpp"
#include "limits/boundary_search.hpp"

namespace attnprobe::limits {

/// What must be the same within a run.
enum class Shown {
  answer,    ///< yes, but, no
  engine,    ///< the answer, and the engine of the first choice
  category,  ///< the answer, and whose reason it is where it is not yes
  all,       ///< all of them
};

}  // namespace attnprobe::limits

namespace attnprobe {
template <>
struct EnumNames<limits::Shown> {
  static constexpr std::array<std::pair<limits::Shown, std::string_view>, 4> table{{
      {limits::Shown::answer, "answer"},
      {limits::Shown::engine, "engine"},
      {limits::Shown::category, "category"},
      {limits::Shown::all, "all"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::limits {

/// One answer.
struct Point {
  std::string word;      ///< "yes", "but", "no"; "error", "environment"; "invalid" where no config has that value
  std::string category;  ///< of the root cause, or the kind of what stands in the way; "" for yes
  std::string reason;    ///< in the words of who refuses
  std::string source;    ///< "cuDNN", or who else says so
  std::optional<int64_t> engine;  ///< of the first choice
  bool operator==(const Point&) const = default;
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
  std::vector<Json> varied;        ///< a value of each axis of Question::vary
  std::vector<Run> runs;           ///< of a range: labels are indices into Limits::labels
  std::vector<Point> points;       ///< of an axis with values: of each
  std::vector<Edge> edges;         ///< of the runs that are taken
  std::map<int64_t, Point> asked;  ///< of a range: what was asked
  int surprises = 0;               ///< see BoundarySearch
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

/// Told of every answer.
using OnAnswer = std::function<void(const campaign::Result&)>;

/// Asks with as many workers as the options allow; they stay between the rounds. `options.cudnn` and its plans do not count.
/// Throws Error(usage) for an axis that does not go with any config, and for more cells than the limits allow.
Limits find_limits(const Question& question, campaign::CampaignOptions options, const OnAnswer& on_answer = {});

/// What the answer of a row is at a place of the axis.
const Point& point_at(const Limits& limits, const Row& row, const Axis& axis, size_t index);

}  // namespace attnprobe::limits
