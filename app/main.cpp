// attnprobe: the command line.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <sstream>
#include <string_view>
#include <system_error>

#include "ask.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "beginning.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "help.hpp"
#include "output.hpp"
#include "worker/client.hpp"
#include "worker/process.hpp"
#include "worker/protocol.hpp"

namespace attnprobe::app {

bool wants_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) == 1 && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

namespace {

// A file or folder of configs, or standard input; check is_command() first.
bool is_file_word(const std::string& word) {
  std::error_code error;
  return word == "-" || word.find_first_of("./") != std::string::npos || std::filesystem::exists(word, error);
}

bool is_command(const CLI::App& app, const std::string& word) {
  return !app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; }).empty();
}

// `attnprobe x.json --target h100` and `attnprobe --heads 8 …` mean `attnprobe probe …`.
std::vector<std::string> with_default_command(const CLI::App& app, std::vector<std::string> words) {
  for (auto& word : words)  // --heads_kv is --heads-kv
    if (word.starts_with("--"))
      std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size())), '_',
                   '-');
  resolve_below(words);
  const bool own = words[0] == "--version" || is_command(app, words[0]);
  if (!own) words.insert(words.begin(), "probe");
  std::reverse(words.begin(), words.end());  // CLI11 expects this order
  return words;
}

// The words after trace's "--" are another program's command line: CLI11 would read "[1,2]" in them as a list.
std::vector<std::string> words_of_program(int* argc, char** argv) {
  std::vector<std::string> words;
  if (*argc < 2 || (std::string_view(argv[1]) != "trace" && std::string_view(argv[1]) != "completion")) return words;
  char** const end = argv + *argc;
  char** const separator = std::find(argv, end, std::string_view("--"));
  if (separator == end) return words;
  words.assign(separator + 1, end);
  *argc = static_cast<int>(separator - argv);
  return words;
}

void check_command(const CLI::App& app, const std::string& word) {
  if (word[0] == '-' || is_command(app, word) || is_file_word(word)) return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  throw Error(ErrorKind::usage, fmt::format("\"{}\" is not a command{}; allowed: {}", word, did_you_mean(word, names),
                                            quoted_list(names)));
}

// Refuses unknown options such as "-x" and "--heds", with the command's nearest option.
[[noreturn]] void refuse_unknown(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::vector<std::string> known, unknown;
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  const auto remaining = app.remaining(true);
  for (const auto& word : remaining)
    if (word.starts_with("-")) unknown.push_back(word.substr(0, word.find('=')));
  if (unknown.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: not expected here; see attnprobe {} --help", quoted_list(remaining),
                                              command.get_name()));
  throw Error(ErrorKind::usage,
              fmt::format("{} is not an option of attnprobe {}{}; see attnprobe {} --help", unknown[0],
                          command.get_name(), did_you_mean(unknown[0], known), command.get_name()));
}

int run_command_line(int argc, char** argv) {
  CLI::App app(
      "Asks cuDNN which fused-attention graphs it supports on which GPU, and why it refuses the others.\n"
      "Without a command, attnprobe runs `probe`: attnprobe configs/bert.json -t l40s");
  app.name("attnprobe");
  app.require_subcommand(1);
  app.set_version_flag("--version", "attnprobe " + report::tool_version());
  Run run;
  const std::vector<std::string> program = words_of_program(&argc, argv);
  add_probe(app, run);
  add_replay(app, run);
  add_explain(app, run);
  add_matrix(app, run);
  add_merge(app, run);
  add_diff(app, run);
  add_site(app, run);
  add_cache(app, run);
  add_audit(app, run);
  add_limits(app, run);
  add_suggest(app, run);
  add_plans(app, run);
  add_reduce(app, run);
  add_tune(app, run);
  add_bugs(app, run);
  add_trace(app, run, program);
  add_targets(app, run);
  add_selftest(app, run);
  add_doctor(app, run);
  add_schema(app, run);
  add_serve(app, run);
  add_cudnn(app, run);
  add_dev(app, run);
  add_completion(app, run, program);
  auto* help =
      app.add_subcommand("help", "help COMMAND; help fields lists the fields of a config; version prints this release");
  help->add_option("TOPIC", "a command, or fields");
  app.add_subcommand("version", "this release");
  const bool begins = argc == 1;
  if (begins && !print_machine()) {
    print_next_commands();
    return all_met;
  }
  if (!begins) check_command(app, argv[1]);
  if (print_help(app, {argv + 1, argv + argc})) return all_met;
  std::vector<std::string> words = begins ? first_question() : std::vector<std::string>(argv + 1, argv + argc);
  try {
    app.parse(with_default_command(app, std::move(words)));
  } catch (const CLI::ExtrasError&) {
    refuse_unknown(app);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) {
      const auto chosen = app.get_subcommands();
      throw Error(ErrorKind::usage, fmt::format("{}; see attnprobe {}--help", e.what(),
                                                chosen.empty() ? "" : chosen.front()->get_name() + " "));
    }
    std::ostringstream out, err;
    app.exit(e, out, err);
    print_text(out.str());
    return all_met;
  }
  const int code = run();
  if (!begins) return code;
  print_next_commands();
  return all_met;
}

}  // namespace
}  // namespace attnprobe::app

int main(int argc, char** argv) {
  using namespace attnprobe;
  // The internal worker process; not for users.
  if (argc == 2 && std::string_view(argv[1]) == "worker") return worker::serve(worker::Process::child_socket);
  app::prepare_streams();
  worker::serve_in_this_program();
  try {
    const int code = app::run_command_line(argc, argv);
    app::flush_output();
    return code;
  } catch (const Error& e) {
    if (dynamic_cast<const BrokenPipe*>(&e) != nullptr) app::end_by_broken_pipe();
    // Workers also get the terminal's Ctrl-C, and would end before they answer.
    if (app::was_stopped()) {
      spdlog::warn("stopped");
      return app::interrupted;
    }
    spdlog::error("{}", e.what());
    return app::exit_code(e.kind());
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory; use a lower --jobs");
    return app::environment_lacks;
  } catch (const std::system_error& e) {
    // The system ran out of threads or files.
    spdlog::error("out of system resources: {}; see `ulimit -u` and `ulimit -n`", e.what());
    return app::environment_lacks;
  } catch (const std::exception& e) {
    spdlog::critical("unexpected: {}", e.what());
    return app::probe_lost;
  }
}
