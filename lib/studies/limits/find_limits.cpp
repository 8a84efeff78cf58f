#include "studies/limits/find_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <set>

#include "ask/ask.hpp"
#include "ask/named_targets.hpp"
#include "ask/reproduce.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/limits.hpp"
#include "studies/limits/lines.hpp"
#include "studies/limits/special_numbers.hpp"
#include "worker/pool.hpp"

namespace attnprobe::limits {
namespace {

using answer::Answer;
using attention::AttentionSpec;

// A row that is being asked.
struct Search {
  Row row;
  std::optional<BoundarySearch> boundaries;
};

// One question of a row: a number of its range, or an index of its values.
struct Wanted {
  size_t row = 0;
  int64_t value = 0;
};

Point point_of(const Answer& result) {
  Point point{.word = word_of(result), .category = {}, .reason = {}, .source = "cuDNN", .engine = {}};
  if (const auto* taken = probe::first_working(result.findings)) point.engine = taken->engine;
  if (!result.but.empty()) {
    point.category = std::string(name_of(result.but.front().kind));
    point.reason = result.but.front().text;
    point.source = result.but.front().source;
  } else if (result.root_cause) {
    point.category = std::string(name_of(result.root_cause->category));
    point.reason = short_reason(result);
    point.engine.reset();
  }
  return point;
}

PointTime time_of(const Answer& result) {
  PointTime time;
  const auto* first = probe::first_working(result.findings);
  for (const auto& config : result.findings.engine_configs) {
    if (!probe::works(config, result.findings) || !config.time || !config.time->median_ms) continue;
    const double ms = *config.time->median_ms;
    if (&config == first) time.first_ms = ms;
    if (time.fastest_ms && *time.fastest_ms <= ms) continue;
    time.fastest_ms = ms;
    time.fastest_engine = config.engine;
  }
  return time;
}

// The value of a question.
Json value_of(const Axis& axis, int64_t place) {
  return axis.range ? Json(place) : axis.values[static_cast<size_t>(place)];
}

class Asker {
 public:
  Asker(const Question& question, const asking::PlanOptions& options, const asking::Session& session,
        const OnAnswer& on_answer)
      : question_(question), options_(options), session_(session), on_answer_(on_answer), pool_(2 * jobs_of(options_)) {
    if (session_.pool == nullptr) session_.pool = &pool_;
    if (session_.words == nullptr) session_.words = &words_;
    options_.walk.sweep_where_none = false;
    options_.walk.until_works = true;
    options_.walk.plans = question.times ? probe::Plans::run : probe::Plans::none;
    if (question.times) asking::check_can_time(question.targets, "by time on");
    // A map has many points, and its colours do not show hundredths.
    options_.run.timing = run::Timing::fast;
  }

  Limits run() {
    make_rows();
    if (question_.times) ask(everything());
    do {
      begin_wave();
      for (auto wanted = next_round(); !wanted.empty() && !stopped(); wanted = next_round()) ask(wanted);
    } while (begun_ < searches_.size() && !stopped());
    if (stopped()) {
      limits_.stopped = true;
      return std::move(limits_);
    }
    finish_rows();
    limits_.lines = lines_of(limits_.rows);
    compile_ends();
    return std::move(limits_);
  }

 private:
  // A time cannot be inferred from neighbours.
  std::vector<Wanted> everything() const {
    std::vector<Wanted> all;
    for (size_t r = 0; r < searches_.size(); ++r)
      for (size_t i = 0; i < count_of(question_.axis); ++i)
        all.push_back({r, question_.axis.range ? value_at(question_.axis, i).get<int64_t>() : static_cast<int64_t>(i)});
    return all;
  }

  bool stopped() const { return session_.is_stopped(); }

  // In the order in which they are printed.
  void make_rows() {
    size_t combinations = 1;
    for (const auto& axis : question_.vary) combinations *= count_of(axis);
    const size_t rows = question_.configs.size() * combinations * question_.targets.size() * question_.cudnns.size();
    check_limit(limits::configs, rows, "the fields of --vary, the configs, GPUs and cuDNN versions", "rows");
    limits_.cells = rows * count_of(question_.axis);
    if (limits_.cells > question_.cells_in_full) asked_in_full_ = 0;
    for (size_t c = 0; c < question_.configs.size(); ++c)
      for (size_t index = 0; index < combinations; ++index) {
        Search search;
        search.row.config = c;
        search.row.varied.resize(question_.vary.size());
        size_t rest = index;
        for (size_t v = question_.vary.size(); v-- > 0;) {
          const Axis& axis = question_.vary[v];
          search.row.varied[v] = value_at(axis, rest % count_of(axis));
          rest /= count_of(axis);
        }
        add_rows(search);
      }
  }

