#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask.hpp"
#include "ask/named_targets.hpp"
#include "asked_libraries.hpp"
#include "attention/config.hpp"
#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "bring_cudnn.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "studies/audit/audit.hpp"
#include "studies/audit/audit_report.hpp"

namespace attnprobe::app {
namespace {

struct AuditOptions {
  std::vector<std::string> configs, frameworks{"all"}, cudnns;
  std::string target = "representative", output, format = "table";
  bool no_cache = false, fetch = false;
  asking::PlanOptions how;
  asking::Session session;
};

std::string command_of(const AuditOptions& options) {
  std::string command =
      fmt::format("attnprobe audit --framework {} --target {}", fmt::join(options.frameworks, ","), options.target);
  if (!options.cudnns.empty()) command += fmt::format(" --cudnn {}", fmt::join(options.cudnns, ","));
  for (const auto& file : options.configs) command += " " + file;
  return command;
}

std::string document(const studies::Audit& audit, const AuditOptions& options) {
  if (options.format == "md") return studies::audit_markdown(audit, command_of(options));
  Json rows = Json::array();
  for (const auto& row : audit.rows()) rows.push_back(to_json(row));
  return json_text(Json{{"schema", "attnprobe/audit/1"},
                        {"tool", report::tool_version()},
                        {"command", command_of(options)},
                        {"cells", audit.cells()},
                        {"unanswered", audit.unanswered()},
                        {"not_compiled", audit.dropped()},
                        {"rows", std::move(rows)}},
                   2) +
         "\n";
}

int run_audit(AuditOptions options) {
  std::vector<NamedFile> inputs;
  for (const auto& file : options.configs) inputs.push_back({file, file});
  check_outputs({{"--output " + options.output, options.output}}, inputs);
  options.how.frameworks = rules::choose_gates(options.frameworks, "--framework");
  std::vector<attention::AttentionConfig> configs;
  for (const auto& file : options.configs) {
    auto read = attention::load_configs(file);
    configs.insert(configs.end(), read.begin(), read.end());
  }
  if (configs.empty()) configs = studies::audit_sweep();
  const auto targets = asking::named_targets(options.target, options.how.timeout_seconds);
  std::unique_ptr<OutputFile> file;
  if (!options.output.empty()) file = std::make_unique<OutputFile>(options.output);
  const AskedLibraries asked =
      ask_libraries(options.cudnns, targets, {options.no_cache, options.fetch}, options.how, options.session);
  options.how.walk.sweep_where_none = false;
  options.how.walk.plans = probe::Plans::none;
  options.session.stop = stop_gently();
  studies::Audit audit(targets);
  Progress progress(configs.size() * targets.size() * asked.libraries.size());
  asking::Plan plan{.groups = {{asking::questions_of(configs), targets}},
                    .options = options.how,
                    .further = asking::Further::nothing,
                    .cached = true};
  size_t before = 0;
  for (const auto& library : asked.libraries) {
    plan.groups.front().cudnns = {library.path};
    asking::ask(plan, options.session, [&](const answer::Answer& result, size_t index) {
      progress.add(result);
      audit.add(result, before + index);
    });
    before += cells_of(plan.groups);
  }
  progress.end();
  audit.prove(options.how, options.session);
  if (file)
    file->replace(options.format == "table" ? studies::audit_text(audit, terminal_style(false))
                                            : document(audit, options));
  if (!file && options.format != "table")
    print_data(document(audit, options));
  else
    print_text(file ? studies::audit_summary(audit) + "\n" : studies::audit_text(audit, terminal_style(false)));
  if (*options.session.stop) return interrupted;
  if (audit.unanswered() > 0) return environment_lacks;  // set if the findings are incomplete
  return audit.rows().empty() ? all_met : not_met;
}

}  // namespace

void add_audit(CLI::App& app, Run& run) {
  auto options = std::make_shared<AuditOptions>();
  auto* command = app.add_subcommand(
      "audit", "Compare the frameworks' gates with cuDNN: find calls they reject unnecessarily or accept wrongly");
  command->add_option("CONFIGS", options->configs, "config files; default: a systematic sweep");
  command
      ->add_option("--framework", options->frameworks,
                   "frameworks such as torch==2.11, jax, te; comma-separated list; default: all")
      ->delimiter(',');
  command->add_option("-t,--target", options->target, "as in probe; default: representative");
  command
      ->add_option("--cudnn", options->cudnns,
                   "comma-separated versions or paths, or all; default: the one that probe uses")
      ->delimiter(',');
  command->add_option("-j,--jobs", options->how.jobs, "worker processes; default: the cores of the machine")
      ->check(check_jobs);
  command->add_option("--timeout", options->how.timeout_seconds, "seconds for one config on one GPU")
      ->check(check_seconds);
  add_fetch_option(*command, options->fetch);
  command->add_flag("--no-cache", options->no_cache, "ask cuDNN about every cell; do not use the cache");
  command->add_option("-f,--format", options->format, "table, md or json")->transform(one_of({"table", "md", "json"}));
  command->add_option("-o,--output", options->output, "output file; default: standard output");
  command->callback([options, &run] { run = [options] { return run_audit(*options); }; });
}

}  // namespace attnprobe::app
