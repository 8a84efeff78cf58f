#include "config_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::app {

std::vector<std::string> option_names(const attention::Field& field) {
  std::vector<std::string> names{attention::option_of(field.name)};
  for (const auto& other : field.also) names.push_back(attention::option_of(other));
  return names;
}

void add_field_options(CLI::App& command, ConfigOptions& options) {
  for (const auto& field : attention::fields()) {
    // Without a value the option means true, and a file may follow it.
    if (!field.member_of.empty() && field.schema == Json{{"type", "boolean"}}) {
      const auto set = [&options, name = field.name] { options.overrides.push_back({name, true}); };
      command.add_flag_callback(attention::option_of(field.name), set, help_line(field))->group(field_group);
      continue;
    }
    auto* option = command
                       .add_option_function<std::string>(
                           fmt::format("{}", fmt::join(option_names(field), ",")),
                           [&options, name = field.name](const std::string& text) {
                             options.overrides.push_back(attention::parse_override(name, text.empty() ? "true" : text));
                           },
                           help_line(field))
                       ->group(field_group);
    // A boolean's option without a value means true.
    if (field.schema == Json{{"type", "boolean"}}) option->expected(0, 1);
  }
}

void add_file_option(CLI::App& command, ConfigOptions& options) {
  command
      .add_option("file,--config,--model", options.files,
                  "JSON configs, a model's config.json, or a folder of them; gzip and xz too; - is standard input")
      ->group("What is asked");
}

void add_config_options(CLI::App& command, ConfigOptions& options) {
  add_file_option(command, options);
  add_field_options(command, options);
}

std::vector<attention::AttentionConfig> read_configs(const ConfigOptions& options, const std::string& nothing) {
  if (!options.given())
    throw Error(ErrorKind::usage,
                nothing + ": give --config FILE, or a problem such as --heads 12 --seqlen 512 --head-dim 64");
  if (options.files.empty()) return attention::configs_from_options(options.overrides);
  std::vector<attention::AttentionConfig> configs;
  for (const auto& file : options.files)
    for (auto& config : attention::load_configs(file, options.overrides)) configs.push_back(std::move(config));
  return configs;
}

std::string field_words(const ConfigOptions& options) {
  std::string words;
  for (const auto& one : options.overrides) words += " " + attention::override_words(one);
  return words;
}

}  // namespace attnprobe::app
