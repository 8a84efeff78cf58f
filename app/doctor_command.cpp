#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "campaign/preflight.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {
namespace {

std::string mark(bool ok) {
  const std::string text = ok ? "ok" : "--";
  return wants_colour(STDOUT_FILENO) ? coloured(text, ok ? "32" : "31") : text;
}

std::string table_of(const std::vector<campaign::Finding>& findings) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& finding : findings) {
    rows.push_back({mark(finding.ok), finding.what, finding.detail});
    if (!finding.cure.empty()) rows.push_back({"", "", "-> " + finding.cure});
  }
  return report::aligned(rows, 2);
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
        print_data(json_text(Json(diagnosis), 2) + "\n");
      } else {
        print_text("what is here\n" + table_of(diagnosis.parts) + "\nwhat works (each was tried)\n" +
                   table_of(diagnosis.abilities));
      }
      const bool any =
          std::any_of(diagnosis.abilities.begin(), diagnosis.abilities.end(), [](const auto& f) { return f.ok; });
      return static_cast<int>(any ? all_met : environment_lacks);
    };
  });
}

}  // namespace attnprobe::app
