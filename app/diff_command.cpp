// attnprobe diff: what changed between two reports.
#include "report/model/diff.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"
#include "output.hpp"

namespace attnprobe::app {
namespace {

struct DiffCommand {
  std::string before, after, format = "table", output, fail_on = "regression";
  report::DiffOptions options;
};

// The kinds of change that end with exit code 1.
std::set<report::ChangeKind> grave_kinds(const std::string& list) {
  std::set<report::ChangeKind> kinds;
  auto allowed = names_of<report::ChangeKind>();
  for (const auto& word : split(list, ',')) {
    if (word == "none") continue;
    const auto kind = parse_enum<report::ChangeKind>(word);
    if (kind) {
      kinds.insert(*kind);
      continue;
    }
    for (const auto& name : names_of<report::ChangeKind>()) {
      const auto each = parse_enum<report::ChangeKind>(name).value();
      if (word == "any" || (word == "regression" && report::is_regression(each))) kinds.insert(each);
    }
    if (word != "any" && word != "regression") {
      allowed.insert(allowed.end(), {"regression", "any", "none"});
      throw Error(ErrorKind::usage, fmt::format("--fail-on: \"{}\" is not a kind of change{}; allowed: {}", word,
                                                did_you_mean(word, allowed), quoted_list(allowed)));
    }
  }
  return kinds;
}

// Kinds that are not a regression.
std::string other_kinds() {
  auto kinds = names_of<report::ChangeKind>();
  std::erase_if(kinds,
                [](const auto& name) { return report::is_regression(parse_enum<report::ChangeKind>(name).value()); });
  return fmt::format("{}", fmt::join(kinds, ", "));
}

// The version of the report that the word names.
std::string version_in(const report::CellTable& table, const std::string& word, const std::string& file) {
  if (word.empty()) return "";
  std::vector<std::string> meant;
  for (const auto& version : table.axes.cudnns)
    if (report::has_version(version, word)) meant.push_back(version);
  if (meant.empty())
    throw Error(ErrorKind::usage,
                fmt::format("{}: no cell has cuDNN \"{}\"; allowed: {}", file, word, quoted_list(table.axes.cudnns)));
  if (meant.size() > 1)
    throw Error(ErrorKind::usage, fmt::format("{}: cuDNN \"{}\" may be {}; name one", file, word, quoted_list(meant)));
  return meant.front();
}

int diff(DiffCommand command) {
  const auto grave = grave_kinds(command.fail_on);
  check_outputs({{"--output " + command.output, command.output}}, {{"OLD", command.before}, {"NEW", command.after}});
  const report::CellTable before = report::load_cells(command.before, command.options.old_cudnn),
                          after = report::load_cells(command.after, command.options.new_cudnn);
  command.options.old_cudnn = version_in(before, command.options.old_cudnn, command.before);
  command.options.new_cudnn = version_in(after, command.options.new_cudnn, command.after);
  const report::Diff found = diff_cells(before, after, command.options);
  if (found.compared == 0)
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "{} and {} have no cell in common: no config name on the same GPU and cuDNN (--old-cudnn and --new-cudnn pick one of several)",
            command.before, command.after));
  if (command.format == "table")
    write_text(command.output, diff_text(found, terminal_style(false)));
  else
    write_data(command.output, command.format == "md" ? diff_markdown(found) : json_text(diff_json(found), 2) + "\n");
  const bool is_grave = std::any_of(found.changes.begin(), found.changes.end(),
                                    [&](const auto& change) { return grave.count(change.kind) != 0; });
  return is_grave ? not_met : all_met;
}

}  // namespace

void add_diff(CLI::App& app, Run& run) {
  auto options = std::make_shared<DiffCommand>();
  auto* command = app.add_subcommand("diff", "Compare two reports, for example of two days or two cuDNN versions");
  command->add_option("OLD", options->before, "folder written by `attnprobe matrix`, or a JSON report")->required();
  command->add_option("NEW", options->after, "the report to compare with; it may be the same")->required();
  command->add_option("--old-cudnn", options->options.old_cudnn, "only this version's cells of OLD: 9.14 or 9.14.0");
  command->add_option("--new-cudnn", options->options.new_cudnn, "only this version's cells of NEW");
  command
      ->add_option("--tolerance", options->options.tolerance,
                   "relative difference below which two times count as equal; default: 0.05 (5 %)")
      ->check(check_share);
  command->add_option(
      "--fail-on", options->fail_on,
      "changes that cause exit code 1; comma-separated list; regression (default): now_no, yes_to_but, wrong, lost (crashes, hangs or fails now), slower; any; none; the others are " +
          other_kinds());
  command->add_option("-f,--format", options->format, "table, md or json")->transform(one_of({"table", "md", "json"}));
  command->add_option("-o,--output", options->output, "output file; default: standard output");
  command->footer(
      "Exit codes: 0 none of these changes, 1 a change that --fail-on names, 2 bad command line or report, 3 environment problem.");
  command->callback([options, &run] { run = [options] { return diff(*options); }; });
}

}  // namespace attnprobe::app