  void add_rows(Search search) {
    for (size_t v = 0; v < question_.cudnns.size(); ++v)
      for (size_t t = 0; t < question_.targets.size(); ++t) {
        search.row.target = t;
        search.row.cudnn = v;
        if (question_.axis.range)
          search.boundaries.emplace(*question_.axis.range,
                                    SearchOptions{.seed = searches_.size(),
                                                  .asked_in_full = asked_in_full_,
                                                  .special = special_numbers(question_, search.row)});
        else
          search.row.points.resize(question_.axis.values.size());
        searches_.push_back(search);
      }
  }

  // One row per GPU and cuDNN, then twice as many each time, because finished rows suggest candidates for the next
  // rows.
  void begin_wave() {
    const size_t known = begun_;
    const size_t end =
        std::min(searches_.size(), std::max(question_.targets.size() * question_.cudnns.size(), 3 * begun_));
    for (size_t r = 0; r < known && question_.axis.range; ++r) searches_[r].row.runs = searches_[r].boundaries->runs();
    for (; begun_ < end; ++begun_)
      if (question_.axis.range) searches_[begun_].boundaries->suppose(candidates_for(searches_[begun_].row, known));
  }

  // The patterns of finished rows, those with the fewest differences first.
  std::vector<std::vector<Run>> candidates_for(const Row& row, size_t known) const {
    constexpr size_t most = 4, most_runs = 12;
    std::vector<std::pair<size_t, const std::vector<Run>*>> likeness;
    for (size_t r = 0; r < known; ++r) {
      const Row& other = searches_[r].row;
      if (other.runs.size() > most_runs) continue;
      size_t same = (row.target == other.target ? 1 : 0) + (row.cudnn == other.cudnn ? 1 : 0) +
                    (row.config == other.config ? 1 : 0);
      for (size_t v = 0; v < row.varied.size(); ++v) same += row.varied[v] == other.varied[v] ? 1 : 0;
      likeness.emplace_back(same, &other.runs);
    }
    std::stable_sort(likeness.begin(), likeness.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::vector<Run>> candidates;
    for (const auto& [same, runs] : likeness)
      if (candidates.size() < most && std::find(candidates.begin(), candidates.end(), *runs) == candidates.end())
        candidates.push_back(*runs);
    return candidates;
  }

  std::vector<Wanted> next_round() {
    std::vector<Wanted> round;
    for (size_t r = 0; r < begun_; ++r) {
      auto& search = searches_[r];
      if (search.boundaries)
        for (const int64_t value : search.boundaries->wanted()) round.push_back({r, value});
      else
        for (size_t i = 0; i < search.row.points.size(); ++i)
          if (search.row.points[i].word == answer::Word::not_asked) round.push_back({r, static_cast<int64_t>(i)});
    }
    return round;
  }

  // The config of a question; none if the value contradicts another field; the contradiction is then the answer.
  std::optional<AttentionSpec> spec_of(const Wanted& wanted) {
    const Json value = value_of(question_.axis, wanted.value);
    AttentionSpec spec = spec_at(question_, searches_[wanted.row].row, value);
    spec.name = fmt::format("{}={}", question_.axis.name, text_of(value));
    const auto found = contradictions(spec);
    if (found.empty()) return spec;
    tell(wanted, {.word = answer::Word::invalid,
                  .category = "invalid",
                  .reason = found.front().message,
                  .source = "attnprobe",
                  .engine = {}});
    return std::nullopt;
  }

  void ask(const std::vector<Wanted>& round) {
    asking::QuestionGroup group{{}, question_.targets};
    for (const auto& library : question_.cudnns) group.cudnns.push_back(library.path);
    std::vector<asking::CellPlace> places;
    std::vector<Wanted> asked;
    for (const auto& wanted : round)
      if (auto spec = spec_of(wanted)) {
        const Row& row = searches_[wanted.row].row;
        places.push_back({group.questions.size(), row.target, row.cudnn});
        group.questions.push_back({{std::move(*spec), question_.configs[row.config].origin}, {}});
        asked.push_back(wanted);
      }
    // Cells of one cuDNN and one GPU are adjacent, because they share a worker.
    std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) {
      return std::pair(a.cudnn, a.target) < std::pair(b.cudnn, b.target);
    });
    group.cells = places;
    // Reported in the order of the questions, regardless of which worker finished first, so that follow-up questions
    // are reproducible.
    std::vector<std::optional<Point>> answers(asked.size());
    std::mutex mutex;
    put(std::move(group), [&](const Answer& result, size_t index) {
      const size_t at = places[index].config;
      const std::lock_guard lock(mutex);
      if (on_answer_) on_answer_(result);
      answers[at] = point_of(result);
      if (result.findings.plans_run) searches_[asked[at].row].row.times[asked[at].value] = time_of(result);
    });
    for (size_t i = 0; i < asked.size(); ++i)
      if (answers[i]) {
        ++limits_.asked;
        tell(asked[i], std::move(*answers[i]));
      }
  }

