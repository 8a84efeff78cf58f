// The cells of a matrix for text and page reports. Equal data is stored once, so 50,000 cells fit in memory.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "report/model/cell_log.hpp"
#include "report/model/measurements.hpp"

namespace attnprobe::report {
/// The state of a plan. A plan that could not be built on this machine counts as not requested.
enum class PlanState { unasked, built, failed };
}  // namespace attnprobe::report

namespace attnprobe {
template <>
struct EnumNames<report::PlanState> {
  static constexpr std::array<std::pair<report::PlanState, std::string_view>, 3> table{{
      {report::PlanState::unasked, ""},
      {report::PlanState::built, "built"},
      {report::PlanState::failed, "failed"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::report {
ATTNPROBE_JSON_ENUM(PlanState)

/// One engine config of an answer.
struct CellEngine {
  int64_t engine = -1;
  std::string knobs;  ///< "KERNEL_CFG=7"
  std::string modes;  ///< the modes that propose it, each with its rank: "A0 B1"
  bool viable = false;
  std::string status, reason;  ///< why it was rejected; the plan's reason if the plan failed
  std::optional<int64_t> workspace_bytes, shared_memory_bytes;
  PlanState plan = PlanState::unasked;
  std::string run;                                     ///< "ok", "wrong_result", …; "" if not requested
  bool works = false;                                  ///< passes every requested stage
  std::vector<probe::PlanKernel> kernels;              ///< kernels of its plan, if built
  std::map<std::string, double, std::less<>> figures;  ///< measured values, by the keys of measurements()
  bool operator==(const CellEngine&) const = default;

  std::optional<double> figure(std::string_view key) const {
    const auto found = figures.find(key);
    return found == figures.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<double> median_ms() const { return figure(median_time); }
};
ATTNPROBE_JSON(CellEngine, engine, knobs, modes, viable, status, reason, workspace_bytes, plan, run, figures)

struct CellMode {
  std::string mode;
  int64_t candidates = 0, viable = 0;
  std::string status;
};
ATTNPROBE_JSON(CellMode, mode, candidates, viable, status)

/// An obstacle of a supported answer, or a note on any answer: "framework", "known_bug", "requirement", …
struct CellObstacle {
  std::string kind, text, source;
  std::string id = {};  ///< id of a known bug or a requirement
};
ATTNPROBE_JSON(CellObstacle, kind, text, source)

/// A framework's decision before cuDNN sees the config.
struct CellFramework {
  std::string title, takes, text, instead;
  std::vector<std::string> changes;  ///< workarounds for its refusals
  std::vector<std::string> notes;
};
ATTNPROBE_JSON(CellFramework, title, takes, text, instead, changes, notes)

/// An answer without its question, because many cells share an answer.
struct CellAnswer {
  answer::Verdict verdict = answer::Verdict::error;
  std::string expect;
  answer::Severity severity = answer::Severity::environment;
  answer::Word word = answer::Word::error;  ///< yes, but, no; environment or error if the question is open
  std::vector<CellObstacle> but;            ///< for "but"
  bool met = false, environment_broken = false;
  int64_t viable = 0, candidates = 0;                 ///< engine configs
  std::string category, status, reason, explanation;  ///< category of the root cause; "" if supported
  std::vector<std::string> advice;                    ///< confirmed advice has its command on separate lines
  std::string pattern, hash, choice;                  ///< of the graph that was built
  std::vector<CellMode> modes;
  std::vector<CellEngine> engines;
  std::vector<CellObstacle> notes;  ///< known bugs, unmet requirements, cudnn-frontend's own engines
  std::vector<CellFramework> frameworks;
  std::string frontend;  ///< cudnn-frontend's refusal, or ""
  std::string from;      ///< "from cuDNN 9.0.0 by rule", or ""
};
ATTNPROBE_JSON(CellAnswer, verdict, expect, word, but, met, environment_broken, viable, candidates, category, status,
               reason, explanation, advice, pattern, hash, choice, modes, engines, notes, frameworks, frontend, from)

/// The word; if a no is not cuDNN's refusal, its verdict: crashed, invalid_graph.
answer::Word outcome_word(const CellAnswer& answer);

/// Whether the answer differs from the config's expectation.
bool is_missed(const CellAnswer& answer);

/// The obstacles in one line; "" for none.
std::string obstacles_text(const CellAnswer& answer);

/// A note with its source: "9.19 computes a wrong gradient. Use 9.21 (release notes)".
std::string note_text(const CellObstacle& note);

/// The first two fixes, without their commands; "" if there are none.
std::string helps_text(const CellAnswer& answer);

/// The frameworks' decisions, one per line: "PyTorch 2.15.0 refuses …; flash, … runs instead".
std::vector<std::string> framework_lines(const CellAnswer& answer);

/// An answer's fastest correct engine config; nullptr without times.
const CellEngine* fastest(const CellAnswer& answer);

struct CellConfig {
  std::string name, summary, pattern, pass, dtype, source;
  std::string command;  ///< the command that asks about it, without a target
  Json fields;          ///< the config's own expectation
};

struct Cell {
  asking::CellPlace place;
  size_t answer = 0;
};

struct CellTable {
  MatrixAxes axes;
  std::vector<CellConfig> configs;  ///< in the order of axes.configs
  std::vector<CellAnswer> answers;
  std::vector<Cell> cells;                             ///< by config, target, cuDNN
  std::vector<std::string> target_words, cudnn_words;  ///< as axes.targets and axes.cudnns, in command-line form

  const CellAnswer& answer(const Cell& cell) const { return answers[cell.answer]; }
  const std::string& config(const Cell& cell) const { return axes.configs[cell.place.config]; }
  const MatrixAxes::Target& target(const Cell& cell) const { return axes.targets[cell.place.target]; }
  const std::string& cudnn(const Cell& cell) const { return axes.cudnns[cell.place.cudnn]; }
};

/// Fills a table cell by cell, in any order and from any thread.
class CellCollector {
 public:
  explicit CellCollector(MatrixAxes axes);
  /// `result`: an entry of a report's "results". Throws Error at a member whose type differs from what attnprobe
  /// writes.
  void add(const asking::CellPlace& place, const JsonView& result);
  CellTable take();

 private:
  void add_command(const asking::CellPlace& place, const std::string& command);

  CellTable table_;
  std::map<std::string, size_t> known_;  // answers by their text
  std::mutex mutex_;
};

CellTable collect(const CellLog& log, const std::string& only_cudnn = "");

/// "Hopper": the architecture of a catalogue GPU, or of that compute capability; "" if unknown.
std::string architecture_of(const std::string& id, int sm);

/// The axes of a report's results, and the places of the results on them, in order.
struct ReportPlaces {
  MatrixAxes axes;
  std::vector<asking::CellPlace> places;
};
ReportPlaces places_of_report(const JsonView& report);

/// Throws like CellCollector::add.
void check_result(const JsonView& result);

/// From a whole report (schema attnprobe/report/1).
CellTable cells_of_report(const JsonView& report);

/// A JSON document from a file. Throws Error(usage) if it is not a report.
Json load_report(const std::filesystem::path& file);

/// Whether a word such as "9.14.0", "9.14" or "9" covers "9.14.0"; "" covers any.
bool has_version(const std::string& version, const std::string& word);

/// The file of cells, if the path has a matrix's cells.
std::optional<std::filesystem::path> cell_log_of(const std::filesystem::path& path);

/// From a folder that `attnprobe matrix` wrote, its cells.jsonl, or a report (schema attnprobe/report/1) with any
/// results. Throws Error(usage) naming the file and the problem. `only_cudnn`: only the cells of that version
/// (has_version).
CellTable load_cells(const std::filesystem::path& path, const std::string& only_cudnn = "");

/// The command that asks one cell again; "" if the report has none.
std::string reproduce_command(const CellTable& table, const Cell& cell);

struct Merged {
  size_t conflicts = 0;                ///< cells that differ between inputs
  std::vector<std::string> differing;  ///< differences between the inputs, by name: `the config "bert"`
  CellTable table;                     ///< header of the merged file
};

/// Merges the cells of several folders, cell files or reports into one new cell file. Joins their axes in order of
/// appearance; if a cell is in several, the last one counts. An empty title means the first input's title. The file,
/// which may be one of the inputs, is replaced when it is complete. Throws Error(usage) if the file has other cells,
/// unless they may be overwritten. Also throws for an unreadable cell, with its file's name. On an error the old file
/// remains.
Merged merge_cells(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& file,
                   const std::string& title, bool overwrite = false);

/// "2104 cells: 1900 yes, 80 but, 124 no; 3 not as expected".
std::string cells_summary(const CellTable& table);

}  // namespace attnprobe::report
