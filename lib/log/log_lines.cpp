#include "log/log_lines.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/text.hpp"

namespace attnprobe::log {

std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  line = trim(line);
  if (line.substr(0, key.size()) != key || line.substr(key.size(), 1) != ":") return std::nullopt;
  const size_t at = line.find("val=");
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + 4);
  if (!line.empty() && line.back() == ';') line.remove_suffix(1);
  return line;
}

std::optional<int64_t> integer_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

std::optional<std::string> status_of(const LogEntry& entry) {
  if (entry.lines.empty()) return std::nullopt;
  const auto value = value_of(entry.lines.front(), "status");
  if (!value) return std::nullopt;
  return std::string(trim(value->substr(0, value->find(' '))));
}

std::string descriptor_of(const LogEntry& entry) {
  constexpr std::string_view key = "descriptor: type=CUDNN_BACKEND_", end = "_DESCRIPTOR";
  if (entry.lines.empty()) return "";
  std::string_view line = trim(entry.lines.front());
  if (line.substr(0, key.size()) != key) return "";
  line.remove_prefix(key.size());
  return std::string(line.substr(0, line.find(end)));
}

bool is_function(const LogEntry& entry, std::string_view name) {
  return std::string_view(entry.function).substr(0, name.size()) == name;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) (text += line) += '\n';
  return text;
}

std::string_view json_of(const LogEntry& entry) {
  constexpr std::string_view key = "apiLog: type=json; val=";
  for (const auto& line : entry.lines)
    if (const size_t at = line.find(key); at != std::string::npos)
      return std::string_view(line).substr(at + key.size());
  return {};
}

std::optional<EngineConfigLog> engine_of_tree(const LogEntry& entry) {
  EngineConfigLog config;
  constexpr std::string_view knob_prefix = "CUDNN_KNOB_TYPE_";
  for (const auto& line : entry.lines) {
    const std::string_view words = trim(line);
    if (const auto engine = value_of(words, "engine_id")) {
      config.engine = integer_of(*engine).value_or(-1);
      config.knobs.clear();
    } else if (words.substr(0, knob_prefix.size()) == knob_prefix) {
      const std::string_view name = words.substr(0, words.find(':'));
      if (const auto value = value_of(words, name))
        if (const auto number = integer_of(*value))
          config.knobs[std::string(name.substr(knob_prefix.size()))] = *number;
    }
  }
  return config.engine < 0 ? std::nullopt : std::optional(config);
}

std::string heuristic_mode_name(int64_t mode) {
  constexpr const char* names[] = {"INSTANT", "B", "FALLBACK", "A"};  // cudnnBackendHeurMode_t
  return mode >= 0 && mode < std::ssize(names) ? names[mode] : fmt::format("mode {}", mode);
}

}  // namespace attnprobe::log
