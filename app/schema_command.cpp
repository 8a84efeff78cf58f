#include <fmt/format.h>

#include "attention/config.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {

void add_schema(CLI::App& app, Run& run) {
  auto* command = app.add_subcommand("schema", "Print the JSON Schema of configs or reports");
  command->require_subcommand(1);
  auto print = [&run](Json (*schema)()) {
    return [&run, schema] {
      run = [schema] {
        fmt::print("{}\n", schema().dump(2));
        return static_cast<int>(all_met);
      };
    };
  };
  command->add_subcommand("config", "of attention configs")->callback(print(attention::config_schema));
  command->add_subcommand("report", "of reports")->callback(print(report::report_schema));
}

}  // namespace attnprobe::app
