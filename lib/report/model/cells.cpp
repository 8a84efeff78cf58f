#include "report/model/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "campaign/reproduce.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/catalogue.hpp"
#include "probe/walk_difference.hpp"

namespace attnprobe::report {
namespace {

namespace fs = std::filesystem;
using campaign::CellPlace;

// A string member; "" for null and for what is not there.
std::string word(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& member(const Json& json, const char* key) {
  static const Json none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

std::optional<double> number(const Json& json, const char* key) {
  const Json& value = member(json, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// cuDNN's innermost word on it.
void add_reason(CellEngine& engine, const std::string& status, const Json& reasons) {
  engine.status = status;
  if (reasons.is_array() && !reasons.empty()) {
    engine.status = word(reasons[0], "status");
    engine.reason = word(reasons[0], "reason");
  }
}

CellEngine engine_of(const Json& config) {
  CellEngine engine;
  engine.engine = config.value("engine", int64_t{-1});
  for (const auto& [knob, value] : member(config, "knobs").items())
    engine.knobs += fmt::format("{}{}={}", engine.knobs.empty() ? "" : " ", knob, value.get<int64_t>());
  const Json& ranks = member(config, "rank");
  for (const auto& mode : member(config, "modes")) {
    const auto name = mode.get<std::string>();
    if (!engine.modes.empty()) engine.modes += " ";
    engine.modes += name;
    if (ranks.contains(name)) engine.modes += std::to_string(ranks[name].get<int64_t>());
  }
  const Json &check = member(config, "check"), &plan = member(config, "plan"), &run = member(config, "run"),
             &time = member(config, "time");
  engine.viable = check.is_object() && check.value("supported", false);
  if (!engine.viable) add_reason(engine, word(check, "status"), member(config, "reasons"));
  if (plan.is_object()) {
    const bool built = word(plan, "status") == "CUDNN_STATUS_SUCCESS";
    engine.plan = built ? "built" : "failed";
    if (!built) add_reason(engine, word(plan, "status"), member(plan, "reasons"));
  }
  if (run.is_object()) engine.run = word(run, "status");
  if (time.is_object()) {
    for (const Measurement& measured : measurements())
      if (const auto value = number(time, std::string(measured.key).c_str()))
        engine.figures.emplace(measured.key, *value);
  }
  const Json& workspace = member(config, "workspace_bytes");
  if (workspace.is_number_integer()) engine.workspace_bytes = workspace.get<int64_t>();
  return engine;
}

bool is_working(const CellEngine& engine) {
  return engine.viable && engine.plan != "failed" &&
         (engine.run.empty() || engine.run == "ok" || engine.run == "not_verified");
}

CellAnswer answer_of(const Json& result) {
  CellAnswer answer;
  answer.verdict = word(result, "verdict");
  answer.expect = word(result, "expect");
  answer.met = result.value("met", false);
  answer.environment_broken = result.value("environment_broken", false);
  if (const Json& cause = member(result, "root_cause"); cause.is_object()) {
    answer.category = word(cause, "category");
    answer.status = word(cause, "status");
    answer.reason = word(cause, "reason");
    answer.explanation = word(cause, "explanation");
    for (const auto& advice : member(cause, "advice")) answer.advice.push_back(advice.get<std::string>());
  }
  if (const Json& graph = member(result, "graph"); graph.is_object()) {
    answer.pattern = word(graph, "pattern");
    answer.hash = word(graph, "hash");
    answer.choice = word(graph, "choice");
  }
  for (const auto& mode : member(result, "modes"))
    answer.modes.push_back({word(mode, "mode"), mode.value("candidates", int64_t{0}), mode.value("viable", int64_t{0}),
                            word(mode, "status")});
  for (const auto& config : member(result, "engine_configs")) {
    answer.engines.push_back(engine_of(config));
    ++answer.candidates;
    answer.viable += is_working(answer.engines.back()) ? 1 : 0;
  }
  for (const auto& requirement : member(result, "requirements")) answer.notes.push_back(word(requirement, "text"));
  for (const auto& bug : member(result, "warnings"))
    answer.notes.push_back(
        fmt::format("{} {} ({})", word(bug, "what"), word(bug, "advice"), word(member(bug, "source"), "text")));
  if (const Json& frontend = member(result, "frontend"); frontend.is_object() && frontend.value("refuses", false))
    answer.frontend = word(frontend, "message");
  return answer;
}

std::string summary_of(const Json& fields) {
  try {
    return describe(attention::parse_configs(json_text(fields), "a report").at(0).spec);
  } catch (const Error&) {
    return "";
  }
}

CellConfig config_of(const Json& result) {
  CellConfig config;
  const Json& fields = member(result, "config");
  if (!fields.is_object()) {
    config.summary = word(member(result, "given"), "description");
    return config;
  }
  config.name = word(fields, "name");
  config.pattern = word(fields, "pattern");
  config.pass = word(fields, "pass");
  config.dtype = word(fields, "dtype");
  config.source = word(fields, "source");
  config.fields = fields;
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

MatrixAxes::Target target_of(const Json& result) {
  const Json& json = member(result, "target");
  MatrixAxes::Target t{word(json, "id"), word(json, "name"), word(json, "kind"), "", json.value("sm", 0)};
  t.architecture = architecture_of(t.id, t.sm);
  return t;
}

// A config without a name is called by what it is.
std::string name_in(const Json& result) {
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

void CellCollector::add(const CellPlace& place, const Json& result) {
  CellAnswer answer = answer_of(result);
  std::string text = json_text(Json(answer));
  const std::lock_guard lock(mutex_);
  CellConfig& config = table_.configs[place.config];
  if (config.summary.empty()) config = config_of(result);
  add_command(place, word(result, "reproduce"));
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

ReportPlaces places_of_report(const Json& report) {
  ReportPlaces found;
  for (const auto& result : report["results"])
    found.places.push_back({index_in(found.axes.configs, name_in(result)),
                            index_in(found.axes.targets, target_of(result)),
                            index_in(found.axes.cudnns, word(member(result, "cudnn"), "version"))});
  return found;
}

CellTable cells_of_report(const Json& report) {
  const ReportPlaces found = places_of_report(report);
  CellCollector collector(found.axes);
  for (size_t i = 0; i < found.places.size(); ++i) collector.add(found.places[i], report["results"][i]);
  return collector.take();
}

Json load_report(const fs::path& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorKind::usage, fmt::format("{}: cannot be opened: {}", file.string(), std::strerror(errno)));
  Json report = Json::parse(in, nullptr, false);
  if (!report.is_object() || !report.contains("results") || !report["results"].is_array())
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: neither the cells of a matrix nor a report (schema attnprobe/report/1)", file.string()));
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

CellTable load_cells(const fs::path& path, const std::string& only_cudnn) try {
  const auto file = cell_log_of(path);
  if (file) return collect(CellLog(*file), only_cudnn);
  CellTable table = cells_of_report(load_report(path));
  table.axes.command = path.string();
  return table;
} catch (const Json::exception& e) {
  throw Error(ErrorKind::usage, fmt::format("{}: not as attnprobe writes it: {}", path.string(), e.what()));
}

CellTable collect(const CellLog& log, const std::string& only_cudnn) {
  CellCollector collector(log.axes());
  log.for_each([&](const CellPlace& place, const std::string& cell) { collector.add(place, Json::parse(cell)); },
               [&](const CellPlace& place) { return has_version(log.axes().cudnns[place.cudnn], only_cudnn); });
  return collector.take();
}

std::string reproduce_command(const CellTable& table, const Cell& cell) {
  const std::string& question = table.configs[cell.place.config].command;
  if (question.empty()) return "";
  return campaign::joined_command(
      {question, table.target_words[cell.place.target], table.cudnn_words[cell.place.cudnn]});
}

std::string cells_summary(const CellTable& table) {
  std::map<std::string, int64_t> verdicts;
  int64_t unmet = 0;
  for (const Cell& cell : table.cells) {
    ++verdicts[table.answer(cell).verdict];
    unmet += table.answer(cell).met ? 0 : 1;
  }
  std::string text = fmt::format("{} cells:", table.cells.size());
  for (const auto& [verdict, count] : verdicts) text += fmt::format(" {} {},", count, verdict);
  text.pop_back();
  return text + (unmet == 0 ? "; all as expected" : fmt::format("; {} not as expected", unmet));
}

}  // namespace attnprobe::report
