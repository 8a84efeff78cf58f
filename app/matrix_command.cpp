// attnprobe matrix: configs × GPUs × cuDNN versions.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "ask.hpp"
#include "ask/ask.hpp"
#include "ask/chosen_libraries.hpp"
#include "ask/named_targets.hpp"
#include "ask/reproduce.hpp"
#include "ask/walk_cache.hpp"
#include "attention/fields.hpp"
#include "attention/matrix_document.hpp"
#include "base/error.hpp"
#include "base/folder_lock.hpp"
#include "base/text.hpp"
#include "baseline.hpp"
#include "bring_cudnn.hpp"
#include "cache_file.hpp"
#include "commands.hpp"
#include "config_options.hpp"
#include "exit_code.hpp"
#include "gpu/catalogue.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report/formats/format.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::app {
namespace {

namespace fs = std::filesystem;

struct MatrixOptions {
  ConfigOptions configs;
  std::vector<std::string> frameworks;
  std::string targets, cudnns, out, shard, cache, title, modes = "A,B,FALLBACK";
  bool resume = false, overwrite = false, no_cache = false, suggest = false, fetch = false;
  asking::PlanOptions how;
  asking::Session session;
  BaselineOptions baseline;
};

// The origin of the configs, for messages.
std::string source_of(const ConfigOptions& configs) {
  return configs.files.empty() ? "the options" : fmt::format("{}", fmt::join(configs.files, ", "));
}

void check_names(const std::vector<attention::AttentionConfig>& configs, const std::string& source) {
  std::set<std::string> seen;
  for (const auto& config : configs)
    if (!seen.insert(config.spec.name).second)
      throw Error(ErrorKind::usage, fmt::format("{}: two configs are called \"{}\"; names in a matrix must be unique",
                                                source, config.spec.name));
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

struct Shard {
  size_t index = 1, count = 1;
};

Shard read_shard(const std::string& text) {
  if (text.empty()) return {};
  const auto parts = split(text, '/');
  auto number = [](const std::string& word) -> size_t {
    const bool good = !word.empty() && word.size() < 6 && word.find_first_not_of("0123456789") == std::string::npos;
    return good ? std::stoul(word) : 0;
  };
  const Shard shard{number(parts[0]), parts.size() == 2 ? number(parts[1]) : 0};
  if (shard.index == 0 || shard.index > shard.count)
    throw Error(ErrorKind::usage, fmt::format("--shard: \"{}\" is not a shard; allowed: i/n with i from 1 to n", text));
  return shard;
}

std::string command_of(const MatrixOptions& options, const std::vector<std::string>& targets,
                       const std::vector<std::string>& cudnns) {
  std::string command = "attnprobe matrix";
  for (const auto& file : options.configs.files) command += " " + shell_word(file);
  command += field_words(options.configs);
  command += " --target " + shell_word(joined(targets)) + " --cudnn " + shell_word(joined(cudnns));
  return command + asking::options_text(options.how, false);
}

std::vector<std::string> or_else(const std::string& list, std::vector<std::string> of_files,
                                 const std::string& otherwise) {
  if (!list.empty()) return split(list, ',');
  if (!of_files.empty()) return of_files;
  return {otherwise};
}

fs::path make_folder(const std::string& out) {
  std::error_code failed;
  fs::create_directories(out, failed);
  if (failed || !fs::is_directory(out))
    throw Error(ErrorKind::usage, fmt::format("--out {}: cannot create the folder: {}", out, failed.message()));
  return out;
}

// A results folder, locked for this process.
struct OutFolder {
  explicit OutFolder(const std::string& out) : path(make_folder(out)), lock(path) {
    if (!lock.problem().empty()) spdlog::warn("--out {}", lock.problem());
  }

  fs::path path;
  FolderLock lock;
};

report::CellLog::Present present_cells(const MatrixOptions& options) {
  using Present = report::CellLog::Present;
  if (options.overwrite) return Present::replace;
  return options.resume ? Present::resume : Present::refuse;
}

// The cells that this run could not ask, with the first reason.
class Broken {
 public:
  void add(const answer::Answer& result) {
    if (!result.environment_broken) return;
    const std::lock_guard lock(mutex_);
    if (count_++ == 0 && result.root_cause) why_ = result.root_cause->explanation;
  }
  void say() const {
    if (count_ == 0) return;
    spdlog::error("{} cells have no answer: {}; --resume retries them", count_,
                  why_.empty() ? "environment problem" : why_);
  }

 private:
  size_t count_ = 0;
  std::string why_;
  std::mutex mutex_;
};

// Results that failed because of the environment are dropped and asked again.
void collect_finished(report::CellLog& log, report::CellCollector& cells) {
  std::vector<asking::CellPlace> broken;
  log.read_each([&](const asking::CellPlace& place, const JsonView& cell) {
    if (cell.boolean_or("environment_broken", false))
      broken.push_back(place);
    else
      cells.add(place, cell);
  });
  log.forget(broken);
  if (!broken.empty()) spdlog::info("retrying {} cells that failed because of this machine", broken.size());
}

// The destination of results: a folder, or the table in memory if only --baseline is used.
struct Gathered {
  Gathered(const MatrixOptions& options, const report::CellHeader& header) : cells(header.axes) {
    if (options.out.empty()) return;
    folder.emplace(options.out);
    log.emplace(folder->path / "cells.jsonl", header, present_cells(options));
    collect_finished(*log, cells);
  }
  void add(const asking::CellPlace& place, const answer::Answer& result) {
    const Json cell = report::cell_json(result);
    if (log) log->add(place, json_text(cell));
    cells.add(place, JsonView(cell, {.name = "cell", .kind = ErrorKind::internal}));
  }

  std::optional<OutFolder> folder;
  std::optional<report::CellLog> log;
  report::CellCollector cells;
};

std::vector<bool> expectations_of(const std::vector<answer::Question>& questions) {
  std::vector<bool> given;
  given.reserve(questions.size());
  for (const auto& question : questions) given.push_back(question.config.spec.expect.is_given);
  return given;
}

// The plan's one group has the cuDNNs of the header.
int run_and_report(const MatrixOptions& options, const Shard& shard, asking::Plan plan,
                   const report::CellHeader& header) {
  std::optional<Baseline> baseline;
  if (options.baseline.is_wanted())
    baseline.emplace(options.baseline, std::string(trim(asking::options_text(options.how, false))),
                     options.configs.files);
  Gathered results(options, header);
  asking::QuestionGroup& group = plan.groups.front();
  auto places = asking::shard_of(asking::places_of(group), shard.index, shard.count);
  const size_t all = places.size();
  if (results.log) std::erase_if(places, [&](const auto& place) { return results.log->has(place); });
  if (places.size() < all) spdlog::info("{} of {} cells were already done", all - places.size(), all);
  Progress progress(places.size());
  asking::Session session = options.session;
  session.stop = stop_gently();
  Broken broken;
  group.cells = places;
  if (options.suggest) plan.suggest = {.most = 2, .compile = false};
  asking::ask(plan, session, [&](const answer::Answer& result, size_t index) {
    results.add(places[index], result);
    progress.add(result);
    broken.add(result);
  });
  progress.end();
  broken.say();
  const report::CellTable table = results.cells.take();
  print_text(cells_summary(table) + "\n");
  if (results.log) {
    results.log->sort();
    write_matrix_reports(results.folder->path, *results.log, table);
    print_text((results.folder->path / "index.html").string() + "\n");
  }
  if (*session.stop) {
    spdlog::warn("stopped: {} of {} cells{}", table.cells.size(), all, results.log ? "; --resume continues" : "");
    return interrupted;
  }
  return baseline ? baseline->finish(table, expectations_of(group.questions), options.out) : exit_code(table);
}

std::vector<gpu::Target> targets_of(const MatrixOptions& options, const std::vector<std::string>& words) try {
  return asking::named_targets(joined(words), options.how.timeout_seconds);
} catch (const Error& e) {
  if (!options.targets.empty()) throw;
  throw Error(e.kind(), fmt::format("{}: \"targets\": {}", source_of(options.configs), e.what()));
}

void check_baseline(const MatrixOptions& options) {
  if (options.out.empty() && !options.baseline.is_wanted())
    throw Error(ErrorKind::usage, "no output is selected; allowed: --out FOLDER, --baseline FILE, or both");
  if (options.baseline.update && !options.shard.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format("--update: not allowed with --shard {}, which asks only a part of the matrix", options.shard));
}

// Checks everything before it changes the folder.
int matrix(MatrixOptions options) {
  check_baseline(options);
  read_modes(options.modes, options.how.walk);
  const Shard shard = read_shard(options.shard);
  if (!options.configs.given())
    throw Error(ErrorKind::usage,
                "no config; allowed: config files, or a problem such as --heads 12 --seqlen 512 --head-dim 64");
  const attention::MatrixDocument files =
      attention::load_matrix_documents(options.configs.files, options.configs.overrides);
  check_names(files.configs, source_of(options.configs));
  const auto target_words = or_else(options.targets, files.targets, "representative");
  asking::QuestionGroup group;
  options.how.frameworks = rules::choose_gates(
      options.frameworks.empty() ? files.frameworks : options.frameworks,
      options.frameworks.empty() ? fmt::format("{}: \"framework\"", source_of(options.configs)) : "--framework");
  group.questions = asking::questions_of(files.configs);
  adopt_frontend(group.questions, options.how.frameworks);
  group.targets = targets_of(options, target_words);
  asking::check_expectations(files.configs, group.targets);
  options.session.on_problem = warn;
  std::unique_ptr<asking::WalkCache> cache;
  const fs::path kept = cache_file(options.cache);
  if (!options.no_cache && kept.empty()) {
    spdlog::warn("answers are not cached: {}", no_cache_file);
  } else if (!options.no_cache) {
    // A named cache must work; without the default cache, answers only take longer.
    cache = options.cache.empty() ? asking::usual_cache(warn) : std::make_unique<asking::WalkCache>(kept, warn);
    options.session.cache = cache.get();
  }
  const auto cudnn_words = or_else(options.cudnns, files.cudnns, "");
  require_cudnn({cudnn_words, options.how.frameworks, options.fetch, false});
  const auto libraries = asking::choose_libraries(cudnn_words, group.targets, options.how, options.session);
  std::vector<std::string> versions;
  for (const auto& library : libraries) {
    versions.push_back(library.version.text());
    group.cudnns.push_back(library.path);
  }
  if (options.title.empty())
    options.title = options.configs.files.empty() ? files.configs.front().spec.name
                                                  : fs::path(options.configs.files.front()).stem().string();
  const auto header =
      report::header_of(group, libraries, options.how, options.title, command_of(options, target_words, versions));
  asking::Plan plan{.groups = {std::move(group)},
                    .options = options.how,
                    .further = asking::Further::nothing,
                    .cached = true,
                    .keeps = false};
  return run_and_report(options, shard, std::move(plan), header);
}

}  // namespace

void add_matrix(CLI::App& app, Run& run) {
  auto options = std::make_shared<MatrixOptions>();
  options->how.walk.sweep_where_none = false;
  auto* command = app.add_subcommand(
      "matrix", "Ask about configs on many GPUs with many cuDNN versions; write a folder of reports with an HTML page");
  command->add_option(
      "FILE", options->configs.files,
      "config documents, or patterns of them; a document may also set \"targets\", \"cudnn\", \"framework\" and \"config_files\" (patterns relative to its folder)");
  add_field_options(*command, options->configs);
  command
      ->add_option(
          "-t,--target", options->targets,
          "device:0, device:all, ids, all, representative, each-sm, or .json files; comma-separated list; default: the files', otherwise representative")
      ->group("Where");
  command
      ->add_option(
          "--cudnn", options->cudnns,
          "libraries, folders or versions (9.14: the newest installed 9.14; latest), comma-separated list, or all; default: the files', otherwise the one that `attnprobe` uses")
      ->group("Where");
  add_fetch_option(*command, options->fetch);
  add_framework_option(*command, options->frameworks);
  add_walk_options(*command, options->modes, options->how);
  add_run_options(*command, options->how.run);
  command
      ->add_flag(
          "--suggest", options->suggest,
          "find two changes that pass cuDNN's support check for each refused cell; asks about 30 more questions per cell")
      ->group("How far");
  const std::string output = "Output";
  auto* out = command->add_option("-o,--output,--out", options->out,
                                  "folder for cells.jsonl and the reports; needed without --baseline");
  out->group(output);
  command->add_option("--title", options->title, "title of the page; default: the first file's name")->group(output);
  command
      ->add_option("--shard", options->shard,
                   "i/n: ask only the i-th of n equal parts; `attnprobe matrix merge` joins them")
      ->group(output);
  auto* resume = command->add_flag("--resume", options->resume,
                                   "resume an interrupted run and retry cells that failed for environment reasons");
  resume->needs(out)->group(output);
  command->add_flag("--overwrite", options->overwrite, "replace the cells in --out")
      ->excludes(resume)
      ->needs(out)
      ->group(output);
  command
      ->add_option("--cache", options->cache,
                   "file of cached answers; default: " + asking::default_cache_file().string())
      ->group(output);
  command->add_flag("--no-cache", options->no_cache, "ask cuDNN about every cell; do not use the cache")->group(output);
  add_baseline_options(*command, options->baseline);
  command->callback([options, &run] { run = [options] { return matrix(*options); }; });
}

void add_merge(CLI::App& app, Run& run) {
  struct Options {
    std::vector<std::string> inputs;
    std::string out, title;
    bool allow_missing = false, overwrite = false;
  };
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("merge", "Merge shards of a matrix or reports of `attnprobe` into one report");
  command->add_option("REPORT", options->inputs, "folders of `attnprobe matrix`, their cells.jsonl, or JSON reports")
      ->required();
  command->add_option("-o,--output,--out", options->out, "folder for the reports; it may be one of the merged folders")
      ->required();
  command->add_flag("--overwrite", options->overwrite, "replace the cells in --out that are not merged");
  command->add_option("--title", options->title, "title of the page; default: the first report's title");
  command->add_flag("--allow-missing", options->allow_missing, "do not fail if cells are missing");
  command->callback([options, &run] {
    run = [options]() -> int {
      const OutFolder folder(options->out);
      const report::Merged merged =
          report::merge_cells({options->inputs.begin(), options->inputs.end()}, folder.path / "cells.jsonl",
                              options->title, options->overwrite);
      if (merged.conflicts > 0)
        spdlog::warn("{} cells are in several reports and differ; the last one is used", merged.conflicts);
      if (!merged.differing.empty())
        spdlog::warn("{}{} differs between these", merged.differing.front(),
                     merged.differing.size() == 1 ? "" : fmt::format(" (and {} more)", merged.differing.size() - 1));
      const report::CellLog log(folder.path / "cells.jsonl");
      const report::CellTable& table = merged.table;
      write_matrix_reports(folder.path, log, table);
      print_text(fmt::format("{}\n{}\n", cells_summary(table), (folder.path / "index.html").string()));
      const report::MatrixAxes& axes = log.axes();
      const size_t all = axes.configs.size() * axes.targets.size() * axes.cudnns.size();
      if (log.size() == all || options->allow_missing) return exit_code(table);
      spdlog::error(
          "{} of the matrix's {} cells are missing: was a shard omitted or stopped? --allow-missing merges anyway",
          all - log.size(), all);
      return environment_lacks;
    };
  });
}

}  // namespace attnprobe::app
