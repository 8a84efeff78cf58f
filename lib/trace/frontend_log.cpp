#include "trace/frontend_log.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "explain/text_answer.hpp"
#include "log/log_parse.hpp"
#include "replay/replay.hpp"

namespace attnprobe::trace {
namespace {

constexpr size_t longest_graph = size_t{1} << 20;

// The meaning of cudnn-frontend's own message in the line; none if there is none.
std::optional<std::string> meaning_of_refusal(const std::string& line) {
  explain::MessageFinder finder;
  finder.feed(line + "\n");
  for (const auto& refusal : explain::answer_of(finder.finish(), false).refusals)
    if (refusal.layer == explain::Layer::cudnn_frontend && refusal.kind == explain::MessageKind::refusal)
      return refusal.means;
  return std::nullopt;
}

std::optional<attention::AttentionSpec> spec_of_frontend_graph(const std::string& json) {
  replay::LogHistory history;
  history.frontend.push_back({json, 0});
  const replay::Replay replay = replay::replay_of("cudnn-frontend's log", std::move(history));
  return replay.graphs.empty() ? std::nullopt : replay.graphs.front().recognised.spec;
}

}  // namespace

void FrontendLogReader::line(size_t file, std::string_view line) {
  finder_.feed(line);
  finder_.feed("\n");
  constexpr std::string_view graph_begin = "{\"context\":", error_mark = "] ERROR: ";
  if (const size_t at = line.find(graph_begin); at != std::string_view::npos) {
    graphs_[file] = line.size() - at > longest_graph ? "" : log::json_object_at_start(line.substr(at));
    return;
  }
  if (line.find(error_mark) == std::string_view::npos) return;
  // The first line is the failed check; later lines are the calls that forward it.
  const auto graph = graphs_.find(file);
  if (graph == graphs_.end() || graph->second.empty()) return;
  const std::pair key{graph->second, std::string(trim(line))};
  if (refusals_.size() < most_refusals || refusals_.count(key) != 0) ++refusals_[key];
  graph->second.clear();
}

std::vector<FrontendRefusal> FrontendLogReader::refusals() const {
  std::vector<FrontendRefusal> list;
  for (const auto& [key, times] : refusals_) {
    const auto meaning = meaning_of_refusal(key.second);
    if (!meaning) continue;
    if (const auto spec = spec_of_frontend_graph(key.first)) list.push_back({*spec, key.second, *meaning, times});
  }
  return list;
}

}  // namespace attnprobe::trace
