// The configs that a command asks about: files, fields given as options, or both.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "attention/fields.hpp"

namespace attnprobe::app {

struct ConfigOptions {
  std::vector<std::string> files;
  std::vector<attention::Override> overrides;

  bool given() const { return !files.empty() || !overrides.empty(); }
};

/// The group of the options that are fields; help shows them apart.
inline const std::string field_group = "Fields of the config";

/// "--sliding-window", "--window".
std::vector<std::string> option_names(const attention::Field& field);

/// Adds one option per field; `options` must outlive the parsing. The command itself has the option for files.
void add_field_options(CLI::App& command, ConfigOptions& options);

/// --config FILE, several times.
void add_file_option(CLI::App& command, ConfigOptions& options);

/// The files and the fields.
void add_config_options(CLI::App& command, ConfigOptions& options);

/// The configs of the files, with the given fields laid over them, or of only the fields. Throws Error(usage), which
/// begins with `nothing` if neither is given.
std::vector<attention::AttentionConfig> read_configs(const ConfigOptions& options, const std::string& nothing);

/// The fields as words of a command line that repeats them, " --heads 12 --seqlen 512".
std::string field_words(const ConfigOptions& options);

}  // namespace attnprobe::app
