// attnprobe plans: the number and cost of plans for a program's shapes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "ask.hpp"
#include "asked_libraries.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "bring_cudnn.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "studies/plans/bill_text.hpp"
#include "studies/plans/logged_workload.hpp"

namespace attnprobe::app {
namespace {

struct PlansCommand {
  ConfigOptions configs;
  AskOptions ask;
  std::string lengths;
  bool all = false;
};

// A log, or another text with graphs; null if the file has configs.
std::optional<replay::Replay> read_log(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error) && !replay::is_folder_of_logs(file)) return std::nullopt;
  auto read = replay::read_replays({file});
  const bool has_log = read.history.has_entries() || !read.graphs.empty();
  return has_log ? std::optional(std::move(read)) : std::nullopt;
}

struct Input {
  std::vector<plans::Workload> workloads;
  std::string log_gpus;  // simulated
  std::set<CudnnVersion> log_versions;
};

void add_log(Input& input, const replay::Replay& log) {
  replay::require_graphs(log);
  plans::Workload workload = plans::workload_of(log);
  if (workload.shapes.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: no plan of an attention graph{}{}", log.file,
                                              workload.notes.empty() ? "" : "; ", fmt::join(workload.notes, "; ")));
  if (const std::string gpus = replay::gpus_of(log); !gpus.empty())
    input.log_gpus += (input.log_gpus.empty() ? "" : ",") + gpus;
  input.log_versions.insert(log.history.versions.begin(), log.history.versions.end());
  workload.name = log.file;
  input.workloads.push_back(std::move(workload));
}

// A config from fields gets its length from --lengths.
void add_first_length(ConfigOptions& configs, const plans::Length& first) {
  const auto has = [&](const std::string& field) {
    return std::ranges::find(configs.overrides, field, &attention::Override::field) != configs.overrides.end();
  };
  if (!configs.files.empty() || configs.overrides.empty() || has("seqlen") || has("seqlen_kv")) return;
  configs.overrides.push_back({has("seqlen_q") ? "seqlen_kv" : "seqlen", first.tokens});
}

// Each config at its lengths; without lengths the configs are the shapes. Each log is a separate workload.
Input read_input_of(const PlansCommand& command) {
  Input input;
  ConfigOptions configs{{}, command.configs.overrides};
  for (const auto& file : command.configs.files) {
    const auto log = file == "-" ? std::nullopt : read_log(file);
    if (!log) {
      configs.files.push_back(file);
      continue;
    }
    if (!command.configs.overrides.empty() || !command.lengths.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("{}: a log has its own shapes; use --lengths and fields only with configs", file));
    add_log(input, *log);
  }
  if (!configs.given() && !input.workloads.empty()) return input;
  std::vector<plans::Length> lengths;
  if (!command.lengths.empty()) lengths = plans::read_lengths(command.lengths);
  if (!lengths.empty()) add_first_length(configs, lengths.front());
  const auto read = read_configs(configs, "plans of what?");
  if (lengths.empty()) {
    auto& shapes = input.workloads.emplace_back().shapes;
    for (const auto& config : read) shapes.push_back({config.spec, {}});
    return input;
  }
  for (const auto& config : read) input.workloads.push_back({config.spec.name, plans::shapes_of(config.spec, lengths)});
  return input;
}

// How each framework caches its plans.
std::string programs_text(const std::vector<rules::ChosenGate>& gates) {
  std::string text;
  for (const auto& gate : gates) {
    const auto* plans = rules::plans_of(gate);
    text += report::wrapped(
        fmt::format("{}: {}", title_of(gate), plans == nullptr ? "Its plan cache is unknown." : plans->text), 0, 80);
  }
  return text.empty() ? "" : "\n" + text;
}