  void put(asking::QuestionGroup group, const asking::OnAnswer& on_answer) const {
    asking::ask({.groups = {std::move(group)},
                 .options = options_,
                 .further = asking::Further::nothing,
                 .cached = true,
                 .keeps = false},
                session_, on_answer);
  }

  void tell(const Wanted& wanted, Point point) {
    auto& search = searches_[wanted.row];
    if (search.boundaries) {
      search.boundaries->tell(wanted.value, label_of(point));
      search.row.asked[wanted.value] = std::move(point);
    } else {
      search.row.points[static_cast<size_t>(wanted.value)] = std::move(point);
    }
  }

  Label label_of(const Point& point) {
    const std::string text = label_text(point, question_.shown);
    const auto known = std::find(limits_.labels.begin(), limits_.labels.end(), text);
    if (known != limits_.labels.end()) return static_cast<Label>(known - limits_.labels.begin());
    limits_.labels.push_back(text);
    limits_.of_label.push_back(point);
    return static_cast<Label>(limits_.labels.size() - 1);
  }

  void finish_rows() {
    for (auto& search : searches_) {
      if (search.boundaries) {
        search.row.runs = search.boundaries->runs();
        search.row.surprises = search.boundaries->surprises();
        add_edges(search.row, limits_.of_label, *question_.axis.range);
      }
      limits_.rows.push_back(std::move(search.row));
    }
  }

  // The end of a default range is arbitrary, and support may continue beyond it, so one kernel at that end is compiled.
  void compile_ends() {
    constexpr size_t most = 8;
    size_t compiled = 0;
    options_.walk.plans = probe::Plans::first;
    for (auto& line : limits_.lines) {
      const Row& row = limits_.rows[line.rows.front()];
      if (!question_.axis.range_is_usual || row.runs.empty() || compiled == most) continue;
      const auto is_last = [&](const Run& run) {
        return run.last + run.step > question_.axis.range->last &&
               is_taken(limits_.of_label[static_cast<size_t>(run.label)]);
      };
      const auto last = std::find_if(row.runs.begin(), row.runs.end(), is_last);
      if (last == row.runs.end() || stopped()) continue;
      ++compiled;
      const AttentionSpec spec = spec_at(question_, row, last->last);
      put({{{{spec, {}}, {}}}, {question_.targets[row.target]}, {question_.cudnns[row.cudnn].path}},
          [&](const Answer& result, size_t) { line.end_compiled = is_taken(point_of(result)); });
      ++limits_.asked;
    }
  }

  const Question& question_;
  asking::PlanOptions options_;
  asking::Session session_;
  const OnAnswer& on_answer_;
  worker::Pool pool_;
  asking::LibraryWords words_;
  uint64_t asked_in_full_ = question_.values_in_full;
  std::deque<Search> searches_;
  size_t begun_ = 0;  // indices of the searches
  Limits limits_;
};

}  // namespace

AttentionSpec spec_at(const Question& question, const Row& row, const Json& value) {
  AttentionSpec spec = question.configs[row.config].spec;
  for (size_t v = 0; v < question.vary.size(); ++v) question.vary[v].set(spec, row.varied[v]);
  question.axis.set(spec, value);
  return spec;
}

std::string label_text(const Point& point, Shown shown) {
  std::string text(name_of(point.word));
  if ((shown == Shown::engine || shown == Shown::all) && point.engine)
    text += fmt::format(", engine {}", *point.engine);
  if ((shown == Shown::category || shown == Shown::all) && !point.category.empty()) text += ", " + point.category;
  return text;
}

Limits find_limits(const Question& question, const asking::PlanOptions& options, const asking::Session& session,
                   const OnAnswer& on_answer) {
  return Asker(question, options, session, on_answer).run();
}

const Point& point_at(const Limits& limits, const Row& row, const Axis& axis, size_t index) {
  if (!axis.range) return row.points.at(index);
  const int64_t value = axis.range->first + static_cast<int64_t>(index) * axis.range->step;
  if (const auto asked = row.asked.find(value); asked != row.asked.end()) return asked->second;
  for (const Run& run : row.runs)
    if (contains(run, value)) return limits.of_label[static_cast<size_t>(run.label)];
  throw Error(ErrorKind::internal, fmt::format("{} of {} is in no run", value, axis.name));
}

}  // namespace attnprobe::limits
