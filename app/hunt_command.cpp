// attnprobe dev hunt: runs random configs with many cuDNNs, and reduces unexpected failures and finds their regions.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "ask.hpp"
#include "ask/chosen_libraries.hpp"
#include "ask/named_targets.hpp"
#include "base/error.hpp"
#include "base/input.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "studies/hunt/hunt_report.hpp"

namespace attnprobe::app {
namespace {

namespace fs = std::filesystem;

struct HuntCommand {
  std::string target = "device:0", cudnn, out, seeds = "1:2000";
  bool resume = false, census_only = false;
  hunt::HuntOptions hunt;
};

// "FIRST:COUNT".
void read_seeds(const std::string& text, hunt::HuntOptions& options) {
  const auto parts = split(text, ':');
  try {
    if (parts.size() != 2) throw std::invalid_argument(text);
    options.first_seed = std::stoull(parts[0]);
    options.count = std::stoull(parts[1]);
  } catch (const std::logic_error&) {
    throw Error(ErrorKind::usage, fmt::format("--seeds: \"{}\" is not FIRST:COUNT; allowed: 1:2000", text));
  }
}

// A killed run can leave an incomplete last line. It is ignored, and its config is asked again.
std::vector<hunt::Trial> trials_in(const fs::path& file) {
  std::vector<hunt::Trial> trials;
  std::ifstream input(file);
  for (std::string line; std::getline(input, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_discarded()) trials.push_back(json.get<hunt::Trial>());
  }
  return trials;
}

// A cuDNN that does not load does not stop the others.
std::vector<cudnn::LibraryInfo> libraries_of(const HuntCommand& command, const std::vector<gpu::Target>& targets) {
  std::vector<cudnn::LibraryInfo> libraries;
  std::optional<Error> failure;
  for (const auto& word : command.cudnn.empty() ? std::vector<std::string>{""} : split(command.cudnn, ',')) try {
      for (auto& library : asking::choose_libraries({word}, targets, command.hunt.how, command.hunt.session))
        libraries.push_back(std::move(library));
    } catch (const Error& e) {
      warn(e.what());
      failure = e;
    }
  if (libraries.empty()) throw *failure;
  std::stable_sort(libraries.begin(), libraries.end(),
                   [](const auto& a, const auto& b) { return a.version < b.version; });
  return libraries;
}

int run_hunt(HuntCommand command) {
  const fs::path folder = command.out;
  const fs::path trials = folder / "trials.jsonl";
  if (!command.resume && fs::exists(trials))
    throw Error(ErrorKind::usage,
                fmt::format("--out {}: contains another hunt; allowed: --resume, or a new folder", command.out));
  read_seeds(command.seeds, command.hunt);
  auto& how = command.hunt.how;
  const auto targets = asking::named_targets(command.target, how.timeout_seconds);
  if (targets.size() != 1 || targets.front().kind != gpu::Kind::device)
    throw Error(ErrorKind::usage,
                fmt::format("--target {}: a hunt runs plans on one real GPU; allowed: device:0", command.target));
  command.hunt.session.on_problem = warn;
  const auto libraries = libraries_of(command, targets);
  fs::create_directories(folder);
  command.hunt.before = trials_in(trials);
  std::ofstream kept(trials, std::ios::app);
  command.hunt.on_trial = [&](const hunt::Trial& trial) { kept << json_text(Json(trial)) << "\n" << std::flush; };
  command.hunt.on_step = [](const std::string& words) { fmt::print(stderr, "{}\n", words); };
  command.hunt.fences = !command.census_only;
  command.hunt.session.stop = stop_gently();
  const auto found = hunt::hunt(targets.front(), libraries, command.hunt);
  OutputFile((folder / "hunt.json").string()).replace(json_text(to_json(found), 2) + "\n");
  const std::string page = page_of(found);
  OutputFile((folder / "hunt.md").string()).replace(page);
  print_text(page);
  if (*command.hunt.session.stop) return interrupted;
  return found.classes.empty() && found.unexplained.empty() ? all_met : wrong_result;
}

}  // namespace

void add_hunt(CLI::App& dev, Run& run) {
  auto options = std::make_shared<HuntCommand>();
  auto* command = dev.add_subcommand(
      "hunt",
      "Run random configs with many cuDNN versions on a real GPU; reduce unwarned failures and find their conditions");
  command->add_option("-t,--target", options->target, "the GPU; default: device:0");
  command->add_option("--cudnn", options->cudnn, "versions, folders or libraries; comma-separated list, or all");
  command->add_option("--seeds", options->seeds, "seeds of the random configs, FIRST:COUNT; default: 1:2000");
  command->add_option("-o,--output,--out", options->out, "folder for trials.jsonl, hunt.json and hunt.md")->required();
  command->add_flag("--resume", options->resume, "resume an interrupted hunt in --out");
  command->add_flag("--census", options->census_only, "only run the random configs");
  command->add_option("--seconds", options->hunt.seconds, "start no new work after this time; default: no limit")
      ->check(check_seconds);
  command->add_option("--timeout", options->hunt.how.timeout_seconds, "seconds for one config")->check(check_seconds);
  command->add_option("-j,--jobs", options->hunt.how.jobs, "worker processes at a time")->check(check_jobs);
  options->hunt.how.timeout_seconds = 30;
  command->footer(
      "Exit codes: 0 a warning covers every failure, 2 bad command line, 3 no GPU or cuDNN, 5 failures without a warning.");
  command->callback([options, &run] { run = [options] { return run_hunt(*options); }; });
}

void add_dev(CLI::App& app, Run& run) {
  auto* dev = app.add_subcommand("dev", "For work on attnprobe and cuDNN");
  dev->require_subcommand(1);
  add_hunt(*dev, run);
}

}  // namespace attnprobe::app
