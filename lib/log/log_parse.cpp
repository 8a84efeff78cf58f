#include "log/log_parse.hpp"

#include <algorithm>

#include "base/json_reader.hpp"
#include "base/text.hpp"

namespace attnprobe::log {
namespace {

constexpr std::string_view config_key = "engineConfig: type=json; val=";
constexpr std::string_view engine_key = "\"engine\":";
constexpr std::string_view knob_prefix = "CUDNN_KNOB_TYPE_";

template <class F>
void for_each_line(std::string_view text, F&& f) {
  LineEnds ends(text);
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(ends.find(begin), text.size());
    std::string_view line = trim(text.substr(begin, end - begin));
    // In files, cuDNN begins each line with a severity marker: "i! ", "w! ", "e! ".
    if (line.size() > 1 && line[1] == '!' && std::string_view("iwe").find(line[0]) != std::string_view::npos)
      line = trim(line.substr(2));
    f(line);
  }
}

// "Warning: CUDNN_STATUS_X; Reason: …"; at error level the line begins with "Error".
std::optional<Reason> parse_reason(std::string_view line) {
  for (const std::string_view label : {"Warning: ", "Error: "}) {
    if (line.substr(0, label.size()) != label) continue;
    line.remove_prefix(label.size());
    const size_t semicolon = line.find("; Reason: ");
    if (line.substr(0, 6) != "CUDNN_" || semicolon == std::string_view::npos) return std::nullopt;
    Reason reason{std::string(line.substr(0, semicolon)), std::string(trim(line.substr(semicolon + 10)))};
    // "Warning: CUDNN_STATUS_SUCCESS; Reason: … Automatically configuring the library mode" is a note, not a reason.
    if (reason.status == "CUDNN_STATUS_SUCCESS") return std::nullopt;
    return reason;
  }
  return std::nullopt;
}

std::optional<EngineConfigLog> parse_engine_text(std::string_view text) {
  return parse_engine(parse_json_leniently(json_object_at_start(text)));
}

}  // namespace

Knobs chosen_knobs(const Knobs& knobs) {
  Knobs result;
  for (const auto& [knob, value] : knobs)
    if (value != -1) result[knob] = value;
  return result;
}

std::string_view json_object_at_start(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return text.substr(0, i + 1);
    }
  }
  return {};
}

std::optional<EngineConfigLog> parse_engine(const Json& json) {
  if (!json.is_object() || !json.contains("engineId") || !json["engineId"].is_number_integer()) return std::nullopt;
  EngineConfigLog config;
  config.engine = json["engineId"].get<int64_t>();
  if (json.contains("smVersion") && json["smVersion"].is_number_integer())
    config.sm_version = json["smVersion"].get<int64_t>();
  if (json.contains("knobChoices") && json["knobChoices"].is_object()) {
    for (const auto& [key, value] : json["knobChoices"].items()) {
      if (!value.is_number_integer()) continue;
      const bool prefixed = key.rfind(knob_prefix, 0) == 0;
      config.knobs[prefixed ? key.substr(knob_prefix.size()) : key] = value.get<int64_t>();
    }
  }
  return config;
}

std::vector<EngineConfigLog> parse_engine_configs(std::string_view text) {
  std::vector<EngineConfigLog> blocks;
  bool open = false;  // whether the next reason belongs to the last block
  for_each_line(text, [&](std::string_view line) {
    if (line.substr(0, config_key.size()) == config_key) {
      auto block = parse_engine_text(line.substr(config_key.size()));
      open = block.has_value();
      if (open) blocks.push_back(std::move(*block));
    } else if (const auto reason = parse_reason(line); reason && open) {
      blocks.back().reasons.push_back(*reason);
    } else if (line.find(" called:") != std::string_view::npos) {
      open = false;  // the next call's message: its reasons belong to another config
    }
  });
  std::vector<EngineConfigLog> configs;
  for (auto& block : blocks)
    if (!has_config(configs, block)) configs.push_back(std::move(block));
  return configs;
}

std::vector<Reason> parse_reasons(std::string_view text) {
  std::vector<Reason> reasons;
  for_each_line(text, [&](std::string_view line) {
    if (auto reason = parse_reason(line)) reasons.push_back(std::move(*reason));
  });
  return reasons;
}

std::vector<EngineConfigLog> parse_candidates(std::string_view text) {
  std::vector<EngineConfigLog> candidates;
  bool in_call = false;
  for_each_line(text, [&](std::string_view line) {
    if (line.find(" called:") != std::string_view::npos)
      in_call = line.find("cudnnBackendFinalizeEngineCfgVisualize()") != std::string_view::npos;
    const size_t engine = line.rfind(engine_key);
    if (!in_call || engine == std::string_view::npos) return;
    if (auto config = parse_engine_text(line.substr(engine + engine_key.size())))
      candidates.push_back(std::move(*config));
  });
  return candidates;
}

std::vector<std::string> parse_notes(std::string_view text) {
  std::vector<std::string> notes;
  for_each_line(text, [&](std::string_view line) {
    const size_t at = line.find("CUDNN_HEUR_MODE_");
    if (at == std::string_view::npos || line.find("redirect") == std::string_view::npos) return;
    std::string note(line);
    if (const auto reason = parse_reason(line)) note = reason->reason;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  });
  return notes;
}

}  // namespace attnprobe::log
