// attnprobe site: a matrix as a static site.
#include <fmt/format.h>

#include <memory>

#include "ask.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "output.hpp"
#include "site/site.hpp"

namespace attnprobe::app {

void add_site(CLI::App& app, Run& run) {
  struct Options {
    std::vector<std::string> inputs;
    std::string output, title;
  };
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand(
      "site", "Write a static site of a matrix: a page per config, GPU and version, with JSON and badges");
  command->add_option("MATRIX", options->inputs, "folders of `attnprobe matrix`, their cells.jsonl, or JSON reports")
      ->required();
  command->add_option("-o,--output", options->output, "folder for the site: a new folder, or an old site to replace")
      ->required();
  command->add_option("--title", options->title, "title of the site; default: the matrix's title");
  command->footer("Exit codes: 0 site written, 2 bad command line or matrix, 3 disk full.");
  command->callback([options, &run] {
    run = [options]() -> int {
      const site::SiteFigures made = site::write_site({options->inputs.begin(), options->inputs.end()}, options->title,
                                                      options->output, warn, stop_gently());
      print_text(fmt::format("{} cells: {} files, {:.1f} MB\n{}\n", made.cells, made.files,
                             static_cast<double>(made.bytes) / 1e6,
                             (std::filesystem::path(options->output) / "index.html").string()));
      return all_met;
    };
  });
}

}  // namespace attnprobe::app
