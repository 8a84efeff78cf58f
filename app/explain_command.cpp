#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include "ask.hpp"
#include "base/error.hpp"
#include "base/input.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "explain/explain_text.hpp"
#include "output.hpp"

namespace attnprobe::app {
namespace {

struct ExplainOptions {
  std::vector<std::string> words;
  std::string output, format = "table";
  bool verbose = false;
};

// What to explain: a file (or "-"), or typed text.
struct Given {
  std::string file;  // "" for a text
  std::string text;
};

bool exists(const std::string& file) {
  std::error_code error;
  return file == "-" || std::filesystem::exists(file, error);
}

bool has_blank(const std::string& word) {
  return word.find_first_of(" \t\n") != std::string::npos;
}

// A single word with a folder or file extension is a path, not the text of an exception.
bool looks_like_path(const std::string& word) {
  if (has_blank(word)) return false;
  for (const char* ending : {".log", ".txt", ".json", ".jsonl", ".gz", ".xz", ".out", ".err"})
    if (word.ends_with(ending)) return true;
  return word.starts_with("/") || word.starts_with("./") || word.starts_with("../") || word.starts_with("~/");
}

Given given_by(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  if (trim(text).empty())
    throw Error(ErrorKind::usage, "TEXT is missing; give an exception's text, a file, or - for standard input");
  if (words.size() == 1 && (exists(words[0]) || (looks_like_path(words[0]) && words[0].size() < 4096)))
    return {words[0], ""};
  for (const auto& word : words)
    if (exists(word) && words.size() > 1 && looks_like_path(word))
      throw Error(
          ErrorKind::usage,
          fmt::format("TEXT: \"{}\" is a file, and other words follow it; allowed: one file, or one text", word));
  return {"", text};
}

int run_explain(const ExplainOptions& options) {
  const Given given = given_by(options.words);
  if (options.words.size() == 1 && given.file.empty())
    if (const std::string text = explain::explain_id(options.words.front(), terminal_style(false).width);
        !text.empty()) {
      write_text(options.output, text);
      return all_met;
    }
  std::vector<NamedFile> inputs;
  if (!given.file.empty()) inputs.push_back({"TEXT", given.file});
  check_outputs({{"--output " + options.output, options.output}}, inputs);
  const auto give = [&](const std::function<void(std::string_view)>& take, std::string* problem) {
    if (given.file.empty())
      take(given.text);
    else
      read_input(given.file, take, problem);
  };
  const explain::Explained explained =
      given.file.empty() ? explain::explain(explain::typed_text,
                                            fmt::format("\"{}\" is not a file, and as a text", cut(given.text)), give)
                         : explain::explain(given.file, input_name(given.file), give);
  if (options.format == "json")
    write_data(options.output, json_text(explain::explain_json(explained), 2) + "\n");
  else
    write_text(options.output, explain::explain_text(explained, terminal_style(options.verbose)));
  return explained.is_established() ? all_met : bad_usage;
}

}  // namespace

void add_explain(CLI::App& app, Run& run) {
  auto options = std::make_shared<ExplainOptions>();
  auto* command = app.add_subcommand(
      "explain", "Find who refused an attention call, why, and what to do, from any log or error text; needs no cuDNN");
  command->add_option(
      "TEXT", options->words,
      "text of an exception or a warning, or a file (plain, gzip, xz): cuDNN log, model's config.json, XLA's HLO; - or a pipe: standard input");
  command->add_option("-f,--format", options->format, "table or json")->transform(one_of({"table", "json"}));
  command->add_option("-o,--output", options->output, "output file; default: standard output");
  command->add_flag("-v,--verbose", options->verbose, "also show reasons for graphs that work");
  command->callback([options, &run] {
    if (options->words.empty() && isatty(STDIN_FILENO) == 1)
      throw Error(ErrorKind::usage, "explain: no text is given; allowed: a file, a message, or a pipe");
    if (options->words.empty()) options->words.emplace_back("-");
    run = [options] { return run_explain(*options); };
  });
}

}  // namespace attnprobe::app
