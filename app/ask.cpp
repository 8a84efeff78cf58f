#include "ask.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>

#include "base/output_file.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "campaign/preflight.hpp"
#include "commands.hpp"
#include "cudnn/library_info.hpp"
#include "exit_code.hpp"
#include "gpu/catalogue.hpp"
#include "libraries.hpp"
#include "report/model/cells.hpp"
#include "report/model/errata.hpp"
#include "worker/client.hpp"
#include "worker/run_plans.hpp"

namespace attnprobe::app {
namespace {

using campaign::Result;
using report::Format;
using report::Results;

// A report file and the format that goes into it.
struct ReportFile {
  Format format;
  std::unique_ptr<OutputFile> file;
};

void add_devices(std::vector<gpu::Target>& targets, const std::string& word, double timeout_seconds) {
  const auto driver = campaign::inspect_driver(timeout_seconds);
  const auto devices = campaign::device_targets(driver);
  if (devices.empty())
    throw Error(ErrorKind::environment,
                fmt::format("--target {}: {}; name a simulated GPU instead (`attnprobe targets list`)", word,
                            driver.problem.empty() ? "no GPU" : driver.problem));
  if (word == "device:all") {
    targets.insert(targets.end(), devices.begin(), devices.end());
    return;
  }
  for (const auto& device : devices)
    if (device.id == word) {
      targets.push_back(device);
      return;
    }
  throw Error(ErrorKind::usage, fmt::format("--target: there is no {}; allowed: device:0 to device:{}, device:all",
                                            word, devices.size() - 1));
}

// All that a report says.
struct Answers {
  std::vector<Results> groups;
  std::optional<cudnn::LibraryInfo> library;
  const Work* work = nullptr;  // null while results are still coming

  Results results() const {
    Results all;
    for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
    return all;
  }
};

std::string render(Format format, const Answers& answers, const report::TextStyle& style) {
  const Results results = answers.results();
  const Work nothing;
  const Work& work = answers.work != nullptr ? *answers.work : nothing;
  if (format == Format::json) {
    Json json = report::report_json(results, answers.library);
    if (work.add_to_json) work.add_to_json(json, results);
    return json_text(json, 2) + "\n";
  }
  if (format == Format::csv || format == Format::junit || format == Format::md || format == Format::html) {
    const auto table = report::cells_of_report(report::report_json(results, answers.library));
    return report::render_cells(format, table);
  }
  std::string text;
  if (format == Format::jsonl) {
    for (const Result* result : results) text += json_text(report::to_json(*result)) + "\n";
    return text;
  }
  if (work.before) text += work.before(results, style);
  for (const auto& group : answers.groups) text += report::text_report(group, answers.library, style) + "\n";
  text.pop_back();
  if (work.after) text += "\n" + work.after(results, style);
  return text;
}

std::vector<ReportFile> open_reports(const AskOptions& options) {
  std::vector<ReportFile> files;
  for (const auto& word : options.reports) {
    const size_t equals = word.find('=');
    const auto format = parse_enum<Format>(word.substr(0, equals));
    if (equals == std::string::npos || !format)
      throw Error(ErrorKind::usage, fmt::format("--report: \"{}\" is not FORMAT=FILE; allowed formats: {}", word,
                                                quoted_list(names_of<Format>())));
    files.push_back({*format, std::make_unique<OutputFile>(word.substr(equals + 1))});
  }
  if (!options.output.empty())
    files.push_back({parse_enum<Format>(options.format).value(), std::make_unique<OutputFile>(options.output)});
  return files;
}

// Results as they come: progress on a terminal, report files rewritten at most once a second.
class Progress {
 public:
  Progress(size_t total, std::vector<ReportFile>& files)
      : results_(total), files_(files), on_terminal_(isatty(STDERR_FILENO) == 1) {}

  void add(const Result& result, size_t index, size_t done) {
    results_[index] = &result;
    if (on_terminal_)
      fmt::print(stderr, "\r\x1b[K[{}/{}] {} on {}: {}", done, results_.size(), result.config.spec.name,
                 result.target.id, name_of(result.verdict));
    const auto now = std::chrono::steady_clock::now();
    if (now - last_write_ < std::chrono::seconds(1)) return;
    last_write_ = now;
    write({{finished()}, {}});
  }

  void write(const Answers& answers) {
    for (auto& [format, file] : files_) file->replace(render(format, answers, {}));
  }