int bill(PlansCommand command) {
  AskOptions& options = command.ask;
  for (const auto& file : command.configs.files) options.inputs.push_back({file, file});
  check_outputs(options);
  const auto gates = rules::choose_gates(options.frameworks, "--framework");
  const Input input = read_input_of(command);
  const auto targets = choose_targets(options, input.log_gpus.empty() ? "h100" : input.log_gpus);
  std::unique_ptr<OutputFile> file;
  if (!options.output.empty()) file = std::make_unique<OutputFile>(options.output);
  options.session.stop = stop_gently();
  options.session.on_problem = warn;
  const std::vector<std::string> words = options.cudnn.empty() ? std::vector<std::string>() : split(options.cudnn, ',');
  const AskedLibraries asked = ask_libraries(words, targets, {false, options.fetch}, options.how, options.session);
  for (const auto& library : asked.libraries)
    if (!input.log_versions.empty() && input.log_versions.count(library.version) == 0)
      warn(fmt::format("asking cuDNN {}, but the log comes from {}; --cudnn {} asks that version",
                       library.version.text(), input.log_versions.begin()->text(), input.log_versions.begin()->text()));
  Progress progress(0);
  std::vector<plans::WorkloadBill> bills;
  for (const auto& library : asked.libraries)
    for (const auto& target : targets)
      for (auto& one : plans::bills_of(input.workloads, target, {{}, library.path, options.how}, options.session,
                                       command.all || target.kind == gpu::Kind::device,
                                       [&](const auto& answer) { progress.add(answer); }))
        bills.push_back(std::move(one));
  progress.end();
  if (*options.session.stop) return interrupted;
  std::string text;
  if (options.format == "json") {
    text = json_text(plans::bills_json(bills), 2) + "\n";
  } else {
    for (const auto& one : bills) text += (text.empty() ? "" : "\n") + plans::bill_text(one);
  }
  if (options.format != "json") text += programs_text(gates);
  if (file)
    file->replace(text);
  else if (options.format == "json")
    print_data(text);
  else
    print_text(text);
  const bool all_planned =
      std::all_of(bills.begin(), bills.end(), [](const auto& b) { return b.exact.refused.empty(); });
  return all_planned ? all_met : not_met;
}

}  // namespace

void add_plans(CLI::App& app, Run& run) {
  auto options = std::make_shared<PlansCommand>();
  auto* command =
      app.add_subcommand("plans", "Count the plans and kernels of a program's shapes, and what padding saves");
  command
      ->add_option(
          "file,--config,--model", options->configs.files,
          "JSON configs, a model's config.json, or a folder of them; also any input of replay, such as a cuDNN log; - is standard input, for configs")
      ->group("What is asked");
  add_field_options(*command, options->configs);
  add_framework_option(*command, options->ask.frameworks);
  command
      ->add_option(
          "--lengths", options->lengths,
          "sequence lengths: 101:220, 64:8192:64, a comma-separated list, or a file with one per line and an optional count. If the config has one query, or queries and keys differ, only the keys vary; otherwise both vary")
      ->group("What is asked");
  command
      ->add_flag("--all", options->all, "compile every plan, not only as many as are needed to tell the kernels apart")
      ->group("How far");
  command->add_option("-t,--target", options->ask.target, "as in probe; default: this machine's GPUs, otherwise h100")
      ->group("Where");
  command
      ->add_option("--cudnn", options->ask.cudnn, "comma-separated versions or paths; default: the one that probe uses")
      ->group("Where");
  add_fetch_option(*command, options->ask.fetch);
  command->add_option("-j,--jobs", options->ask.how.jobs, "worker processes; default: the cores of the machine")
      ->check(check_jobs)
      ->group("How far");
  command->add_option("--timeout", options->ask.how.timeout_seconds, "seconds allowed for one shape")
      ->check(check_seconds)
      ->group("How far");
  command->add_option("-f,--format", options->ask.format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->group("Output");
  command->add_option("-o,--output", options->ask.output, "output file; default: standard output")->group("Output");
  command->footer(
      "Exit codes: 0 every shape has a plan, 1 a shape has none, 2 bad command line or config, 3 environment problem.");
  command->callback([options, &run] { run = [options] { return bill(*options); }; });
}

}  // namespace attnprobe::app
