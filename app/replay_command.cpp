#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>

#include "ask.hpp"
#include "attention/fields.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "emit.hpp"
#include "exit_code.hpp"
#include "output.hpp"
#include "report/formats/replay_text.hpp"

namespace attnprobe::app {
namespace {

using replay::ReplayedGraph;
using report::Results;

struct ReplayOptions {
  std::vector<std::string> files;
  std::string graphs, dump_graph, emit;
  bool list = false, to_config = false;
  AskOptions ask;
};

std::vector<size_t> read_numbers(const std::string& text, size_t count) {
  std::vector<size_t> numbers;
  if (text.empty()) return numbers;
  for (const auto& word : split(text, ',')) {
    size_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number == 0 || number > count)
      throw Error(ErrorKind::usage,
                  fmt::format("--graph: \"{}\" is not the number of a graph here; allowed: 1 to {}", word, count));
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<const ReplayedGraph*> chosen(const replay::Replay& replay, const std::vector<size_t>& numbers) {
  std::vector<const ReplayedGraph*> graphs;
  for (const auto& graph : replay.graphs)
    if (numbers.empty() || std::find(numbers.begin(), numbers.end(), graph.number) != numbers.end())
      graphs.push_back(&graph);
  return graphs;
}

// The rebuilt graphs; reports the others.
std::vector<const ReplayedGraph*> rebuilt(const std::vector<const ReplayedGraph*>& graphs) {
  std::vector<const ReplayedGraph*> whole;
  for (const auto* graph : graphs) {
    if (graph->logged.imported)
      whole.push_back(graph);
    else
      spdlog::warn("skipped graph {}: {}", graph->number, graph->logged.problem);
  }
  return whole;
}

int dump(const ReplayOptions& options, const std::vector<const ReplayedGraph*>& graphs) {
  std::vector<NamedGraph> shown;
  for (const auto* graph : rebuilt(graphs)) {
    // Uses the tensor names of a recognised graph.
    const auto& named = graph->recognised.named;
    shown.push_back({fmt::format("graph {}", graph->number), graph->recognised.description,
                     named ? *named : graph->logged.imported->graph});
  }
  if (shown.empty()) return not_met;
  write_graphs(options.ask.output, options.dump_graph, shown);
  return all_met;
}

int print_configs(const ReplayOptions& options, const replay::Replay& replay,
                  const std::vector<const ReplayedGraph*>& graphs) {
  Json configs = Json::array();
  int code = all_met;
  for (const auto* graph : graphs) {
    const auto& recognised = graph->recognised;
    if (!recognised.exact || !recognised.spec) {
      spdlog::error("{}: graph {} cannot be expressed as a config: {}", replay.file, graph->number,
                    recognised.description);
      code = not_met;
      continue;
    }
    attention::AttentionSpec spec = *recognised.spec;
    spec.name = fmt::format("graph {}", graph->number);
    for (const auto& note : recognised.notes) spdlog::info("graph {}: {}", graph->number, note);
    configs.push_back(to_json(spec));
  }
  if (!configs.empty()) write_data(options.ask.output, json_text({{"configs", configs}}, 2) + "\n");
  return code;
}

std::vector<answer::Question> questions_of(const replay::Replay& replay,
                                           const std::vector<const ReplayedGraph*>& graphs) {
  std::vector<answer::Question> questions;
  questions.reserve(graphs.size());
  for (const auto* graph : graphs) questions.push_back(replay::question_of(replay, *graph));
  return questions;
}

int replay(ReplayOptions options) {
  for (const auto& file : options.files) options.ask.inputs.push_back({"LOG", file});
  check_outputs(options.ask);
  const auto replay = std::make_shared<const replay::Replay>(replay::read_replays(options.files));
  // For programs that read a log's list: an empty list.
  const bool may_be_empty = options.list && options.ask.format == "json" && replay->history.has_entries();
  if (!may_be_empty) replay::require_graphs(*replay);
  const auto numbers = read_numbers(options.graphs, replay->graphs.size());
  const auto graphs = chosen(*replay, numbers);
  if (!options.dump_graph.empty()) return dump(options, graphs);
  if (!options.emit.empty()) {
    const auto whole = rebuilt(graphs);
    const std::string gpus = replay::gpus_of(whole);
    return emit_program(options.emit, options.ask, questions_of(*replay, whole), gpus.empty() ? "h100" : gpus);
  }
  if (options.to_config) return print_configs(options, *replay, graphs);
  if (options.list) {
    if (options.ask.format != "table")
      write_data(options.ask.output, json_text(report::replay_json(*replay, graphs, {}), 2) + "\n");
    else
      write_text(options.ask.output, report::replay_text(*replay, numbers, terminal_style(options.ask.verbose)));
    return all_met;
  }
  return ask(options.ask, [&](const AskOptions& with) {
    const auto whole = rebuilt(graphs);
    if (whole.empty())
      throw Error(ErrorKind::usage, fmt::format("{}: none of its graphs could be rebuilt ({})", replay->file,
                                                graphs.front()->logged.problem));
    const std::string gpus = replay::gpus_of(whole);
    Work work;
    asking::QuestionGroup group;
    group.questions = questions_of(*replay, whole);
    group.targets = choose_targets(with, gpus.empty() ? "representative" : gpus);
    work.groups.push_back(std::move(group));
    work.before = [replay, numbers](const Results&, const report::TextStyle& style) {
      return report::replay_text(*replay, numbers, style);
    };
    work.after = [replay, whole](const Results& results, const report::TextStyle& style) {
      return report::agreement_text(whole, results, style);
    };
    work.add_to_json = [replay, whole](Json& json, const Results& results) {
      json["replay"] = report::replay_json(*replay, whole, results);
    };
    return work;
  });
}

}  // namespace

void add_replay(CLI::App& app, Run& run) {
  auto options = std::make_shared<ReplayOptions>();
  auto* command = app.add_subcommand("replay", "Rebuild the operation graphs of a cuDNN log and ask cuDNN about them");
  const std::string what = "What is asked";
  command
      ->add_option(
          "LOG", options->files,
          "cuDNN level-3 logs (plain, gzip, xz) or folders of them; - is standard input. Also JSON: from cudnn-frontend, a stored plan or --dump-graph, or trace's report")
      ->required()
      ->group(what);
  command->add_option("--graph", options->graphs, "only these graphs, by number: 1 or 1,3; default: all")->group(what);
  command->add_flag("--list", options->list, "show the log's contents; do not ask cuDNN")->group(what);
  command
      ->add_flag("--to-config", options->to_config,
                 "print the configs that build these graphs, verified by rebuilding the graphs")
      ->group(what);
  add_ask_options(*command, options->ask, "this machine's GPUs, otherwise the log's GPU, simulated");
  command
      ->add_option("--dump-graph", options->dump_graph,
                   "write the operation graphs instead of asking about them: json or dot")
      ->transform(one_of({"json", "dot"}))
      ->group("Output");
  add_emit_option(*command, options->emit);
  command->callback([options, &run] { run = [options] { return replay(*options); }; });
}

}  // namespace attnprobe::app
