#include "help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "ask.hpp"
#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "config_options.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {
namespace {

constexpr size_t short_width = 80, name_column = 30;

const CommandHelp* help_of(const std::string& name) {
  const auto& all = command_helps();
  const auto found = std::find_if(all.begin(), all.end(), [&](const CommandHelp& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// "matrix diff" for diff.
std::string full_name(const std::string& name) {
  const CommandHelp* help = help_of(name);
  return help == nullptr || help->below.empty() ? name : help->below + " " + name;
}

std::string names_of(const CLI::Option& option) {
  std::string names = option.get_name(option.get_positional(), true);
  for (const char* drop : {"{false}", "{true}"})
    for (size_t at = 0; (at = names.find(drop)) != std::string::npos;) names.erase(at, std::string(drop).size());
  std::string spaced;
  for (const char c : names) spaced += c == ',' ? std::string(", ") : std::string(1, c);
  return spaced;
}

std::string cut_line(const std::string& line, size_t width) {
  const std::string whole = cut_to_columns(line, width);
  if (whole == line) return line;
  std::string text = cut_to_columns(line, width - 1);
  return text.substr(0, text.find_last_not_of(" ,") + 1) + "…";
}

// "  NAMES      description", wrapped behind the names.
std::string row(const std::string& names, const std::string& description, size_t width, bool wraps) {
  std::string text = "  " + names;
  if (text.size() + 2 > name_column)
    text += "\n" + std::string(name_column, ' ');
  else
    text.resize(name_column, ' ');
  if (!wraps) return cut_line(text + description, width) + "\n";
  size_t column = name_column;
  bool first = true;
  for (const auto& word : split(description, ' ')) {
    if (!first && column + 1 + word.size() > width) {
      text += "\n" + std::string(name_column, ' ');
      column = name_column;
      first = true;
    }
    text += (first ? "" : " ") + word;
    column += word.size() + (first ? 0 : 1);
    first = false;
  }
  return text + "\n";
}

std::string usage_of(const CLI::App& command, const std::string& name) {
  std::string text = "usage: attnprobe " + name;
  const auto below = command.get_subcommands([](const CLI::App*) { return true; });
  if (!below.empty()) text += " [COMMAND]";
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional())
      text += fmt::format("{}{}{}{}", option->get_required() ? " " : " [", option->get_name(true, false),
                          option->get_items_expected_max() > 1 ? "…" : "", option->get_required() ? "" : "]");
  return text + " [options]";
}

std::string examples_of(const CommandHelp* help, const std::string& name) {
  if (help == nullptr || help->examples.empty()) return "";
  std::string text = "\nexamples\n";
  for (const auto& words : help->examples) {
    text += "  attnprobe";
    if (name != "probe") text.append(" ").append(name);
    if (!words.empty()) text.append(" ").append(words);
    text += "\n";
  }
  return text;
}

std::string below_of(const CLI::App& command, size_t width, bool wraps) {
  std::string text;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
    text += row(one->get_name(), one->get_description(), width, wraps);
  if (const CLI::App* program = command.get_parent(); program != nullptr)
    for (const auto& help : command_helps())
      if (help.below == command.get_name())
        text += row(help.name, program->get_subcommand(help.name)->get_description(), width, wraps);
  return text;
}

bool has_fields(const CLI::App& command) {
  return command.get_option_no_throw("--seqlen-kv") != nullptr;
}

// At most 24 lines of 80 columns.
std::string short_help(const CLI::App& command, const std::string& name) {
  const CommandHelp* help = help_of(command.get_name());
  std::string text = cut_line(command.get_description(), short_width) + "\n" +
                     cut_line(usage_of(command, name), short_width) + "\n\n" + below_of(command, short_width, false);
  const auto add = [&](const CLI::Option* option) {
    if (option != nullptr) text += row(names_of(*option), first_clause(option->get_description()), short_width, false);
  };
  if (help != nullptr && !help->essential.empty()) {
    for (const auto& one : help->essential) add(command.get_option_no_throw("--" + one));
  } else {
    for (const CLI::Option* option : command.get_options())
      if (option->get_name(false, true) != "-h,--help") add(option);
  }
  text += examples_of(help, name);
  return text + fmt::format("\nattnprobe {} --help shows every option{}.\n", name,
                            has_fields(command) ? ", help fields the config's" : "");
}

std::string full_help(const CLI::App& command, const std::string& name, size_t width) {
  std::string text = report::wrapped(command.get_description(), 0, width) + "\n" + usage_of(command, name) + "\n";
  if (const std::string below = below_of(command, width, true); !below.empty()) text += "\ncommands\n" + below;
  std::vector<std::string> groups;
  for (const CLI::Option* option : command.get_options())
    if (const auto& group = option->get_group();
        group != field_group && std::find(groups.begin(), groups.end(), group) == groups.end())
      groups.push_back(group);
  for (const auto& group : groups) {
    text += fmt::format("\n{}\n", group == "Options" ? "options" : group);
    for (const CLI::Option* option : command.get_options())
      if (option->get_group() == group) text += row(names_of(*option), option->get_description(), width, true);
  }
  if (has_fields(command)) text += "\nEach field of a config is an option: attnprobe help fields\n";
  text += examples_of(help_of(command.get_name()), name);
  if (!command.get_footer().empty()) text += "\n" + report::wrapped(command.get_footer(), 0, width);
  return text;
}

std::string fields_help(size_t width) {
  std::string text =
      "Fields of a config: the key in JSON, the option on the command line. Options\n"
      "override files. A comma-separated list or a range (8:512:8, 1k:64k:x2) asks about\n"
      "every value.\n\n";
  for (const auto& field : attention::fields())
    text += row(fmt::format("{}", fmt::join(option_names(field), ", ")), help_line(field), width, true);
  return text;
}

std::string program_help(const CLI::App& app, size_t width) {
  std::string text =
      "attnprobe asks the real cuDNN which fused attention it supports, on any GPU.\n"
      "usage: attnprobe [FILE…] [options]   or   attnprobe COMMAND …\n\n";
  std::string last;
  for (const auto& help : command_helps()) {
    if (help.group.empty()) continue;
    const CLI::App* command = app.get_subcommand(help.name);
    const std::string line = fmt::format("{:<12}{:<12}{}", help.group == last ? "" : help.group, help.name,
                                         help.brief.empty() ? first_clause(command->get_description()) : help.brief);
    text += cut_line(line, width) + "\n";
    last = help.group;
  }
  return text +
         "\nCOMMAND -h is one screen, --help everything. Exit codes: 0 as expected, 1 not,\n"
         "2 bad input, 3 environment, 4 crash or timeout, 5 wrong result, 130 stopped.\n";
}

// The command that the words name, and its invocation.
std::pair<const CLI::App*, std::string> command_of(const CLI::App& app, std::vector<std::string> words) {
  resolve_below(words);
  const CLI::App* command = &app;
  std::string name;
  for (const auto& word : words) {
    const auto found = command->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (found.empty()) break;
    command = found.front();
    if (name.empty())
      name = full_name(word);
    else
      name.append(" ").append(word);
  }
  return {command, name};
}

}  // namespace

std::string first_clause(const std::string& description) {
  size_t end = description.size();
  for (const char* separator : {"; ", ". ", " (", ": "})
    if (const size_t at = description.find(separator); at != std::string::npos && at > 8) end = std::min(end, at);
  return description.substr(0, end);
}

void resolve_below(std::vector<std::string>& words) {
  if (words.size() < 2) return;
  if (const CommandHelp* help = help_of(words[1]); help != nullptr && help->below == words[0])
    words.erase(words.begin());
}

bool print_help(const CLI::App& app, std::vector<std::string> words) {
  if (words.empty()) return false;
  const size_t width = isatty(STDOUT_FILENO) == 1 ? std::min<size_t>(terminal_style(false).width, 100) : short_width;
  if (words == std::vector<std::string>{"version"}) {
    print_text(app.version() + "\n");
    return true;
  }
  const auto end = std::find(words.begin(), words.end(), "--");
  const bool brief = std::find(words.begin(), end, "-h") != end, full = std::find(words.begin(), end, "--help") != end;
  const bool asks = words[0] == "help";
  if (!brief && !full && !asks) return false;
  if (asks) words.erase(words.begin());
  if (!words.empty() && words[0] == "fields") {
    print_text(fields_help(width));
    return true;
  }
  auto [command, name] = command_of(app, words);
  if (command == &app && !words.empty() && words[0][0] != '-') {
    if (asks) throw Error(ErrorKind::usage, fmt::format("help: \"{}\" is not a command; see attnprobe -h", words[0]));
  }
  if (command == &app && !asks && !words.empty() && words[0] != "-h" && words[0] != "--help")
    std::tie(command, name) = command_of(app, {"probe"});
  print_text(command == &app ? program_help(app, width)
             : brief         ? short_help(*command, name)
                             : full_help(*command, name, width));
  return true;
}

}  // namespace attnprobe::app
