#include "replay/graphs_of_log.hpp"

#include <fmt/format.h>

#include "base/json_reader.hpp"
#include "log/log_lines.hpp"
#include "replay/logged_graph.hpp"

namespace attnprobe::replay {

using log::integer_of;
using log::LogEntry;
using log::value_of;

void GraphsOfLog::note_device(const LogEntry& entry) {
  for (const auto& line : entry.lines) {
    // The properties are near the start of the calls that log them.
    if (&line - entry.lines.data() > 12) break;
    if (const auto name = value_of(line, "deviceName")) {
      std::string_view text = *name;
      if (text.size() > 1 && text.front() == '"') text = text.substr(1, text.size() - 2);
      device_ = std::string(text);
    } else if (const auto version = value_of(line, "deviceVer")) {
      sm_ = static_cast<int>(integer_of(*version).value_or(0) / 10);
    }
  }
}

GraphOfLog GraphsOfLog::of_json(std::string_view text, const LogEntry& entry) {
  const auto [place, is_new] = read_.try_emplace(text_key(text), 0);
  if (!is_new) return {place->second, std::nullopt};
  GraphOfLog read;
  // Lenient, because logs are truncated and interleaved in many ways. Skips unreadable JSON with a note.
  const Json json = parse_json_leniently(log::json_object_at_start(log::json_of(entry)));
  if (json.is_object() && json.contains("operationGraph"))
    read = import(json["operationGraph"], entry);
  else
    note_problem(history_, entry.first_line, fmt::format("the JSON of {} is cut off or broken", entry.function));
  if (read.place)
    place->second = *read.place;
  else
    read_.erase(place);
  return read;
}

GraphOfLog GraphsOfLog::import(const Json& json, const LogEntry& entry) {
  LoggedGraph found;
  GraphOfLog read;
  try {
    found.imported = importers::import_backend_json(json);
    found.hash = hash(found.imported->graph);
    read.is_part = importers::is_score_graph(found.imported->graph);
    if (*read.is_part) return read;
  } catch (const Error& e) {
    found.problem = e.what();
    note_problem(history_, entry.first_line, e.what());
    // Two graphs that cannot be rebuilt are equal if their texts are equal.
    found.hash = json.contains("nodes") ? json["nodes"].dump() : json.dump();
  }
  if (json.is_object() && json.value("finalizeMode", Json()).is_string())
    found.kind = json["finalizeMode"].get<std::string>();
  if (found.kind == "INVALID_OPERATION_MODE") found.kind.clear();  // not classified yet
  read.place = add(std::move(found), entry);
  return read;
}

GraphOfLog GraphsOfLog::of_tree(std::optional<importers::ImportedGraph> from_calls,
                                const std::vector<std::string>& tree, const LogEntry& entry) {
  LoggedGraph found;
  GraphOfLog read;
  found.from_tree = true;
  try {
    found.imported = from_calls ? std::move(from_calls) : importers::import_log_tree(tree);
    found.hash = hash(found.imported->graph);
    read.is_part = importers::is_score_graph(found.imported->graph);
    if (*read.is_part) return read;
  } catch (const Error& e) {
    found.imported.reset();
    found.problem = e.what();
    found.hash = log::joined(tree);
    note_problem(history_, entry.first_line, e.what());
  }
  read.place = add(std::move(found), entry);
  return read;
}

size_t GraphsOfLog::unknown(const LogEntry& entry) {
  LoggedGraph graph;
  graph.hash = fmt::format("unknown, line {}", entry.first_line);
  graph.problem = "the log does not show the operation graph";
  const size_t place = add(std::move(graph), entry);
  history_.graphs[place].finalized = 1;
  return place;
}

size_t GraphsOfLog::add(LoggedGraph&& found, const LogEntry& entry) {
  const auto [place, is_new] = places_.try_emplace({found.hash, entry.version}, history_.graphs.size());
  if (!is_new) {
    LoggedGraph& known = history_.graphs[place->second];
    if (known.kind.empty()) known.kind = found.kind;
    return place->second;
  }
  found.cudnn_version = entry.version;
  found.first_line = entry.first_line;
  found.device = device_;
  found.sm = sm_;
  history_.graphs.push_back(std::move(found));
  return history_.graphs.size() - 1;
}

}  // namespace attnprobe::replay
