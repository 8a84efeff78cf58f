#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "campaign/preflight.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {
namespace {

std::string mark(bool ok) {
  std::string text = ok ? "ok" : "--";
  if (!wants_colour(STDOUT_FILENO)) return text;
  return fmt::format(fmt::fg(ok ? fmt::terminal_color::green : fmt::terminal_color::red), "{}", text);
}

void print(const std::vector<campaign::Finding>& findings) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& finding : findings) {
    rows.push_back({mark(finding.ok), finding.what, finding.detail});
    if (!finding.cure.empty()) rows.push_back({"", "", "-> " + finding.cure});
  }
  fmt::print("{}", report::aligned(rows, 2));
}

}  // namespace

void add_doctor(CLI::App& app, Run& run) {
  struct Options {
    std::string cudnn, format = "table";
    double timeout = 60;
  };
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("doctor", "What this machine has, and what works on it");
  command->add_option("--cudnn", options->cudnn, "libcudnn.so.9, or a folder that holds it");
  command->add_option("--format", options->format, "table or json")->check(CLI::IsMember({"table", "json"}));
  command->add_option("--timeout", options->timeout, "seconds for each step")->check(check_seconds);
  command->callback([options, &run] {
    run = [options] {
      const campaign::Diagnosis diagnosis = campaign::diagnose_machine(options->cudnn, options->timeout);
      if (options->format == "json") {
        fmt::print("{}\n", Json(diagnosis).dump(2));
      } else {
        fmt::print("what is here\n");
        print(diagnosis.parts);
        fmt::print("\nwhat works (each was tried)\n");
        print(diagnosis.abilities);
      }
      const bool any =
          std::any_of(diagnosis.abilities.begin(), diagnosis.abilities.end(), [](const auto& f) { return f.ok; });
      return static_cast<int>(any ? all_met : environment_lacks);
    };
  });
}

}  // namespace attnprobe::app
