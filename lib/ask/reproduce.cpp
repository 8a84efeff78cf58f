#include "ask/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/text.hpp"
#include "cudnn/library_files.hpp"

namespace attnprobe::asking {
namespace {

constexpr std::string_view target_option = " --target ", cudnn_option = " --cudnn ";

// The command-line options that differ from their defaults.
class Options {
 public:
  template <class T>
  void add(const char* option, const T& value, const T& otherwise) {
    if (value == otherwise) return;
    if constexpr (std::is_enum_v<T>)
      text_ += fmt::format(" {} {}", option, name_of(value));
    else
      text_ += fmt::format(" {} {}", option, value);
  }
  void add_flag(const char* option, bool given) {
    if (given) text_ += fmt::format(" {}", option);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string command_of(const Question& question) {
  if (!question.command.empty()) return question.command;
  return question.given ? question.given->command : "attnprobe " + to_options(question.config.spec);
}

}  // namespace

std::string options_text(const PlanOptions& options, bool sweeps_by_default) {
  const PlanOptions defaults;
  const probe::WalkOptions& walk = options.walk;
  const run::RunOptions &run = options.run, &usual = defaults.run;
  Options text;
  if (walk.modes != defaults.walk.modes)
    text.add("--mode", fmt::format("{}", fmt::join(walk.modes, ",")), std::string());
  text.add("--engines", walk.engines, defaults.walk.engines);
  text.add("--plans", walk.plans, probe::Plans::automatic);
  const probe::Constraints& constraints = options.constraints;
  if (constraints.max_workspace_bytes) text.add("--max-workspace", *constraints.max_workspace_bytes, int64_t{-1});
  for (const auto& note : constraints.notes) text.add("--require-note", note, std::string());
  if (constraints.deterministic) text.add("--require", std::string("deterministic"), std::string());
  text.add("--timeout", options.timeout_seconds, defaults.timeout_seconds);
  text.add_flag("--quick", sweeps_by_default && !walk.sweep_where_none);
  text.add_flag("--sweep", !sweeps_by_default && walk.sweep_where_none);
  text.add("--data", run.data, usual.data);
  text.add("--seed", run.seed, usual.seed);
  text.add_flag("--no-verify", !run.verify);
  text.add("--timing", run.timing, usual.timing);
  text.add_flag("--hot", run.hot);
  text.add_flag("--cuda-graph", run.cuda_graph);
  text.add("--repeat", run.repeat, usual.repeat);
  text.add_flag("--raw-log", walk.keep_log);
  if (!options.frameworks.empty()) text.add("--framework", rules::words_of(options.frameworks), std::string());
  return text.take();
}

std::string cudnn_word(const std::string& path, CudnnVersion version) {
  if (!version.is_known()) return path;
  const std::string word = version.text();
  try {
    const std::string named = cudnn::choose_library(word).path;
    return named == path || cudnn::build_of_library(named) == cudnn::build_of_library(path) ? word : path;
  } catch (const Error&) {
    return path;  // no such version is found, or its files cannot be compared
  }
}

std::optional<std::string> LibraryWords::find(const std::string& path, CudnnVersion version) const {
  constexpr std::chrono::seconds fresh(10);
  const auto entry = entries_.find({path, version});
  if (entry == entries_.end() || std::chrono::steady_clock::now() - entry->second.time > fresh) return std::nullopt;
  return entry->second.word;
}

std::optional<std::string> LibraryWords::known(const std::string& path, CudnnVersion version) {
  const std::lock_guard lock(mutex_);
  return find(path, version);
}

// Concurrent callers wait for the caller that searches.
std::string LibraryWords::word(const std::string& path, CudnnVersion version) {
  const std::lock_guard lock(mutex_);
  if (auto known = find(path, version)) return *known;
  std::string word = cudnn_word(path, version);
  entries_[{path, version}] = {word, std::chrono::steady_clock::now()};
  return word;
}

std::string question_command(const Question& question, const PlanOptions& options) {
  return command_of(question) + options_text(options, true);
}

std::string question_command(const attention::AttentionSpec& spec, const PlanOptions& options) {
  return "attnprobe " + to_options(spec) + options_text(options, true);
}

std::string joined_command(const CommandParts& parts) {
  return fmt::format("{}{}{}{}{}", parts.question, target_option, parts.target, cudnn_option, parts.cudnn);
}

std::string reproduce_command(const std::string& question, const gpu::Target& target, const std::string& cudnn) {
  return joined_command({question, shell_word(target.file.empty() ? target.id : target.file), shell_word(cudnn)});
}

std::optional<CommandParts> parts_of_command(const std::string& command) {
  const size_t cudnn = command.rfind(cudnn_option);
  const size_t target = cudnn == std::string::npos ? cudnn : command.rfind(target_option, cudnn);
  if (target == std::string::npos) return std::nullopt;
  const size_t begin = target + target_option.size();
  // In older reports the question's options follow the target.
  const size_t end = std::min(command.find(" --", begin), cudnn);
  return CommandParts{command.substr(0, target) + command.substr(end, cudnn - end), command.substr(begin, end - begin),
                      command.substr(cudnn + cudnn_option.size())};
}

}  // namespace attnprobe::asking
