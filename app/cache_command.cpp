// attnprobe cache: the stored answers of a matrix.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cache_file.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"

namespace attnprobe::app {

void add_cache(CLI::App& app, Run& run) {
  struct Options {
    std::string what, file, format = "table";
  };
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("cache", "Show or clear the answers that `attnprobe matrix` has cached");
  command->add_option("WHAT", options->what, "stats, or clear")->required()->transform(one_of({"stats", "clear"}));
  command->add_option("--cache", options->file, "the file; default: " + asking::default_cache_file().string());
  command->add_option("-f,--format", options->format, "table or json")->transform(one_of({"table", "json"}));
  command->callback([options, &run] {
    run = [options]() -> int {
      const std::filesystem::path file = cache_file(options->file);
      if (file.empty()) throw Error(ErrorKind::environment, fmt::format("there is no cache: {}", no_cache_file));
      if (options->what == "clear") asking::clear_cache(file);
      const auto statistics = asking::cache_statistics(file);
      if (options->format == "json")
        print_data(json_text(Json(statistics), 2) + "\n");
      else
        print_text(fmt::format("{}: {} answers from {} cuDNN libraries, {:.1f} MB\n", statistics.file,
                               statistics.answers, statistics.libraries, static_cast<double>(statistics.bytes) / 1e6));
      return all_met;
    };
  });
}

}  // namespace attnprobe::app
