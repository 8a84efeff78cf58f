#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "machine/preflight.hpp"
#include "machine/process_libraries.hpp"
#include "machine/python_environment.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"
#include "worker/client.hpp"

namespace attnprobe::app {
namespace {

std::string mark(bool ok) {
  const std::string text = ok ? "ok" : "--";
  return wants_colour(STDOUT_FILENO) ? coloured(text, ok ? "32" : "31") : text;
}

std::string table_of(const std::vector<machine::Finding>& findings) {
  constexpr size_t wide = 100;
  if (const auto columns = terminal_columns(); columns && *columns < wide) {
    std::string out;
    for (const auto& finding : findings) {
      out += fmt::format("  {}  {}\n", mark(finding.ok), finding.what);
      if (!finding.detail.empty()) out += report::wrapped(finding.detail, 8, *columns);
      if (!finding.cure.empty()) out += report::wrapped("-> " + finding.cure, 8, *columns);
    }
    return out;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& finding : findings) {
    rows.push_back({mark(finding.ok), finding.what, finding.detail});
    if (!finding.cure.empty()) rows.push_back({"", "", "-> " + finding.cure});
  }
  return report::aligned(rows, 2);
}

struct DoctorOptions {
  bool report = false;
  std::string cudnn, format = "table", python;
  std::optional<int64_t> pid;
  double timeout = 60;
};

// The first problem in one sentence, with its one command.
std::string verdict_text(const std::vector<machine::EnvironmentProblem>& problems) {
  if (problems.empty()) return "no problem found\n";
  return fmt::format("{}\n-> {}\n", problems.front().what, problems.front().cure);
}

// A gate that requires a newer cuDNN refuses calls, but is not a defect of the installation.
int environment_code(const std::vector<machine::EnvironmentProblem>& problems) {
  const bool broken =
      std::any_of(problems.begin(), problems.end(), [](const auto& p) { return p.id != "gate_wants_newer"; });
  return broken ? environment_lacks : all_met;
}

// The process's problems, and its loaded cuDNN.
std::vector<machine::Finding> first_parts(const machine::PythonEnvironment& environment) {
  std::vector<machine::Finding> parts;
  if (!environment.loads.empty()) parts.push_back({"by rule", true, environment.loads, ""});
  for (const auto& problem : environment.problems) parts.push_back({problem.id, false, problem.what, problem.cure});
  return parts;
}

machine::MachineGpus gpus_of(const gpu::DriverInfo& driver) {
  machine::MachineGpus machine;
  if (driver.found && !driver.is_stub && driver.problem.empty()) machine.driver_version = driver.version;
  for (const auto& gpu : driver.gpus) machine.sms.push_back(gpu.sm);
  return machine;
}

std::string extras_text(const machine::PythonEnvironment& environment) {
  return "\nwhat pip would change in it (nothing was installed)\n" + table_of(machine::extra_findings(environment));
}

int doctor_of_machine(const DoctorOptions& options) {
  const machine::Diagnosis diagnosis = machine::diagnose_machine(options.cudnn, options.timeout);
  const auto python = machine::inspect_own_python(gpus_of(diagnosis.driver));
  if (options.report) {
    utsname system{};
    uname(&system);
    print_text(fmt::format("```text\nattnprobe {} on {} {} {}\n{}\n{}```\n", report::tool_version(), system.sysname,
                           system.release, system.machine, table_of(diagnosis.parts), table_of(diagnosis.abilities)));
    return all_met;
  }
  if (options.format == "json") {
    Json document(diagnosis);
    document["python"] = python ? Json(*python) : Json();
    print_data(json_text(document, 2) + "\n");
  } else {
    print_text("what is here\n" + table_of(diagnosis.parts) + "\nwhat works (each was tried)\n" +
               table_of(diagnosis.abilities));
    if (python)
      print_text(fmt::format("\nthis Python environment, {} (attnprobe doctor --python {} shows more)\n{}{}",
                             python->python, shell_word(python->python), table_of(first_parts(*python)),
                             extras_text(*python)));
  }
  const bool any =
      std::any_of(diagnosis.abilities.begin(), diagnosis.abilities.end(), [](const auto& f) { return f.ok; });
  return any ? all_met : environment_lacks;
}

int doctor_of_python(const DoctorOptions& options) {
  const machine::PythonEnvironment found =
      machine::inspect_python(options.python, gpus_of(worker::inspect_driver(options.timeout)));
  if (options.format == "json")
    print_data(json_text(Json(found), 2) + "\n");
  else
    print_text(verdict_text(found.problems) + "\nwhat is in it (nothing was imported)\n" + table_of(found.parts) +
               extras_text(found));
  return environment_code(found.problems);
}

int doctor_of_process(const DoctorOptions& options) {
  const machine::ProcessLibraries found = machine::inspect_process(*options.pid);
  if (options.format == "json") {
    print_data(json_text(Json(found), 2) + "\n");
    return environment_code(found.problems);
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& library : found.libraries)
    rows.push_back({mark(!library.deleted), library.name, library.version,
                    library.path + (library.deleted ? " (removed or replaced since)" : "")});
  print_text(verdict_text(found.problems) +
             fmt::format("\nwhat process {} has loaded: {}\n", found.pid, found.command) +
             (rows.empty() ? "  no library of cuDNN or CUDA yet\n" : report::aligned(rows, 2)));
  return environment_code(found.problems);
}

}  // namespace

void add_doctor(CLI::App& app, Run& run) {
  auto options = std::make_shared<DoctorOptions>();
  auto* command = app.add_subcommand("doctor", "Show what this machine has and what works on it");
  auto* cudnn = command->add_option("--cudnn", options->cudnn, "libcudnn.so.9, or a folder that contains it");
  auto* python = command->add_option(
      "--python", options->python,
      "examine a Python environment instead, without importing anything; give its interpreter, its folder or a site-packages folder");
  auto* pid =
      command->add_option("--pid", options->pid, "list the libraries that a running process has loaded instead");
  python->excludes(cudnn, pid);
  pid->excludes(cudnn);
  pid->check(CLI::PositiveNumber);
  command->add_option("-f,--format", options->format, "table or json")->transform(one_of({"table", "json"}));
  command->add_flag("--report", options->report, "print a block to paste into an issue");
  command->add_option("--timeout", options->timeout, "seconds allowed for each step")->check(check_seconds);
  command->callback([options, &run] {
    run = [options] {
      if (options->pid) return doctor_of_process(*options);
      return options->python.empty() ? doctor_of_machine(*options) : doctor_of_python(*options);
    };
  });
}

}  // namespace attnprobe::app
