#include "recognise/recognise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "build/frontend_wiring.hpp"
#include "build/softmax.hpp"
#include "graph/same_graph.hpp"
#include "recognise/reading.hpp"

namespace attnprobe::recognise {
namespace {

using attention::AttentionSpec;

using GraphReader = std::optional<Reading> (*)(const GraphView&, const ReadingChoice&);

// The default reading, then one for each of its open choices.
void add_readings(std::vector<Reading>& readings, const GraphView& view, GraphReader read) {
  auto first = read(view, {});
  if (!first) return;
  const ReadingChoice open = first->open;
  readings.push_back(std::move(*first));
  constexpr unsigned choices = 8;
  for (unsigned bits = 1; bits < choices; ++bits) {
    const ReadingChoice choice{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
    // Considers a modifier's gradient only if some reading has a modifier.
    const bool has_modifier = open.modifier_without_grad || choice.causal_is_modifier || choice.factor_is_modifier;
    if ((choice.causal_is_modifier && !open.causal_is_modifier) ||
        (choice.factor_is_modifier && !open.factor_is_modifier) || (choice.modifier_without_grad && !has_modifier))
      continue;
    if (auto reading = read(view, choice)) readings.push_back(std::move(*reading));
  }
}

// Most likely first.
std::vector<Reading> readings_of(const GraphView& view) {
  std::vector<Reading> readings;
  for (const GraphReader read : {read_unified, read_composite, read_composite_backward})
    add_readings(readings, view, read);
  for (const auto read : {read_two_matmul, read_legacy, read_legacy_backward})
    if (auto reading = read(view)) readings.push_back(std::move(*reading));
  for (Reading& reading : readings) {
    reading.spec.dynamic_shapes = view.graph().dynamic_shapes;
    reading.spec.override_shapes = view.graph().override_shapes;
  }
  return readings;
}

// The spec after a round trip through its JSON; none if no config can express it.
std::optional<AttentionSpec> through_config(const AttentionSpec& spec) {
  try {
    if (!contradictions(spec).empty()) return std::nullopt;
    return attention::parse_configs(json_text(to_json(spec)), "recognised").at(0).spec;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The context's version, then a version for each other wiring of cudnn-frontend: the second padding of 9.0 to 9.9,
// primitive operations, unified operations.
std::vector<CudnnVersion> versions_to_try(CudnnVersion given) {
  std::vector<CudnnVersion> versions;
  if (given.is_known()) versions.push_back(given);
  versions.insert(versions.end(),
                  {CudnnVersion{9, 19, 0}, build::frontend_wiring().single_operations, CudnnVersion{9, 9, 0}});
  return versions;
}

struct Twin {
  graph::OpGraph graph;
  std::map<graph::Uid, graph::Uid> uids;
};

std::optional<Twin> twin_of(const graph::OpGraph& graph, const AttentionSpec& spec,
                            const build::BuildContext& context) {
  graph::OpGraph built = build::build_graph(spec, context).graph;
  auto uids = same_graph(graph, built);
  if (!uids) return std::nullopt;
  return Twin{std::move(built), std::move(*uids)};
}

graph::OpGraph with_names(graph::OpGraph graph, const Twin& twin) {
  for (graph::Tensor& t : graph.tensors) {
    const auto uid = twin.uids.find(t.uid);
    if (uid == twin.uids.end()) continue;
    const graph::Tensor& other = tensor(twin.graph, uid->second);
    t.name = other.name;
    t.role = other.role;
    if (t.by_value && !t.value) t.value = other.value;
  }
  return graph;
}

// Omits assumed values.
std::string description_of(const Reading& reading) {
  AttentionSpec spec = reading.spec;
  if (reading.left_unknown) spec.mask.window_left.reset();
  if (reading.right_unknown) spec.mask.window_right.reset();
  std::string text = describe(spec);
  if (reading.left_unknown) text += ", left window of unknown size";
  if (reading.right_unknown) text += ", right window of unknown size";
  return text;
}

std::string no_attention(const graph::OpGraph& graph) {
  constexpr size_t most_by_name = 8;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, size_t>> counts;
  for (const auto* list : {&graph.operations, &graph.score_operations})
    for (const auto& operation : *list) {
      words.push_back(operation_name(operation));
      const auto found =
          std::find_if(counts.begin(), counts.end(), [&](const auto& entry) { return entry.first == words.back(); });
      if (found == counts.end())
        counts.emplace_back(words.back(), 1);
      else
        ++found->second;
    }
  const size_t total = words.size();
  if (total > most_by_name) {
    words.clear();
    for (const auto& [word, count] : counts) words.push_back(count == 1 ? word : fmt::format("{} {}", count, word));
  }
  return fmt::format("{} operation{}{}{}; no attention that attnprobe knows", total, total == 1 ? "" : "s",
                     words.empty() ? "" : ": ", fmt::join(words, ", "));
}

class Recogniser {
 public:
  Recogniser(const graph::OpGraph& graph, const build::BuildContext& context) : graph_(graph), context_(context) {}

  Recognised run() {
    const GraphView view(graph_);
    readings_ = readings_of(view);
    for (const CudnnVersion version : versions_to_try(context_.cudnn_version))
      for (const Reading& reading : readings_)
        if (auto result = prove(reading, version)) return *result;
    return nearest();
  }

 private:
  std::optional<Recognised> prove(const Reading& reading, CudnnVersion version) const {
    const auto spec = through_config(reading.spec);
    if (!spec) return std::nullopt;
    const auto twin = twin_of(graph_, *spec, {version, context_.sm});
    if (!twin) return std::nullopt;
    Recognised result;
    result.spec = reading.spec;
    result.exact = version == context_.cudnn_version || !context_.cudnn_version.is_known();
    result.description = description_of(reading);
    result.notes = reading.assumed;
    if (!result.exact)
      result.notes.push_back(fmt::format("built as cudnn-frontend builds it for cuDNN {}, not for {}",
                                         version.release(), context_.cudnn_version.release()));
    result.named = with_names(graph_, *twin);
    result.built_for = version;
    return result;
  }

  // The reading whose graph has the fewest differences, and these differences.
  Recognised nearest() const {
    Recognised result;
    result.description = no_attention(graph_);
    std::optional<size_t> fewest;
    for (const Reading& reading : readings_) {
      const auto spec = through_config(reading.spec);
      if (!spec) continue;
      const CudnnVersion version = versions_to_try(context_.cudnn_version).front();
      const auto lines = differences(graph_, build::build_graph(*spec, {version, context_.sm}).graph);
      if (fewest && lines.size() >= *fewest) continue;
      fewest = lines.size();
      result.spec = reading.spec;
      result.description = description_of(reading) + "? The graph is similar, but not the same";
      result.notes = shortened(lines);
    }
    return result;
  }

  static std::vector<std::string> shortened(const std::vector<std::string>& lines) {
    constexpr size_t most = 5;
    std::vector<std::string> few(lines.begin(),
                                 lines.begin() + static_cast<std::ptrdiff_t>(std::min(most, lines.size())));
    for (std::string& line : few) line.insert(0, "differs: ");
    if (lines.size() > most) few.push_back(fmt::format("differs: {} more differences", lines.size() - most));
    return few;
  }

  const graph::OpGraph& graph_;
  const build::BuildContext& context_;
  std::vector<Reading> readings_;
};

}  // namespace

Recognised recognise_graph(const graph::OpGraph& graph, const build::BuildContext& context) {
  return Recogniser(graph, context).run();
}

}  // namespace attnprobe::recognise
