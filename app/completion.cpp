// Tab completion: commands, options and their values, from the tables of the options.
#include <fmt/format.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "config_options.hpp"
#include "fetch/releases.hpp"
#include "gpu/catalogue.hpp"
#include "help.hpp"
#include "option_checks.hpp"
#include "output.hpp"
#include "rules/framework_gates.hpp"
#include "studies/limits/axis.hpp"

namespace attnprobe::app {
namespace {

using Words = std::vector<std::string>;

Words targets() {
  Words words{"all", "representative", "each-sm", "device:0", "device:all"};
  for (const auto& target : gpu::catalogue()) words.push_back(target.id);
  return words;
}

Words cudnns() {
  Words words{"all", "latest"};
  for (const auto& release : fetch::known_releases())
    words.push_back(release.version.substr(0, release.version.rfind('.')));
  return words;
}

Words frameworks() {
  Words words{"all"};
  for (const auto& gate : rules::framework_gates()) {
    words.push_back(gate.framework);
    for (const auto& release : gate.releases) words.push_back(gate.framework + "==" + release.version);
  }
  return words;
}

// The words of a field with a fixed set of values, including words for several values.
Words field_words(const attention::Field& field) {
  Words words;
  const auto add = [&](const Json& schema) {
    for (const char* key : {"enum", "examples"})
      if (schema.contains(key))
        for (const auto& one : schema[key]) words.push_back(one.get<std::string>());
  };
  add(field.schema);
  if (field.schema.contains("anyOf"))
    for (const auto& one : field.schema["anyOf"]) add(one);
  for (const auto& [word, values] : field.several) words.push_back(word);
  return words;
}

Words commands(const CLI::App& app) {
  Words words;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    words.push_back(one->get_name());
  return words;
}

Words values_of(const CLI::Option& option) {
  const std::string name = option.get_lnames().empty() ? option.get_name(true, false) : option.get_lnames().front();
  if (name == "target") return targets();
  if (name == "framework") return frameworks();
  if (name == "cudnn") return cudnns();
  if (const auto* field = attention::find_field(name)) return field_words(*field);
  return option_words(option);
}

const CLI::App* below(const CLI::App& command, const std::string& word) {
  const auto found = command.get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
  return found.empty() ? nullptr : found.front();
}

}  // namespace

std::string completions(const CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  const std::string last = words.back();
  words.pop_back();
  const bool is_first = words.empty();
  if (words == Words{"dev"} || words == Words{"matrix"}) {
    std::string offered;
    for (const auto& one : command_helps())
      if (one.below == words[0] && one.name.starts_with(last)) offered += one.name + "\t\n";
    if (!offered.empty()) return offered;
  }
  resolve_below(words);
  const CLI::App* command = &app;
  for (const auto& word : words)
    if (const CLI::App* next = below(*command, word)) command = next;
  if (command == &app && (!is_first || last.starts_with("-"))) command = below(app, "probe");
  // A list continues after its last comma.
  const size_t comma = last.rfind(',');
  const std::string kept = comma == std::string::npos ? "" : last.substr(0, comma + 1), part = last.substr(kept.size());
  std::string offered;
  const auto offer = [&](const std::string& word, const std::string& description) {
    if (word.starts_with(part)) offered += fmt::format("{}{}\t{}\n", kept, word, first_clause(description));
  };
  const std::string before = words.empty() ? "" : words.back();
  if (before.size() > 1 && before[0] == '-')
    if (const CLI::Option* option = command->get_option_no_throw(before);
        option != nullptr && option->get_items_expected_max() > 0) {
      for (const auto& word : values_of(*option)) offer(word, "");
      return offered;
    }
  if (last.starts_with("-")) {
    for (const CLI::Option* option : command->get_options()) {
      for (const auto& name : option->get_lnames()) offer("--" + name, option->get_description());
      for (const auto& name : option->get_snames())
        if (last.size() < 2 || last == "-" + name) offer("-" + name, option->get_description());
    }
    return offered;
  }
  if (command == &app || words.empty() || below(app, words.back()) == command)
    for (const CLI::App* one : command->get_subcommands([](const CLI::App*) { return true; }))
      offer(one->get_name(), one->get_description());
  const std::string& name = command->get_name();
  if (name == "limits")
    for (const auto& word : limits::axis_names()) offer(word, "");
  if (name == "show")
    for (const auto& word : targets()) offer(word, "");
  if (name == "help") {
    offer("fields", "the fields of a config");
    for (const auto& word : commands(app)) offer(word, "");
  }
  return offered;
}

namespace {

constexpr const char* bash_script =
    R"(# attnprobe completion for bash: the program offers words, and file names still work.
_attnprobe() {
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
}
complete -o default -o bashdefault -F _attnprobe attnprobe
)";
constexpr const char* zsh_script = R"(#compdef attnprobe
# attnprobe completion for zsh: the program offers words, and file names still work.
_attnprobe() {
  local -a offered
  offered=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null | sed 's/:/\\:/g; s/\t$//; s/\t/:/')}")
  [[ -n ${offered[1]} ]] && _describe -o attnprobe offered
  _files
}
if [[ ${funcstack[1]} == _attnprobe ]]; then _attnprobe "$@"; else compdef _attnprobe attnprobe; fi
)";
constexpr const char* fish_script =
    R"(# attnprobe completion for fish: the program offers words, and file names still work.
complete -c attnprobe -a '(set -l line (commandline -opc) (commandline -ct); $line[1] completion words -- $line[2..] 2>/dev/null)'
)";

}  // namespace

void add_completion(CLI::App& app, Run& run, const std::vector<std::string>& words) {
  auto* command = app.add_subcommand("completion",
                                     "Print a script that completes commands, options and values in bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->transform(one_of({"bash", "zsh", "fish", "words"}));
  command->callback([&app, shell, &run, words] {
    run = [&app, shell, words]() -> int {
      if (*shell == "words")
        print_data(completions(app, words));
      else
        print_data(*shell == "bash" ? bash_script : *shell == "zsh" ? zsh_script : fish_script);
      return 0;
    };
  });
}

}  // namespace attnprobe::app
