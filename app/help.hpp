// Help screens, and the words after the program's name that only show help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands.hpp"

namespace attnprobe::app {

/// A command as the help shows it.
struct CommandHelp {
  std::string name;                         ///< of CLI11
  std::string group = {};                   ///< "ask", "understand", …; "" for a command below another
  std::string below = {};                   ///< the command that it is called through: "matrix diff", "dev audit"
  std::string brief = {};                   ///< for the list of commands; "": its description
  std::vector<std::string> essential = {};  ///< the options of its short help, without dashes
  std::vector<std::string> examples = {};   ///< the words after the command's name
};
const std::vector<CommandHelp>& command_helps();

/// Turns `matrix diff`, `dev audit` into the commands `diff`, `audit`.
void resolve_below(std::vector<std::string>& words);

/// Prints what `-h`, `--help`, `help …` and `version` ask for; false if the words ask for something else.
bool print_help(const CLI::App& app, std::vector<std::string> words);

/// An option's description up to its first clause.
std::string first_clause(const std::string& description);

/// The words allowed in place of the last of `words`, as lines "WORD\tDESCRIPTION".
std::string completions(const CLI::App& app, std::vector<std::string> words);

/// `words`: those behind "--".
void add_completion(CLI::App& app, Run& run, const std::vector<std::string>& words);

}  // namespace attnprobe::app
