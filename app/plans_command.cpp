// attnprobe plans: what the plans of a program's shapes cost.
#include <fmt/format.h>

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

namespace attnprobe::app {
namespace {

struct PlansCommand {
  ConfigOptions configs;
  AskOptions ask;
  std::string lengths;
  bool all = false;
};

// The shapes of each config at its lengths; without lengths the configs are the shapes.
std::vector<std::vector<plans::Shape>> workloads(const PlansCommand& command) {
  const auto configs = read_configs(command.configs, "plans of what?");
  std::vector<std::vector<plans::Shape>> all;
  if (command.lengths.empty()) {
    auto& shapes = all.emplace_back();
    for (const auto& config : configs) shapes.push_back({config.spec, {}});
    return all;
  }
  const auto lengths = plans::read_lengths(command.lengths);
  for (const auto& config : configs) all.push_back(plans::shapes_of(config.spec, lengths));
  return all;
}

// What each framework does with its plans.
std::string programs_text(const std::vector<rules::ChosenGate>& gates) {
  std::string text;
  for (const auto& gate : gates) {
    const auto* plans = rules::plans_of(gate);
    text += report::wrapped(
        fmt::format("{}: {}", title_of(gate), plans == nullptr ? "How it keeps plans is not known." : plans->text), 0,
        80);
  }
  return text.empty() ? "" : "\n" + text;
}

int bill(PlansCommand command) {
  AskOptions& options = command.ask;
  for (const auto& file : command.configs.files) options.inputs.push_back({file, file});
  check_outputs(options);
  const auto gates = rules::choose_gates(options.frameworks, "--framework");
  const auto all = workloads(command);
  const auto targets = choose_targets(options, "h100");
  std::unique_ptr<OutputFile> file;
  if (!options.output.empty()) file = std::make_unique<OutputFile>(options.output);
  options.session.stop = stop_gently();
  options.session.on_problem = warn;
  const std::vector<std::string> words = options.cudnn.empty() ? std::vector<std::string>() : split(options.cudnn, ',');
  const AskedLibraries asked = ask_libraries(words, targets, {false, options.fetch}, options.how, options.session);
  Progress progress(0);
  std::vector<plans::WorkloadBill> bills;
  for (const auto& library : asked.libraries)
    for (const auto& target : targets)
      for (const auto& shapes : all)
        bills.push_back(plans::bill_of(shapes, target, {{}, library.path, options.how}, options.session,
                                       command.all || target.kind == gpu::Kind::device,
                                       [&](const auto& answer) { progress.add(answer); }));
  progress.end();
  if (*options.session.stop) return interrupted;
  std::string text;
  if (options.format == "json") {
    text = json_text(plans::bill_json(bills), 2) + "\n";
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
  add_config_options(*command, options->configs);
  add_framework_option(*command, options->ask.frameworks);
  command
      ->add_option(
          "--lengths", options->lengths,
          "sequence lengths: 101:220, 64:8192:64, a comma list, or a file with one per line and an optional count. The keys vary if there is one query or a different number of queries, otherwise both")
      ->group("What is asked");
  command->add_flag("--all", options->all, "compile each plan, not only as many as show the kernels")->group("How far");
  command->add_option("-t,--target", options->ask.target, "as in probe; default: this machine's GPUs, else h100")
      ->group("Where");
  command
      ->add_option("--cudnn", options->ask.cudnn, "versions or paths, a comma list; default: the one that probe uses")
      ->group("Where");
  add_fetch_option(*command, options->ask.fetch);
  command->add_option("-j,--jobs", options->ask.how.jobs, "worker processes; default: the cores of the machine")
      ->check(check_jobs)
      ->group("How far");
  command->add_option("--timeout", options->ask.how.timeout_seconds, "seconds for one shape")
      ->check(check_seconds)
      ->group("How far");
  command->add_option("-f,--format", options->ask.format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->group("Output");
  command->add_option("-o,--output", options->ask.output, "output file; default: standard output")->group("Output");
  command->footer(
      "Exit codes: 0 every shape has a plan, 1 one has none, 2 bad command line or config, 3 the environment lacks "
      "something.");
  command->callback([options, &run] { run = [options] { return bill(*options); }; });
}

}  // namespace attnprobe::app
