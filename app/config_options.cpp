#include "config_options.hpp"

#include <fmt/format.h>

#include "attention/fields.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::app {

void add_field_options(CLI::App& command, ConfigOptions& options) {
  const std::string group =
      "Fields of the config, overriding the file (a comma list or a range, 8:512:8, makes the cross product)";
  for (const auto& field : attention::fields()) {
    auto* option = command
                       .add_option_function<std::string>(
                           attention::option_of(field.name),
                           [&options, name = field.name](const std::string& text) {
                             options.overrides.push_back(attention::parse_override(name, text.empty() ? "true" : text));
                           },
                           help_line(field))
                       ->group(group);
    // A boolean's option alone is true.
    if (field.schema == Json{{"type", "boolean"}}) option->expected(0, 1);
  }
  command
      .add_flag_callback(
          "--causal",
          [&options] {
            options.overrides.push_back({"mask", {{"causal", true}}, "--causal"});
          },
          "the mask is causal too: added to --mask or the file's mask, with its window and padding")
      ->group(group);
}

void add_file_option(CLI::App& command, ConfigOptions& options) {
  command
      .add_option("file,--config", options.files,
                  "JSON configs, gzip and xz too, or a folder of them; - is standard input")
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
