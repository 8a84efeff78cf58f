#include "report/model/cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>

#include "ask/reproduce.hpp"
#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/input.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/catalogue.hpp"
#include "probe/plan_kernels.hpp"
#include "report/model/cell_answer.hpp"

namespace attnprobe::report {
namespace {

namespace fs = std::filesystem;
using asking::CellPlace;

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

// "; 12 plans hold 3 kernels", or "" if no plan was compiled.
std::string kernels_summary(const CellTable& table) {
  std::set<std::string> identities;
  int64_t plans = 0;
  for (const Cell& cell : table.cells)
    for (const CellEngine& engine : table.answer(cell).engines) {
      if (engine.kernels.empty()) continue;
      ++plans;
      identities.insert(probe::identity_of(engine.kernels));
    }
  if (plans == 0) return "";
  return fmt::format("; {} hold{} {}", counted(plans, "plan"), plans == 1 ? "s" : "",
                     counted(std::ssize(identities), "kernel"));
}

}  // namespace

// A GPU of this machine has the architecture of the catalogue's GPUs with its compute capability.
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

// A config without a name uses its description.
std::string name_in(const JsonView& result) {
  const CellConfig config = config_of(result);
  return config.name.empty() ? config.summary : config.name;
}

}  // namespace

const CellEngine* fastest(const CellAnswer& answer) {
  const CellEngine* best = nullptr;
  for (const auto& engine : answer.engines)
    if (engine.median_ms() && engine.works && (best == nullptr || *engine.median_ms() < *best->median_ms()))
      best = &engine;
  return best;
}

CellCollector::CellCollector(MatrixAxes axes) {
  table_.configs.resize(axes.configs.size());
  table_.target_words.resize(axes.targets.size());
  table_.cudnn_words.resize(axes.cudnns.size());
  table_.axes = std::move(axes);
}

// A cell's command consists of words for its config, target and cuDNN, which other cells reuse.
void CellCollector::add_command(const CellPlace& place, const std::string& command) {
  const auto parts = asking::parts_of_command(command);
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

// Sorts cells by place, and numbers answers by first use, for any order of arrival.
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
  // For an entirely different kind of file, the first wrong character is not helpful.
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
  return asking::joined_command({question, table.target_words[cell.place.target], table.cudnn_words[cell.place.cudnn]});
}

answer::Word outcome_word(const CellAnswer& answer) {
  return answer.word == answer::Word::no ? answer::word_of(answer.verdict) : answer.word;
}

bool is_missed(const CellAnswer& answer) {
  return !answer.met && !answer.expect.empty();
}

std::string obstacles_text(const CellAnswer& answer) {
  std::string text;
  for (const CellObstacle& obstacle : answer.but) text += (text.empty() ? "" : "; ") + obstacle.text;
  return text;
}

std::string note_text(const CellObstacle& note) {
  return note.text + (note.source.empty() ? "" : fmt::format(" ({})", note.source));
}

std::string helps_text(const CellAnswer& answer) {
  constexpr size_t most = 2;
  std::vector<std::string> words;
  for (const auto& advice : answer.advice) words.push_back(advice.substr(0, advice.find('\n')));
  for (const CellFramework& framework : answer.frameworks)
    words.insert(words.end(), framework.changes.begin(), framework.changes.end());
  if (words.size() > most) words.resize(most);
  return fmt::format("{}", fmt::join(words, "; "));
}

std::vector<std::string> framework_lines(const CellAnswer& answer) {
  std::vector<std::string> lines;
  for (const CellFramework& framework : answer.frameworks)
    lines.push_back(framework.text + (framework.instead.empty() ? "" : "; " + framework.instead));
  return lines;
}

std::string cells_summary(const CellTable& table) {
  std::map<answer::Word, int64_t> counts;
  int64_t expected = 0, missed = 0;
  for (const Cell& cell : table.cells) {
    ++counts[outcome_word(table.answer(cell))];
    expected += table.answer(cell).expect.empty() ? 0 : 1;
    missed += is_missed(table.answer(cell)) ? 1 : 0;
  }
  std::string text = fmt::format("{} cell{}:", table.cells.size(), table.cells.size() == 1 ? "" : "s");
  for (const auto& [word, count] : counts) text += fmt::format(" {} {},", count, name_of(word));
  text.pop_back();
  if (expected > 0) text += missed == 0 ? "; all as expected" : fmt::format("; {} not as expected", missed);
  return text + kernels_summary(table);
}

}  // namespace attnprobe::report
