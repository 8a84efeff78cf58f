#include <memory>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {

void add_schema(CLI::App& app, Run& run) {
  auto* command = app.add_subcommand("schema", "Print the JSON Schema of configs or reports");
  command->require_subcommand(1);
  auto* config = command->add_subcommand("config", "of attention configs");
  const auto format = std::make_shared<std::string>("json");
  config->add_option("-f,--format", *format, "json: the schema; md: the fields as Markdown tables")
      ->transform(one_of({"json", "md"}));
  config->callback([format, &run] {
    run = [format] {
      print_data(*format == "md" ? attention::config_markdown() : attention::config_schema().dump(2) + "\n");
      return static_cast<int>(all_met);
    };
  });
  command->add_subcommand("report", "of reports")->callback([&run] {
    run = [] {
      print_data(report::report_schema().dump(2) + "\n");
      return static_cast<int>(all_met);
    };
  });
}

}  // namespace attnprobe::app
