#include "replay/read_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "attention/config.hpp"
#include "base/error.hpp"
#include "base/escapes.hpp"
#include "base/input.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "build/build.hpp"
#include "importers/cudnn_frontend/import_frontend.hpp"
#include "replay/merged_history.hpp"

namespace attnprobe::replay {
namespace {

// The size limit for keeping a JSON document in memory.
constexpr size_t most_document_bytes = size_t{64} << 20;

// The start of a file distinguishes a JSON document or a serialized graph of cudnn-frontend from a log.
class Document {
 public:
  void feed(std::string_view bytes) {
    if (!may_be_) return;
    if (text_.empty()) bytes = bytes.substr(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
    if (text_.empty() && !bytes.empty() && std::string_view("{[\x1b").find(bytes[0]) == std::string_view::npos)
      may_be_ = false;
    if (text_.size() + bytes.size() > most_document_bytes) may_be_ = false;
    if (may_be_)
      text_ += bytes;
    else
      text_.clear();
  }

  // Null for other files. Throws for a damaged serialized graph.
  Json json() const {
    if (!may_be_ || text_.empty()) return nullptr;
    if (importers::is_frontend_serialization(text_)) return importers::read_frontend_serialization(text_);
    const std::string plain = without_escapes(text_);
    if (!Json::accept(plain, true)) return nullptr;
    return parse_json(plain, {"its JSON"});
  }

 private:
  bool may_be_ = true;
  std::string text_;
};

// A graph in a trace's report, built from its config; none without a config.
std::optional<LoggedGraph> traced_graph(const JsonView& traced) {
  const auto config = traced.find_set("config");
  if (!config) return std::nullopt;
  const auto version = CudnnVersion::parse(traced.text_or("cudnn", "")).value_or(CudnnVersion{});
  const int sm = static_cast<int>(traced.optional_integer("sm", 0, 1000).value_or(0));
  const auto spec = attention::parse_configs(config->json().dump(), config->where()).at(0).spec;
  LoggedGraph graph = graph_without_log({build::build_graph(spec, {version, sm}).graph, {}, {}}, version);
  graph.sm = sm;
  graph.device = traced.text_or("device", "");
  graph.finalized = traced.optional_integer("finalized", 0).value_or(1);
  graph.plans = traced.optional_integer("plans", 0).value_or(0);
  graph.plan_seconds = traced.optional_number("plan_seconds").value_or(0);
  for (const JsonView& run : traced.elements_or_none("executed")) {
    LoggedExecution& execution = graph.executed.emplace_back();
    execution.engine = run.at("engine").integer();
    for (const auto& [knob, value] : run.at("knobs").members()) execution.knobs[knob] = value.integer();
    execution.times = run.at("times").integer(0);
  }
  if (traced.text_or("verdict", "") == "refused") graph.findings.failure = probe::Failure{"trace", "refused", {}};
  return graph;
}

void take_trace(const JsonView& report, LogHistory& history) {
  const auto graphs = report.at("graphs").elements();
  for (const JsonView& traced : graphs) {
    auto graph = traced_graph(traced);
    if (!graph) {
      history.problems.push_back(traced.where() + ": skipped, because it has no config");
      continue;
    }
    history.versions.insert(graph->cudnn_version);
    history.graphs.push_back(std::move(*graph));
  }
}

// A stored plan, one of cuDNN's JSON lines, attnprobe's own graph, or the report of a trace; false for any other
// document.
bool take_document(const Json& json, LogHistory& history) {
  if (json.is_array()) {
    bool any = false;
    for (const Json& entry : json) any = take_document(entry, history) || any;
    return any;
  }
  if (!json.is_object()) return false;
  if (json.contains("operationGraph")) {
    const auto version = JsonView(json, {"cuDNN's JSON"}).optional_integer("cudnnVersion");
    history.graphs.push_back(graph_without_log(importers::import_backend_json(json["operationGraph"]),
                                               CudnnVersion::from_number(version.value_or(0))));
    return true;
  }
  if (json.contains("tensors") && json.contains("operations")) {
    Json graph = json;
    for (const char* key : {"name", "hash"}) graph.erase(key);  // added by --dump-graph
    history.graphs.push_back(graph_without_log({graph::from_json(graph), {}, {}}, 0));
    return true;
  }
  if (json.contains("schema") && json["schema"] == "attnprobe/trace/1") {
    take_trace(JsonView(json, {"the trace's report"}), history);
    return true;
  }
  if (!importers::is_frontend_json(json)) return false;
  history.frontend.push_back({json_text(json), 0});
  return true;
}

bool is_log(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".log") || name.ends_with(".log.gz") || name.ends_with(".log.xz");
}

}  // namespace

LoggedGraph graph_without_log(importers::ImportedGraph imported, CudnnVersion cudnn_version) {
  LoggedGraph graph;
  graph.hash = hash(imported.graph);
  graph.imported = std::move(imported);
  graph.cudnn_version = cudnn_version;
  graph.finalized = 1;
  return graph;
}

LogHistory read_history(const std::string& name, const GiveText& give, std::string* problem) {
  LogReader reader;
  Document document;
  give(
      [&](std::string_view bytes) {
        reader.feed(bytes);
        document.feed(bytes);
      },
      problem);
  LogHistory history = reader.finish();
  if (history.has_entries() || !history.frontend.empty()) return history;
  try {
    take_document(document.json(), history);
  } catch (const Error& e) {
    throw Error(ErrorKind::usage, fmt::format("{}: {}", input_name(name), e.what()));
  }
  return history;
}

bool is_folder_of_logs(const std::string& path) {
  std::error_code error;
  const std::filesystem::directory_iterator folder(path, error);
  return !error && std::any_of(begin(folder), end(folder), [](const auto& entry) { return is_log(entry.path()); });
}

std::vector<std::string> logs_in(const std::vector<std::string>& files) {
  std::vector<std::string> logs;
  for (const auto& file : files) {
    std::error_code error;
    if (!std::filesystem::is_directory(file, error)) {
      if (file != "-" && !std::filesystem::exists(file, error))
        throw Error(ErrorKind::usage, fmt::format("{}: cannot be opened: {}", file, std::strerror(ENOENT)));
      logs.push_back(file);
      continue;
    }
    const size_t first = logs.size();
    std::filesystem::directory_iterator folder(file, error);
    if (error) throw Error(ErrorKind::usage, fmt::format("{}: cannot be read: {}", file, error.message()));
    for (const auto& entry : folder)
      if (is_log(entry.path()) && entry.is_regular_file(error)) logs.push_back(entry.path().string());
    if (logs.size() == first)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: the folder has no log; allowed: *.log, *.log.gz and *.log.xz", file));
    std::sort(logs.begin() + static_cast<std::ptrdiff_t>(first), logs.end());
  }
  return logs;
}

LogHistory read_merged(const std::vector<std::string>& files) {
  MergedHistory merged;
  std::vector<std::string> problems;
  for (size_t i = 0; i < files.size(); ++i) {
    std::string problem;
    try {
      merged.add(
          read_history(
              files[i], [&](const auto& take, std::string* cut_off) { read_input(files[i], take, cut_off); }, &problem),
          static_cast<int64_t>(i), input_name(files[i]));
      if (!problem.empty()) problems.push_back(fmt::format("{}: {}", input_name(files[i]), problem));
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::usage) throw;
      problems.emplace_back(e.what());
    }
  }
  if (problems.size() == files.size() && merged.history.graphs.empty() && !merged.history.has_entries())
    throw Error(ErrorKind::usage, problems.front());
  if (merged.dropped > 0)
    problems.push_back(fmt::format("{} graphs beyond the first {} are skipped", merged.dropped, merged.most_graphs));
  merged.history.problems.insert(merged.history.problems.begin(), problems.begin(), problems.end());
  return std::move(merged.history);
}

}  // namespace attnprobe::replay
