#include "report/model/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/input.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "campaign/reproduce.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/catalogue.hpp"
#include "probe/findings.hpp"
#include "probe/walk_difference.hpp"

namespace attnprobe::report {
namespace {

namespace fs = std::filesystem;
using campaign::CellPlace;

// Results are read strictly, but for keys that nobody asks for: null and what is not there have a usual value, and a
// value of another type is an Error at its place.

// cuDNN's innermost word on it.
void add_reason(CellEngine& engine, const std::string& status, const std::vector<JsonView>& reasons) {
  engine.status = status;
  if (reasons.empty()) return;
  engine.status = reasons.front().text_or("status", "");
  engine.reason = reasons.front().text_or("reason", "");
}

// "A0 B1"
std::string modes_of(const JsonView& config) {
  const auto ranks = config.find_set("rank");
  std::string text;
  for (const JsonView& mode : config.elements_or_none("modes")) {
    const std::string name = mode.text();
    text += (text.empty() ? "" : " ") + name;
    if (!ranks) continue;
    if (const auto rank = ranks->optional_integer(name)) text += std::to_string(*rank);
  }
  return text;
}

CellEngine engine_of(const JsonView& config) {
  CellEngine engine;
  engine.engine = config.optional_integer("engine").value_or(-1);
  if (const auto knobs = config.find_set("knobs"))
    for (const auto& [knob, value] : knobs->members())
      engine.knobs += fmt::format("{}{}={}", engine.knobs.empty() ? "" : " ", knob, value.integer());
  engine.modes = modes_of(config);
  const auto check = config.find_set("check"), plan = config.find_set("plan"), run = config.find_set("run"),
             time = config.find_set("time");
  engine.viable = check && check->boolean_or("supported", false);
  if (!engine.viable) add_reason(engine, check ? check->text_or("status", "") : "", config.elements_or_none("reasons"));
  if (plan) {
    probe::PlanFindings findings;
    findings.status = plan->text_or("status", "");
    const auto reasons = plan->elements_or_none("reasons");
    for (const JsonView& reason : reasons)
      findings.reasons.push_back({reason.text_or("status", ""), reason.text_or("reason", "")});
    const probe::PlanOutcome outcome = outcome_of(findings);
    // One that nobody could build here is as good as one that nobody asked for.
    if (outcome != probe::PlanOutcome::needs_driver)
      engine.plan = outcome == probe::PlanOutcome::built ? "built" : "failed";
    if (engine.plan == "failed") add_reason(engine, findings.status, reasons);
  }
  if (run) engine.run = run->text_or("status", "");
  if (time) {
    for (const Measurement& measured : measurements())
      if (const auto value = time->optional_number(std::string(measured.key)))
        engine.figures.emplace(measured.key, *value);
  }
  engine.workspace_bytes = config.optional_integer("workspace_bytes");
  return engine;
}

bool is_working(const CellEngine& engine) {
  return engine.viable && engine.plan != "failed" && (!engine.modes.empty() || engine.plan == "built") &&
         (engine.run.empty() || engine.run == "ok" || engine.run == "not_verified");
}

// An older attnprobe did not weigh: what was supported is a yes.
std::string word_of(const JsonView& result, const CellAnswer& answer) {
  if (std::string usable = result.text_or("usable", ""); !usable.empty()) return usable;
  if (answer.environment_broken) return "environment";
  if (answer.verdict == "error") return answer.verdict;
  return answer.verdict == "supported" ? "yes" : "no";
}

CellFramework framework_of(const JsonView& place) {
  CellFramework framework{place.text_or("title", ""),
                          place.text_or("takes", ""),
                          place.text_or("text", ""),
                          place.text_or("instead", ""),
                          {},
                          {}};
  for (const JsonView& refusal : place.elements_or_none("refusals"))
    framework.changes.push_back(refusal.text_or("change", ""));
  for (const JsonView& note : place.elements_or_none("notes")) framework.notes.push_back(note.text());
  return framework;
}

CellAnswer answer_of(const JsonView& result) {
  CellAnswer answer;
  answer.verdict = result.text_or("verdict", "");
  answer.expect = result.text_or("expect", "");
  answer.met = result.boolean_or("met", false);
  answer.environment_broken = result.boolean_or("environment_broken", false);
  answer.word = word_of(result, answer);
  for (const JsonView& obstacle : result.elements_or_none("but"))
    answer.but.push_back({obstacle.text_or("kind", ""), obstacle.text_or("text", ""), obstacle.text_or("source", "")});
  if (const auto cause = result.find_set("root_cause")) {
    answer.category = cause->text_or("category", "");
    answer.status = cause->text_or("status", "");
    answer.reason = cause->text_or("reason", "");
    answer.explanation = cause->text_or("explanation", "");
    if (const auto advice = cause->find_set("advice")) answer.advice = advice->texts();
  }
  if (const auto graph = result.find_set("graph")) {
    answer.pattern = graph->text_or("pattern", "");
    answer.hash = graph->text_or("hash", "");
    answer.choice = graph->text_or("choice", "");
  }
  for (const JsonView& mode : result.elements_or_none("modes"))
    answer.modes.push_back({mode.text_or("mode", ""), mode.optional_integer("candidates").value_or(0),
                            mode.optional_integer("viable").value_or(0), mode.text_or("status", "")});
  for (const JsonView& config : result.elements_or_none("engine_configs")) {
    answer.engines.push_back(engine_of(config));
    ++answer.candidates;
    answer.viable += is_working(answer.engines.back()) ? 1 : 0;
  }
  if (result.boolean_or("by_rule", false)) answer.notes.emplace_back("By rule: cuDNN was not asked.");
  for (const JsonView& requirement : result.elements_or_none("requirements"))
    answer.notes.push_back(requirement.text_or("text", ""));
  for (const JsonView& bug : result.elements_or_none("warnings")) {
    const auto source = bug.find_set("source");
    answer.notes.push_back(fmt::format("{} {} ({})", bug.text_or("what", ""), bug.text_or("advice", ""),
                                       source ? source->text_or("text", "") : ""));
  }
  for (const JsonView& framework : result.elements_or_none("frameworks"))
    answer.frameworks.push_back(framework_of(framework));
  if (const auto frontend = result.find_set("frontend"); frontend && frontend->boolean_or("refuses", false))
    answer.frontend = frontend->text_or("message", "");
  if (const auto from = result.find_set("from")) answer.from = from->text_or("text", "");
  return answer;
}

std::string summary_of(const Json& fields) {
  try {
    return describe(attention::parse_configs(json_text(fields), "a report").at(0).spec);
  } catch (const Error&) {
    return "";
  }
}

CellConfig config_of(const JsonView& result) {
  CellConfig config;
  const auto fields = result.find_set("config");
  if (!fields) {
    if (const auto given = result.find_set("given")) config.summary = given->text_or("description", "");
    return config;
  }
  config.name = fields->text_or("name", "");
  config.pattern = fields->text_or("pattern", "");
  config.pass = fields->text_or("pass", "");
  config.dtype = fields->text_or("dtype", "");
  config.source = fields->text_or("source", "");
  config.fields = fields->json();
  for (const char* said_beside : {"name", "source", "expect"}) config.fields.erase(said_beside);
  config.summary = summary_of(config.fields);
  return config;
}

}  // namespace

// A GPU of this machine has that of the catalogue's GPUs of its compute capability.
std::string architecture_of(const std::string& id, int sm) {
  if (const gpu::Target* known = gpu::find(id)) return known->architecture;
  for (const auto& target : gpu::catalogue())
    if (target.sm == sm) return target.architecture;
  return "";
}

namespace {

template <class List, class Value>
size_t index_in(List& list, const Value& value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end()) return static_cast<size_t>(found - list.begin());
  list.push_back(value);
  return list.size() - 1;
}

MatrixAxes::Target target_of(const JsonView& result) {
  MatrixAxes::Target t;
  const auto target = result.find_set("target");
  if (!target) return t;
  t.id = target->text_or("id", "");
  t.name = target->text_or("name", "");
  t.kind = target->text_or("kind", "");
  t.sm = static_cast<int>(target->optional_integer("sm", 0, std::numeric_limits<int>::max()).value_or(0));
  t.architecture = architecture_of(t.id, t.sm);
  return t;
}

std::string cudnn_of(const JsonView& result) {
  const auto cudnn = result.find_set("cudnn");
  return cudnn ? cudnn->text_or("version", "") : "";
}

// A config without a name is called by what it is.
std::string name_in(const JsonView& result) {
  const CellConfig config = config_of(result);
  return config.name.empty() ? config.summary : config.name;
}

}  // namespace

