// Help screens, and the command-line words that only show help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands.hpp"

namespace attnprobe::app {

/// A command as the help shows it.
struct CommandHelp {
  std::string name;                         ///< CLI11's command
  std::string group = {};                   ///< "ask", "understand", …; "" for a subcommand
  std::string below = {};                   ///< full name of a subcommand: "matrix diff", "dev audit"
  std::string brief = {};                   ///< text for the list of commands; "": its description
  std::vector<std::string> essential = {};  ///< options in its short help, without dashes
  std::vector<std::string> examples = {};   ///< the words after the command's name
};
const std::vector<CommandHelp>& command_helps();

/// Turns `matrix diff`, `dev audit` into the commands `diff`, `audit`.
void resolve_below(std::vector<std::string>& words);

/// Handles `-h`, `--help`, `help …` and `version`; false for other words.
bool print_help(const CLI::App& app, std::vector<std::string> words);

/// An option's description up to its first clause.
std::string first_clause(const std::string& description);

/// The words allowed instead of the last of `words`, as lines "WORD\tDESCRIPTION".
std::string completions(const CLI::App& app, std::vector<std::string> words);

/// `words`: the words after "--".
void add_completion(CLI::App& app, Run& run, const std::vector<std::string>& words);

}  // namespace attnprobe::app
