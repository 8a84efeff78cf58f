// The configs for a command: files, fields given as options, or both.
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

/// The group of the options that are fields; help shows them separately.
inline const std::string field_group = "Fields of the config";

/// "--sliding-window", "--window".
std::vector<std::string> option_names(const attention::Field& field);

/// Adds one option per field; `options` must outlive the parsing. The command itself adds the option for files.
void add_field_options(CLI::App& command, ConfigOptions& options);

/// --config FILE, several times.
void add_file_option(CLI::App& command, ConfigOptions& options);

/// The files and the fields.
void add_config_options(CLI::App& command, ConfigOptions& options);

/// The configs of the files, overridden by the given fields, or of the fields only. Throws Error(usage), beginning with
/// `nothing` if there are neither files nor fields.
std::vector<attention::AttentionConfig> read_configs(const ConfigOptions& options, const std::string& nothing);

/// The fields as words of a command line that repeats them, " --heads 12 --seqlen 512".
std::string field_words(const ConfigOptions& options);

}  // namespace attnprobe::app