const CellEngine* fastest(const CellAnswer& answer) {
  const CellEngine* best = nullptr;
  for (const auto& engine : answer.engines)
    if (engine.median_ms() && is_working(engine) && (best == nullptr || *engine.median_ms() < *best->median_ms()))
      best = &engine;
  return best;
}

CellCollector::CellCollector(MatrixAxes axes) {
  table_.configs.resize(axes.configs.size());
  table_.target_words.resize(axes.targets.size());
  table_.cudnn_words.resize(axes.cudnns.size());
  table_.axes = std::move(axes);
}

// A cell's command is its config's, its target's and its cuDNN's words; what one of them gave stands for all.
void CellCollector::add_command(const CellPlace& place, const std::string& command) {
  const auto parts = campaign::parts_of_command(command);
  if (!parts) return;
  const auto keep = [](std::string& known, const std::string& word) {
    if (known.empty()) known = word;
  };
  keep(table_.configs[place.config].command, parts->question);
  keep(table_.target_words[place.target], parts->target);
  keep(table_.cudnn_words[place.cudnn], parts->cudnn);
}

void CellCollector::add(const CellPlace& place, const JsonView& result) {
  CellAnswer answer = answer_of(result);
  std::string text = json_text(Json(answer));
  const std::lock_guard lock(mutex_);
  CellConfig& config = table_.configs[place.config];
  if (config.summary.empty()) config = config_of(result);
  add_command(place, result.text_or("reproduce", ""));
  const auto [known, is_new] = known_.try_emplace(std::move(text), table_.answers.size());
  if (is_new) table_.answers.push_back(std::move(answer));
  table_.cells.push_back({place, known->second});
}