  void end() const {
    if (on_terminal_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  Results finished() const {
    Results results;
    for (const Result* result : results_)
      if (result != nullptr) results.push_back(result);
    return results;
  }

  Results results_;
  std::vector<ReportFile>& files_;
  bool on_terminal_;
  std::chrono::steady_clock::time_point last_write_ = std::chrono::steady_clock::now();
};

// Where some target is a GPU of this machine, simulated ones beside it get as far as they can.
void check_can_run(const AskOptions& options, const std::vector<QuestionGroup>& groups) {
  if (options.campaign.walk.plans != name_of(probe::Plans::run) || worker::test_plans_asked()) return;
  for (const auto& group : groups)
    for (const auto& t : group.targets)
      if (t.kind == gpu::Kind::device) return;
  throw Error(ErrorKind::usage,
              "--plans run: every target is simulated, and a GPU that is not there runs nothing; allowed: none, "
              "build, or a --target device:0");
}

constexpr const char* how_far = "How far";  // a group of options

std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

size_t size_of(const std::vector<QuestionGroup>& groups) {
  size_t count = 0;
  for (const auto& group : groups) count += group.questions.size() * group.targets.size();
  return count;
}

}  // namespace

const std::atomic<bool>* stop_gently() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &stop_asked;
}

void read_modes(const std::string& list, probe::WalkOptions& walk) {
  const auto modes = split(list, ',');
  for (const auto& mode : modes)
    if (mode != "A" && mode != "B" && mode != "FALLBACK")
      throw Error(ErrorKind::usage, fmt::format("--mode: \"{}\" is no heuristic mode; allowed: A, B, FALLBACK", mode));
  walk.modes = modes;
}

std::vector<gpu::Target> choose_targets(const AskOptions& options, const std::string& otherwise) {
  if (!options.target.empty()) return named_targets(options.target, options.campaign.timeout_seconds);
  auto targets = campaign::device_targets(campaign::inspect_driver(options.campaign.timeout_seconds));
  return targets.empty() ? gpu::simulated_targets(otherwise) : targets;
}

std::vector<gpu::Target> named_targets(const std::string& list, double timeout_seconds) {
  std::vector<gpu::Target> targets;
  for (const auto& word : split(list, ',')) {
    if (word.rfind("device:", 0) == 0) {
      add_devices(targets, word, timeout_seconds);
      continue;
    }
    for (auto& t : gpu::simulated_targets(word)) targets.push_back(std::move(t));
  }
  return targets;
}

CudnnVersion version_for_graphs(const AskOptions& options) {
  try {
    const gpu::Target& any = *gpu::find("h200");
    worker::Client client(any, worker::Client::Seconds(options.campaign.timeout_seconds));
    return client.open(library_path(options.cudnn, options.campaign), any).version;
  } catch (const std::exception& e) {
    constexpr CudnnVersion newest_checked{9, 19, 0};
    spdlog::warn("the graph is drawn as for cuDNN {}, since none could be asked: {}", newest_checked.text(), e.what());
    return newest_checked;
  }
}

void write_output(const std::string& file, const std::string& text) {
  if (file.empty())
    fmt::print("{}", text);
  else
    OutputFile(file).replace(text);
}

void write_graphs(const std::string& file, const std::string& form, const std::vector<NamedGraph>& graphs) {
  Json list = Json::array();
  std::string dots;
  for (const auto& named : graphs) {
    dots += graph::to_dot(named.graph, named.name + ": " + named.description);
    Json json = to_json(named.graph);
    json["name"] = named.name;
    json["hash"] = graph::hash(named.graph);
    list.push_back(std::move(json));
  }
  write_output(file, form == "dot" ? dots : (list.size() == 1 ? list[0] : list).dump(2) + "\n");
}

report::TextStyle terminal_style(bool verbose) {
  report::TextStyle style;
  style.colour = wants_colour(STDOUT_FILENO);
  style.details = verbose;
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40)
    style.width = std::min<size_t>(size.ws_col, 140);
  return style;
}

int ask(AskOptions options, const std::function<Work(const AskOptions& options)>& plan) {
  read_modes(options.modes, options.campaign.walk);
  auto files = open_reports(options);
  std::unique_ptr<OutputFile> errata;
  if (!options.errata.empty()) errata = std::make_unique<OutputFile>(options.errata);
  const Work work = plan(options);
  check_can_run(options, work.groups);
  options.campaign.cudnn = library_path(options.cudnn, options.campaign);

  options.campaign.stop = stop_gently();
  Progress progress(size_of(work.groups), files);
  Answers answers;
  answers.work = &work;
  std::vector<campaign::CampaignResult> campaigns;  // the answers point into them
  size_t before = 0;
  for (const auto& group : work.groups) {
    campaigns.push_back(campaign::run_campaign(
        group.questions, group.targets, options.campaign,
        [&](const Result& result, size_t index, size_t done) { progress.add(result, before + index, before + done); }));
    before += group.questions.size() * group.targets.size();
    if (campaigns.back().library) answers.library = campaigns.back().library;
  }
  progress.end();
  for (const auto& campaign : campaigns) {
    answers.groups.emplace_back();
    for (const auto& result : campaign.results) answers.groups.back().push_back(&result);
  }
  const Results results = answers.results();
  progress.write(answers);
  if (errata) errata->replace(json_text(report::errata(results), 2) + "\n");
  if (options.output.empty())
    fmt::print("{}", render(parse_enum<Format>(options.format).value(), answers, terminal_style(options.verbose)));
  if (!stop_asked) return std::max(exit_code(results), work.exit_code ? work.exit_code(results) : all_met);
  spdlog::warn("stopped: {} of {} results", results.size(), size_of(work.groups));
  return interrupted;
}

void add_walk_options(CLI::App& command, std::string& modes, campaign::CampaignOptions& campaign) {
  command.add_option("--mode", modes, "heuristic modes, comma list of A, B, FALLBACK")->group(how_far);
  command
      .add_option("--engines", campaign.walk.engines,
                  "heuristic: what the modes propose; all: every engine too; knobs: every engine with every knob "
                  "value")
      ->check(CLI::IsMember(names_of<probe::Engines>()))
      ->group(how_far);
  command
      .add_option(
          "--plans", campaign.walk.plans,
          "none; build: compile each plan; run: execute, verify and time each on a real GPU; default: run on a real "
          "GPU, none on a simulated one")
      ->check(CLI::IsMember(names_of<probe::Plans>()))
      ->group(how_far);
  command
      .add_option("--timeout", campaign.timeout_seconds,
                  "seconds for one config on one target, and for each of its plans")
      ->check(CLI::PositiveNumber)
      ->group(how_far);
  command.add_option("--jobs", campaign.jobs, "worker processes at a time; default: the cores")
      ->check(CLI::PositiveNumber)
      ->group(how_far);
}

void add_run_options(CLI::App& command, run::RunOptions& run_options) {
  const std::string running = "Running plans";
  command
      .add_option("--data", run_options.data,
                  "what inputs hold: normal, integers (sparse and small), negative_scores, large, mask_all_true")
      ->check(CLI::IsMember(names_of<run::DataRegime>()))
      ->group(running);
  command.add_option("--seed", run_options.seed, "of the random inputs")->group(running);
  command.add_flag("!--no-verify", run_options.verify, "do not compare the outputs with the reference")->group(running);
  command
      .add_option("--timing", run_options.timing,
                  "standard: until the noise is below 0.5 %, 15 s at most; fast: 0.1 s a plan; none")
      ->check(CLI::IsMember(names_of<run::Timing>()))
      ->group(running);
  command.add_flag("--hot", run_options.hot, "time back-to-back runs with a warm L2 too")->group(running);
  command.add_flag("--cuda-graph", run_options.cuda_graph, "time the replay from a CUDA graph too")->group(running);
  command.add_option("--repeat", run_options.repeat, "runs whose bits are compared with the first; default: 1")
      ->check(CLI::NonNegativeNumber)
      ->group(running);
}

void add_ask_options(CLI::App& command, AskOptions& options, const std::string& default_target) {
  options.campaign.walk.plans = "auto";
  const std::string where = "Where", output = "Output";
  command
      .add_option("--target", options.target,
                  "device:0, device:all, ids of `attnprobe targets list`, all, representative, or a .json file; comma "
                  "list; default: " +
                      default_target)
      ->group(where);
  command.add_option("--cudnn", options.cudnn, "libcudnn.so.9, a folder that holds it, or a version (9.14)")
      ->group(where);
  add_walk_options(command, options.modes, options.campaign);
  command
      .add_flag("!--quick", options.campaign.walk.sweep_where_none,
                "where nothing works, look no further: no other engines, no advice")
      ->group(how_far);
  add_run_options(command, options.campaign.run);
  command.add_option("--format", options.format, "table, json, jsonl, csv, junit, md or html")
      ->check(CLI::IsMember(names_of<Format>()))
      ->group(output);
  command.add_option("-o,--output", options.output, "file for it; default: standard output")->group(output);
  command.add_option("--report", options.reports, "further reports, FORMAT=FILE")->group(output);
  command
      .add_option("--errata", options.errata,
                  "file for the engine configs that crashed, hung or computed something wrong, in cudnn-frontend's "
                  "errata format (CUDNN_ERRATA_JSON_FILE)")
      ->group(output);
  command.add_flag("--raw-log", options.campaign.walk.keep_log, "keep cuDNN's raw messages in JSON reports")
      ->group(output);
  command.add_flag("-v,--verbose", options.verbose, "every engine config of every result")->group(output);
}

}  // namespace attnprobe::app
