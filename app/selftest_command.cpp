#include <fmt/chrono.h>
#include <fmt/format.h>

#include "ask.hpp"
#include "ask/named_targets.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "cudnn/library_info.hpp"
#include "exit_code.hpp"
#include "gpu/catalogue.hpp"
#include "machine/preflight.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "studies/selftest.hpp"
#include "worker/client.hpp"

namespace attnprobe::app {
namespace {

struct SelfTestOptions {
  std::string target = "device:0", against, output;
  std::string cudnn;
  int64_t configs = 1000;
  uint64_t first_seed = 1;
  asking::PlanOptions how;
  asking::Session session;
};

gpu::Target one_target(const char* option, const std::string& word, double timeout) {
  auto targets = asking::named_targets(word, timeout);
  if (targets.size() != 1)
    throw Error(ErrorKind::usage, fmt::format("{}: \"{}\" names {} GPUs; allowed: one", option, word, targets.size()));
  return std::move(targets.front());
}

std::string summary(const studies::SelfTest& test) {
  std::string text = fmt::format("{} ({}) against {}, cuDNN {}\n{} random configs, {} engine configs: ", test.target.id,
                                 test.target.name, test.against.id, test.library.version.text(),
                                 with_commas(test.configs), with_commas(test.engine_configs));
  text += test.differences.empty()
              ? "no difference\n"
              : fmt::format("{} configs differ\n", with_commas(static_cast<int64_t>(test.differences.size())));
  text += fmt::format("{} of them supported, {} refused", with_commas(test.supported),
                      with_commas(test.configs - test.supported - test.lost));
  text += test.lost > 0 ? fmt::format(", {} crashed cuDNN's process on both\n", test.lost) : "\n";
  if (test.stopped) text += "stopped before the end\n";
  constexpr size_t most_shown = 5;
  for (size_t i = 0; i < std::min(most_shown, test.differences.size()); ++i) {
    text += fmt::format("\n{}\n", test.differences[i].config.dump());
    for (const auto& line : test.differences[i].lines) text += "    " + line + "\n";
  }
  return text;
}

int run_selftest(SelfTestOptions options) {
  check_outputs({{"--output " + options.output, options.output}},
                {{"--target " + options.target, options.target}, {"--against " + options.against, options.against}});
  const double timeout = options.how.timeout_seconds;
  std::unique_ptr<OutputFile> file;
  if (!options.output.empty()) file = std::make_unique<OutputFile>(options.output);
  const gpu::Target target = one_target("--target", options.target, timeout);
  const std::string cudnn = cudnn::choose_library(options.cudnn).path;
  std::optional<gpu::Target> own;
  if (target.kind == gpu::Kind::device) {
    own = asking::measured_device(target, worker::inspect_driver(timeout), cudnn, timeout);
    own->id = "its own properties";
  }
  const gpu::Target* twin = gpu::twin(target);
  if (options.against.empty() && twin == nullptr && !own)
    throw Error(ErrorKind::usage, fmt::format("--against: the catalogue has no entry for {}; name one", target.id));
  const gpu::Target against = !options.against.empty() ? one_target("--against", options.against, timeout)
                              : twin != nullptr        ? *twin
                                                       : *own;
  options.session.stop = stop_gently();
  Progress progress(2 * static_cast<size_t>(options.configs));
  const auto test =
      studies::selftest(target, against, options.first_seed, static_cast<size_t>(options.configs), cudnn, options.how,
                        options.session, [&](const answer::Answer& result, size_t) { progress.add(result); });
  progress.end();
  print_text(summary(test));
  if (file) {
    Json document = to_json(test);
    if (own) document["properties"] = own->properties;
    document["tool"] = report::tool_version();
    document["date"] = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
    const std::string text = json_text(document, 2) + "\n";
    file->replace(text);
    print_text(fmt::format("\nwritten to {} ({} KB); send it in to add your GPU's row to `attnprobe targets list`\n",
                           options.output, (text.size() + 1023) / 1024));
  }
  if (test.stopped) return interrupted;
  return test.differences.empty() ? all_met : not_met;
}

}  // namespace

void add_selftest(CLI::App& app, Run& run) {
  auto options = std::make_shared<SelfTestOptions>();
  auto* command = app.add_subcommand(
      "selftest", "Compare this machine's GPU with its simulated twin on random configs, in under a minute");
  command->add_option("-t,--target", options->target,
                      "the GPU; default: device:0. A simulated GPU tests a target file");
  command->add_option(
      "--against", options->against,
      "the simulated GPU to compare with; default: the GPU's entry in the catalogue, otherwise its own properties");
  command->add_option("--cudnn", options->cudnn, "libcudnn.so.9, its folder, or a version");
  command->add_option("--configs", options->configs, "number of random configs; default: 1000")
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}));
  command->add_option("--first-seed", options->first_seed, "first seed of the random configs; default: 1");
  command->add_option("-j,--jobs", options->how.jobs, "worker processes; default: the cores of the machine")
      ->check(check_jobs);
  command->add_option("--timeout", options->how.timeout_seconds, "seconds for one config on one GPU")
      ->check(check_seconds);
  command->add_option("-o,--output", options->output, "JSON file to attach to a report");
  command->callback([options, &run] { run = [options] { return run_selftest(*options); }; });
}

}  // namespace attnprobe::app