// Cells by place and answers as the cells need them, in whatever order they came.
CellTable CellCollector::take() {
  auto& cells = table_.cells;
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.place < b.place; });
  constexpr size_t unused = static_cast<size_t>(-1);
  std::vector<size_t> places(table_.answers.size(), unused);
  std::vector<CellAnswer> answers;
  for (Cell& cell : cells) {
    size_t& place = places[cell.answer];
    if (place == unused) {
      place = answers.size();
      answers.push_back(std::move(table_.answers[cell.answer]));
    }
    cell.answer = place;
  }
  table_.answers = std::move(answers);
  return std::move(table_);
}

void check_result(const JsonView& result) {
  answer_of(result);
}

ReportPlaces places_of_report(const JsonView& report) {
  ReportPlaces found;
  for (const JsonView& result : report.at("results").elements())
    found.places.push_back({index_in(found.axes.configs, name_in(result)),
                            index_in(found.axes.targets, target_of(result)),
                            index_in(found.axes.cudnns, cudnn_of(result))});
  return found;
}

CellTable cells_of_report(const JsonView& report) {
  const ReportPlaces found = places_of_report(report);
  CellCollector collector(found.axes);
  const std::vector<JsonView> results = report.at("results").elements();
  for (size_t i = 0; i < results.size(); ++i) collector.add(found.places[i], results[i]);
  return collector.take();
}

Json load_report(const fs::path& file) {
  const std::string text = input_text(file);
  // What is another thing altogether is not told by its first wrong character.
  const bool may_be = trim(text).starts_with('{');
  Json report = may_be ? parse_json(text, {input_name(file)}, {.comments = false}) : Json();
  if (!report.contains("results"))
    throw Error(ErrorKind::usage, fmt::format("{}: neither the cells of a matrix nor a report (schema "
                                              "attnprobe/report/1)",
                                              input_name(file)));
  return report;
}

bool has_version(const std::string& version, const std::string& word) {
  return word.empty() || is_of_version(version, word);
}

std::optional<fs::path> cell_log_of(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return path / "cells.jsonl";
  std::ifstream in(path, std::ios::binary);
  std::string first;
  std::getline(in, first);
  if (first.find("attnprobe/cells/1") == std::string::npos) return std::nullopt;
  return path;
}

CellTable load_cells(const fs::path& path, const std::string& only_cudnn) {
  const auto file = cell_log_of(path);
  if (file) return collect(CellLog(*file), only_cudnn);
  const Json report = load_report(path);
  CellTable table = cells_of_report(JsonView(report, {input_name(path)}));
  table.axes.command = path.string();
  return table;
}

CellTable collect(const CellLog& log, const std::string& only_cudnn) {
  CellCollector collector(log.axes());
  log.read_each([&](const CellPlace& place, const JsonView& cell) { collector.add(place, cell); },
                [&](const CellPlace& place) { return has_version(log.axes().cudnns[place.cudnn], only_cudnn); });
  return collector.take();
}

std::string reproduce_command(const CellTable& table, const Cell& cell) {
  const std::string& question = table.configs[cell.place.config].command;
  if (question.empty()) return "";
  return campaign::joined_command(
      {question, table.target_words[cell.place.target], table.cudnn_words[cell.place.cudnn]});
}

const std::string& outcome_word(const CellAnswer& answer) {
  return answer.word == "no" && answer.verdict != "unsupported" ? answer.verdict : answer.word;
}

std::string obstacles_text(const CellAnswer& answer) {
  std::string text;
  for (const CellObstacle& obstacle : answer.but) text += (text.empty() ? "" : "; ") + obstacle.text;
  return text;
}

std::vector<std::string> framework_lines(const CellAnswer& answer) {
  std::vector<std::string> lines;
  for (const CellFramework& framework : answer.frameworks)
    lines.push_back(framework.text + (framework.instead.empty() ? "" : "; " + framework.instead));
  return lines;
}

std::string cells_summary(const CellTable& table) {
  // In the order of the words for people, then what else became of cells.
  std::vector<std::pair<std::string, int64_t>> counts{{"yes", 0}, {"but", 0}, {"no", 0}};
  const auto count_of = [&](const std::string& word) -> int64_t& {
    const auto same =
        std::find_if(counts.begin(), counts.end(), [&](const auto& count) { return count.first == word; });
    return same != counts.end() ? same->second : counts.emplace_back(word, 0).second;
  };
  int64_t unmet = 0;
  for (const Cell& cell : table.cells) {
    ++count_of(outcome_word(table.answer(cell)));
    unmet += table.answer(cell).met ? 0 : 1;
  }
  std::string text = fmt::format("{} cells:", table.cells.size());
  for (const auto& [word, count] : counts)
    if (count != 0) text += fmt::format(" {} {},", count, word);
  text.pop_back();
  return text + (unmet == 0 ? "; all as expected" : fmt::format("; {} not as expected", unmet));
}

}  // namespace attnprobe::report
