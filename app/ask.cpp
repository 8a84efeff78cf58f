#include "ask.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "ask/by_rule.hpp"
#include "ask/chosen_libraries.hpp"
#include "ask/named_targets.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "bring_cudnn.hpp"
#include "commands.hpp"
#include "cudnn/library_info.hpp"
#include "exit_code.hpp"
#include "gpu/catalogue.hpp"
#include "machine/preflight.hpp"
#include "option_checks.hpp"
#include "progress.hpp"
#include "report/formats/format.hpp"
#include "report/model/cells.hpp"
#include "report_files.hpp"
#include "unfinished.hpp"
#include "worker/client.hpp"

namespace attnprobe::app {
namespace {

using answer::Answer;
using report::Results;

// The results, with the command's own texts.
report::Document document_of(const std::vector<asking::Answers>& all, const Work& work) {
  report::Document document;
  for (const auto& answers : all) {
    document.groups.emplace_back();
    for (const auto& result : answers.results) document.groups.back().push_back(&result);
    if (answers.library) document.library = answers.library;
  }
  const Results results = document.results();
  const auto bound = [&](const auto& text) -> std::function<std::string(const report::TextStyle&)> {
    if (!text) return {};
    return [&text, results](const report::TextStyle& style) { return text(results, style); };
  };
  document.before = bound(work.before);
  document.after = bound(work.after);
  if (work.add_to_json) document.add_to_json = [&work, results](Json& json) { work.add_to_json(json, results); };
  return document;
}

constexpr const char* how_far = "How far";  // a group of options

std::atomic<bool> stop_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

// Without SA_RESTART, so that a blocked write (to a pipe, a terminal) does not continue after the handler.
void stop_at_once() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace

void warn(const std::string& problem) {
  spdlog::warn("{}", problem);
}

bool was_stopped() {
  return stop_asked;
}

const std::atomic<bool>* stop_gently() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return &stop_asked;
}

void check_outputs(const AskOptions& options) {
  std::vector<NamedFile> outputs, inputs = options.inputs;
  if (!options.output.empty()) outputs.push_back({"--output " + options.output, options.output});
  for (const auto& word : options.reports)
    outputs.push_back({"--report " + word, word.substr(std::min(word.size(), word.find('=') + 1))});
  if (!options.errata.empty()) outputs.push_back({"--errata " + options.errata, options.errata});
  for (const auto& word : split(options.target, ','))
    if (gpu::find(word) == nullptr) inputs.push_back({"--target " + word, word});
  for (const auto& word : split(options.cudnn, ','))
    if (!word.empty()) inputs.push_back({"--cudnn " + word, word});
  check_outputs(outputs, inputs);
}

void read_modes(const std::string& list, probe::WalkOptions& walk) {
  walk.modes = asking::checked_modes(split(list, ','), "--mode");
}

std::vector<gpu::Target> choose_targets(const AskOptions& options, const std::string& otherwise) {
  if (!options.target.empty()) return asking::named_targets(options.target, options.how.timeout_seconds);
  auto targets = asking::device_targets(worker::inspect_driver(options.how.timeout_seconds));
  return targets.empty() ? gpu::simulated_targets(otherwise) : targets;
}

CudnnVersion version_for_graphs(const AskOptions& options) {
  if (const auto version = asking::version_by_rule(options.cudnn, {})) return *version;
  try {
    const gpu::Target& any = *gpu::find("h200");
    worker::Client client(any, worker::Client::Seconds(options.how.timeout_seconds));
    return client.open(asking::library_path(options.cudnn, options.how.frameworks), any).version;
  } catch (const std::exception& e) {
    const CudnnVersion newest = asking::newest_version();
    spdlog::warn("no cuDNN could be asked, so this is the graph for cuDNN {}: {}", newest.text(), e.what());
    return newest;
  }
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
  write_data(file, form == "dot" ? dots : json_text(list.size() == 1 ? list[0] : list, 2) + "\n");
}

report::TextStyle terminal_style(bool verbose) {
  report::TextStyle style;
  style.colour = wants_colour(STDOUT_FILENO);
  style.details = verbose;
  if (const auto columns = terminal_columns()) style.width = *columns;
  return style;
}

namespace {

// The words of --cudnn, one cuDNN each: a list, or all installed ones.
std::vector<std::string> cudnns_of(const AskOptions& options, const Work& work) {
  if (options.cudnn != "all" && options.cudnn.find(',') == std::string::npos) return {options.cudnn};
  if (work.after)
    throw Error(ErrorKind::usage, fmt::format("--cudnn {}: several versions; allowed here: one", options.cudnn));
  if (options.cudnn != "all") return split(options.cudnn, ',');
  std::vector<gpu::Target> targets;
  for (const auto& group : work.groups) targets.insert(targets.end(), group.targets.begin(), group.targets.end());
  std::vector<std::string> paths;
  const auto cache = asking::usual_cache(warn);
  asking::Session session = options.session;
  session.cache = cache.get();
  for (const auto& library : asking::choose_libraries({"all"}, targets, options.how, session))
    paths.push_back(library.path);
  return paths;
}

// A failing file must not discard findings from a real GPU.
bool runs_plans(const probe::WalkOptions& walk, const Work& work) {
  if (probe::executes(walk.plans)) return true;
  return walk.plans == probe::Plans::automatic &&
         std::any_of(work.groups.begin(), work.groups.end(), [](const asking::QuestionGroup& group) {
           return std::any_of(group.targets.begin(), group.targets.end(),
                              [](const gpu::Target& target) { return target.kind == gpu::Kind::device; });
         });
}

bool is_file(const std::string& output) {
  return !output.empty() && !OutputFile(output).is_stream();
}

}  // namespace

int ask(AskOptions options, const std::function<Work(const AskOptions& options)>& planned) {
  read_modes(options.modes, options.how.walk);
  options.how.frameworks = rules::choose_gates(options.frameworks, "--framework");
  ReportFiles reports(options);
  const Work work = planned(options);
  const auto plans = options.how.walk.plans;
  const auto missing = bring_cudnn({options.cudnn == "all" ? std::vector<std::string>{} : split(options.cudnn, ','),
                                    options.how.frameworks, options.fetch,
                                    plans != probe::Plans::automatic && plans != probe::Plans::none});
  if (missing) spdlog::warn("{}; answered by rule, without asking cuDNN", missing->tried);
  const std::vector<std::string> cudnns = cudnns_of(options, work);
  const size_t total = asking::cells_of(work.groups) * cudnns.size();
  std::optional<Unfinished> unfinished;
  if (options.resume || (runs_plans(options.how.walk, work) && is_file(options.output)))
    unfinished.emplace(options.output, options.resume);
  if (unfinished) options.session.finished = unfinished->findings();
  options.session.stop = stop_gently();
  options.session.on_problem = warn;
  Progress progress(total);
  reports.expect(total);
  std::vector<asking::Answers> all;
  size_t before = 0;
  for (const auto& cudnn : cudnns) {
    const auto on_result = [&](const Answer& result, size_t index) {
      progress.add(result);
      reports.add(result, before + index);
    };
    asking::Plan plan{work.groups, cudnn, options.how};
    if (missing) plan.by_rule = missing->version;
    for (auto& answers : asking::ask(plan, options.session, on_result)) all.push_back(std::move(answers));
    before += cells_of(work.groups);
  }
  progress.end();
  report::Document document = document_of(all, work);
  const Results results = document.results();
  const std::exception_ptr failure = reports.finish(document, stop_at_once);
  if (options.output.empty()) {
    document.style = terminal_style(options.verbose);
    print_data(render(format_called(options.format, "--format"), document));
  }
  if (failure) std::rethrow_exception(failure);
  if (!stop_asked) {
    if (unfinished) unfinished->remove();
    const int code = std::max(exit_code(results), work.exit_code ? work.exit_code(results) : all_met);
    return missing ? std::max<int>(code, environment_lacks) : code;
  }
  spdlog::warn("stopped: {} of {} results{}", results.size(), total, unfinished ? "; --resume continues" : "");
  return interrupted;
}

namespace {

void add_constraint_options(CLI::App& command, probe::Constraints& constraints) {
  const std::string group = "Constraints on engine configs";
  command
      .add_option_function<uint64_t>(
          "--max-workspace",
          [&constraints](const uint64_t& bytes) { constraints.max_workspace_bytes = static_cast<int64_t>(bytes); },
          "largest workspace in bytes: 0, 4096, 256M (1K is 1024 bytes)")
      ->transform(CLI::AsSizeValue(false))
      ->group(group);
  command
      .add_option("--require-note", constraints.notes,
                  "cuDNN behavior or numerical note that the engine config must have; comma-separated list, repeatable")
      ->delimiter(',')
      ->transform(one_of(probe::note_names()))
      ->group(group);
  const auto require = [&constraints](const std::string&) { constraints.deterministic = true; };
  command
      .add_option_function<std::string>(
          "--require", require,
          "deterministic: same bits in each run, because the graph requires it or because attnprobe measured it")
      ->transform(one_of({"deterministic"}))
      ->group(group);
}

}  // namespace

void add_walk_options(CLI::App& command, std::string& modes, asking::PlanOptions& how) {
  command.add_option("--mode", modes, "heuristic modes, comma-separated list of A, B, FALLBACK")->group(how_far);
  add_enum_option(
      command, "--engines", how.walk.engines,
      "heuristic: engine configs that the modes propose; all: also every engine; knobs: every engine with every knob value")
      ->group(how_far);
  how.walk.plans = probe::Plans::automatic;
  add_enum_option(
      command, "--plans", how.walk.plans,
      "none: support checks only. `first`: compile plans in turn until one works. `build`: compile each. `run`: execute, verify and time each on a real GPU. `run_first`: run only the first that compiles. `auto` (default): `run` on a real GPU; on a simulated one `first` for a single answer, otherwise none")
      ->group(how_far);
  add_constraint_options(command, how.constraints);
  command
      .add_flag(
          "--sweep,!--quick", how.walk.sweep_where_none,
          fmt::format("--sweep: if nothing works, try every engine, knob and workaround; --quick: do not; default: {}",
                      how.walk.sweep_where_none ? "--sweep" : "--quick"))
      ->group(how_far);
  command
      .add_option("--timeout", how.timeout_seconds,
                  "seconds allowed for one config on one target, and for each of its plans")
      ->check(check_seconds)
      ->group(how_far);
  command.add_option("-j,--jobs", how.jobs, "worker processes at a time; default: the cores")
      ->check(check_jobs)
      ->group(how_far);
}

void add_framework_option(CLI::App& command, std::vector<std::string>& words) {
  command
      .add_option(
          "--framework", words,
          "frameworks whose rules are checked before cuDNN: torch (its newest known release), torch==2.11, jax, te, …; comma-separated list, or all")
      ->allow_extra_args(false)
      ->group("What is asked");
}

namespace {

std::vector<run::Sanitizer> sanitizers_of(const std::vector<std::string>& words) {
  std::vector<run::Sanitizer> tools;
  for (const auto& word : words)
    if (const auto tool = parse_enum<run::Sanitizer>(word)) tools.push_back(*tool);
  if (tools.empty()) tools = {run::Sanitizer::memcheck, run::Sanitizer::racecheck, run::Sanitizer::initcheck};
  return tools;
}

}  // namespace

void add_run_options(CLI::App& command, run::RunOptions& run_options) {
  const std::string running = "Running plans";
  add_enum_option(
      command, "--data", run_options.data,
      "values of the inputs: normal, integers (sparse and small), negative_scores, far_negative, large, mask_all_true, gaps (unused tokens after each ragged sequence)")
      ->group(running);
  command.add_option("--seed", run_options.seed, "seed of the random inputs")->group(running)->check(check_seed);
  command.add_flag("!--no-verify", run_options.verify, "do not compare the outputs with the reference")->group(running);
  add_enum_option(command, "--timing", run_options.timing,
                  "standard: until the noise is below 0.5 %, at most 15 s; fast: 0.1 s per plan; none")
      ->group(running);
  command.add_flag("--hot", run_options.hot, "also time back-to-back runs with a warm L2 cache")->group(running);
  command.add_flag("--cuda-graph", run_options.cuda_graph, "also time replay from a CUDA graph")->group(running);
  command.add_option("--repeat", run_options.repeat, "further runs to compare bit by bit with the first; default: 1")
      ->check(CLI::Range(0, 1'000'000))
      ->group(running);
  command
      .add_option_function<std::vector<std::string>>(
          "--sanitize",
          [&run_options](const std::vector<std::string>& words) { run_options.sanitizers = sanitizers_of(words); },
          "also run each plan under NVIDIA's compute-sanitizer: memcheck, racecheck, initcheck, synccheck; comma-separated list; default if given without a value: the first three")
      ->delimiter(',')
      ->expected(0, static_cast<int>(names_of<run::Sanitizer>().size()))
      ->transform(one_of(names_of<run::Sanitizer>()))
      ->group(running);
}

void add_ask_options(CLI::App& command, AskOptions& options, const std::string& default_target) {
  const std::string where = "Where", output = "Output";
  command
      .add_option(
          "-t,--target", options.target,
          "device:0, device:all, ids of `attnprobe targets list`, all, representative, each-sm (one GPU of each "
          "compute capability), or a .json file; comma-separated list; default: " +
              default_target)
      ->group(where);
  command
      .add_option("--cudnn", options.cudnn,
                  "libcudnn.so.9, its folder, or a version (9.14, latest); comma-separated list, or all")
      ->group(where);
  add_fetch_option(command, options.fetch);
  add_framework_option(command, options.frameworks);
  add_walk_options(command, options.modes, options.how);
  add_run_options(command, options.how.run);
  command.add_option("-f,--format", options.format, report::format_help())
      ->transform(one_of(report::format_names()))
      ->group(output);
  auto* file = command.add_option("-o,--output", options.output, "output file; default: standard output");
  file->group(output);
  command
      .add_flag("--resume", options.resume,
                "continue an interrupted run of plans with the same -o; finished plans are not repeated")
      ->needs(file)
      ->group(output);
  command.add_option("--report", options.reports, "additional report, FORMAT=FILE; repeatable")->group(output);
  command
      .add_option(
          "--errata", options.errata,
          "file for the engine configs that crashed, hung or gave wrong results, in cudnn-frontend's errata format (CUDNN_ERRATA_JSON_FILE)")
      ->group(output);
  command.add_flag("--raw-log", options.how.walk.keep_log, "keep cuDNN's raw messages in JSON reports")->group(output);
  command.add_flag("-v,--verbose", options.verbose, "show every engine config of every result")->group(output);
}

}  // namespace attnprobe::app
