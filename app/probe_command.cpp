#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "ask.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "build/build.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "emit.hpp"
#include "exit_code.hpp"
#include "frameworks/calls/call_questions.hpp"
#include "frameworks/calls/framework_calls.hpp"
#include "frameworks/transformer_engine/call_answers.hpp"

namespace attnprobe::app {
namespace {

using report::Results;

struct ProbeOptions {
  ConfigOptions configs;
  std::string transformer_engine, torch, jax, dump_graph, emit;
  AskOptions ask;
};

std::vector<attention::AttentionConfig> configs_of(const ProbeOptions& options) {
  return read_configs(options.configs, "nothing to probe: --torch, --jax and --te read a framework's call; otherwise");
}

// The calls of Transformer Engine, as groups of configs and targets.
struct Calls {
  std::vector<frameworks::TransformerEngineQuery> queries;
  std::vector<gpu::Target> targets;
  CudnnVersion cudnn_version;
  std::vector<frameworks::TargetGroup> groups;
};

Calls read_calls(const ProbeOptions& options, const AskOptions& ask) {
  if (options.configs.given())
    throw Error(ErrorKind::usage, "--te cannot be combined with --config or fields of a config");
  const auto modes = split(ask.modes, ',');
  if (std::find(modes.begin(), modes.end(), "A") == modes.end())
    throw Error(ErrorKind::usage, "--te needs mode A, because Transformer Engine uses it");
  Calls calls;
  calls.queries = frameworks::load_transformer_engine(options.transformer_engine);
  calls.targets = choose_targets(ask, "representative");
  calls.cudnn_version = version_for_graphs(ask);
  calls.groups = frameworks::transformer_engine_groups(calls.queries, calls.targets, calls.cudnn_version);
  return calls;
}

Work plan_calls(const ProbeOptions& options, const AskOptions& ask) {
  const auto calls = std::make_shared<const Calls>(read_calls(options, ask));
  const auto answers = [calls](const Results& results) {
    return frameworks::transformer_engine_answers(calls->queries, calls->targets, results, calls->cudnn_version);
  };
  Work work;
  for (const auto& group : calls->groups) work.groups.push_back({asking::questions_of(group.configs), group.targets});
  work.add_to_json = [answers](Json& json, const Results& results) {
    json["transformer_engine"] = to_json(answers(results));
  };
  work.after = [answers](const Results& results, const report::TextStyle& style) {
    return frameworks::transformer_engine_text(answers(results), style.width);
  };
  work.exit_code = [answers](const Results& results) {
    return frameworks::lacks_backend(answers(results)) ? not_met : all_met;
  };
  return work;
}

// Only --dtype can complete a call; other fields would be lost.
std::optional<DataType> dtype_of_call(const std::string& option, const std::vector<attention::Override>& fields) {
  std::optional<DataType> dtype;
  for (const auto& [field, value] : fields) {
    const std::string name = attention::option_of(field);
    if (field != "dtype")
      throw Error(ErrorKind::usage,
                  fmt::format("{} can be combined only with the field --dtype; {} is part of the call", option, name));
    const JsonSource source{name, ": ", false};
    dtype = JsonView(value, source).one_of<DataType>();
  }
  return dtype;
}

frameworks::CallQuestions framework_questions(const ProbeOptions& options) {
  const frameworks::Caller caller = options.torch.empty() ? frameworks::Caller::jax : frameworks::Caller::torch;
  const std::string option = fmt::format("--{}", name_of(caller));
  if (!options.configs.files.empty() || !options.transformer_engine.empty() ||
      (!options.torch.empty() && !options.jax.empty()))
    throw Error(ErrorKind::usage, fmt::format("{} cannot be combined with --config or another call", option));
  const frameworks::CallReading reading{caller,
                                        frameworks::release_named(options.ask.frameworks, caller, "--framework"),
                                        dtype_of_call(option, options.configs.overrides)};
  auto asked = frameworks::questions_of(
      frameworks::load_calls(reading, options.torch.empty() ? options.jax : options.torch), caller);
  for (const auto& note : asked.notes) warn(note);
  return asked;
}

// Read once: standard input cannot be read again.
Work plan_framework_calls(const std::vector<answer::Question>& questions, const AskOptions& ask) {
  Work work;
  work.groups.push_back({questions, choose_targets(ask, "representative")});
  return work;
}

bool has_framework_call(const ProbeOptions& options) {
  return !options.torch.empty() || !options.jax.empty();
}

Work plan_configs(const ProbeOptions& options, const AskOptions& ask) {
  Work work;
  auto questions = asking::questions_of(configs_of(options));
  work.groups.push_back({std::move(questions), choose_targets(ask, "representative")});
  return work;
}

std::vector<attention::AttentionConfig> configs_to_draw(const ProbeOptions& options) {
  std::vector<attention::AttentionConfig> configs;
  std::vector<std::string> frameworks = options.ask.frameworks;
  if (has_framework_call(options)) {
    const frameworks::CallQuestions asked = framework_questions(options);
    for (const auto& question : asked.questions) configs.push_back(question.config);
    if (frameworks.empty()) frameworks = {asked.framework};
  } else if (options.transformer_engine.empty()) {
    configs = configs_of(options);
  } else {
    for (const auto& group : read_calls(options, options.ask).groups)
      configs.insert(configs.end(), group.configs.begin(), group.configs.end());
  }
  const auto gates = rules::choose_gates(frameworks, "--framework");
  for (auto& config : configs) answer::adopt_frontend(config.spec, gates);
  return configs;
}

int dump_graphs(const ProbeOptions& options) {
  const auto configs = configs_to_draw(options);
  const CudnnVersion version = version_for_graphs(options.ask);
  std::vector<NamedGraph> graphs;
  for (const auto& config : configs) {
    const auto built = build::build_graph(config.spec, {version});
    if (!built.choice.empty()) spdlog::info("{}: {}", config.spec.name, built.choice);
    graphs.push_back({config.spec.name, describe(config.spec), built.graph});
  }
  write_graphs(options.ask.output, options.dump_graph, graphs);
  return all_met;
}

int probe(ProbeOptions options) {
  for (const auto& file : options.configs.files) options.ask.inputs.push_back({"--config " + file, file});
  if (!options.transformer_engine.empty())
    options.ask.inputs.push_back({"--te " + options.transformer_engine, options.transformer_engine});
  // A word that is not JSON is a file name; if the file is missing, the reader refuses it.
  for (const auto& [option, word] : {std::pair("--torch", options.torch), std::pair("--jax", options.jax)})
    if (!word.empty() && !trim(word).starts_with('{') && !trim(word).starts_with('['))
      options.ask.inputs.push_back({fmt::format("{} {}", option, word), word});
  check_outputs(options.ask);
  if (!options.dump_graph.empty()) return dump_graphs(options);
  if (!options.emit.empty())
    return emit_program(options.emit, options.ask, asking::questions_of(configs_to_draw(options)));
  if (has_framework_call(options)) {
    const frameworks::CallQuestions asked = framework_questions(options);
    if (options.ask.frameworks.empty()) options.ask.frameworks = {asked.framework};
    return ask(options.ask, [&](const AskOptions& with) { return plan_framework_calls(asked.questions, with); });
  }
  const auto plan = options.transformer_engine.empty() ? plan_configs : plan_calls;
  return ask(options.ask, [&](const AskOptions& with) { return plan(options, with); });
}

}  // namespace

void add_probe(CLI::App& app, Run& run) {
  auto options = std::make_shared<ProbeOptions>();
  auto* command = app.add_subcommand("probe", "Ask cuDNN about attention configs (the default command)");
  add_file_option(*command, options->configs);
  command
      ->add_option(
          "--te", options->transformer_engine,
          "Transformer Engine's calls of nvte_get_fused_attn_backend: a log written with NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2, or JSON; - is standard input. Exit code 1 if a call has no backend on a target")
      ->group("What is asked");
  const std::string call_help =
      " as in source code, 'FUNCTION(q[2, 8, 1024, 64], …)', as JSON, or a file of calls (docs/from-frameworks.md); - is standard input. Asks about its forward and backward graphs, and checks the framework's gate";
  command->add_option("--torch", options->torch, "a call of PyTorch's scaled_dot_product_attention" + call_help)
      ->group("What is asked");
  command->add_option("--jax", options->jax, "a call of jax.nn.dot_product_attention" + call_help)
      ->group("What is asked");
  add_field_options(*command, options->configs);
  add_ask_options(*command, options->ask, "this machine's GPUs, otherwise the representative ones");
  command
      ->add_option("--dump-graph", options->dump_graph, "write the operation graph instead of probing it: json or dot")
      ->transform(one_of({"json", "dot"}))
      ->group("Output");
  add_emit_option(*command, options->emit);
  command->callback([options, &run] { run = [options] { return probe(*options); }; });
}

}  // namespace attnprobe::app
