#include "probe/walk_difference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "log/log_parse.hpp"

namespace attnprobe::probe {
namespace {

const ModeFindings* mode_of(const WalkFindings& findings, const std::string& mode) {
  for (const auto& m : findings.modes)
    if (m.mode == mode) return &m;
  return nullptr;
}

const EngineConfigFindings* config_of(const WalkFindings& findings, const EngineConfigFindings& like) {
  const auto found = log::find_config(findings.engine_configs, like);
  return found == findings.engine_configs.end() ? nullptr : &*found;
}

bool is_proposed(const EngineConfigFindings& config, const std::string& mode) {
  return std::find(config.modes.begin(), config.modes.end(), mode) != config.modes.end();
}

std::string check_text(const EngineConfigFindings& config) {
  if (config.check.supported) return "supported";
  const Reason reason = innermost_reason(config);
  return reason.reason.empty() ? reason.status : fmt::format("{}: {}", reason.status, reason.reason);
}

void compare_config(std::vector<std::string>& lines, const std::string& mode, const EngineConfigFindings& before,
                    const EngineConfigFindings* now) {
  const std::string name = config_name(before.engine, before.knobs);
  if (now == nullptr || !is_proposed(*now, mode)) {
    lines.push_back(fmt::format("mode {} no longer proposes {}", mode, name));
    return;
  }
  const auto rank_before = before.rank.find(mode), rank_now = now->rank.find(mode);
  if (rank_before != before.rank.end() && rank_now != now->rank.end() && rank_before->second != rank_now->second)
    lines.push_back(fmt::format("{}: rank {} in mode {}, was {}", name, rank_now->second, mode, rank_before->second));
  if (check_text(before) != check_text(*now))
    lines.push_back(fmt::format("{}: {}, was {}", name, check_text(*now), check_text(before)));
}

}  // namespace

std::string config_name(int64_t engine, const Knobs& knobs) {
  std::string text = fmt::format("engine {}", engine);
  for (const auto& [knob, value] : knobs) text += fmt::format(" {}={}", knob, value);
  return text;
}

Reason innermost_reason(const EngineConfigFindings& config) {
  if (!config.reasons.empty()) return config.reasons.front();
  return {config.check.status, ""};
}

std::vector<std::string> walk_differences(const WalkFindings& before, const WalkFindings& now) {
  std::vector<std::string> lines;
  if (before.failure.has_value() != now.failure.has_value()) {
    const auto& failure = now.failure ? now.failure : before.failure;
    lines.push_back(fmt::format("the graph itself is {} ({})", now.failure ? "refused, was not" : "accepted, was not",
                                failure->cudnn.status));
  }
  for (const auto& mode : before.modes) {
    const ModeFindings* other = mode_of(now, mode.mode);
    if (other == nullptr) continue;
    if (mode.candidates != other->candidates || mode.viable != other->viable)
      lines.push_back(fmt::format("mode {}: {} candidates, {} viable; were {} and {}", mode.mode, other->candidates,
                                  other->viable, mode.candidates, mode.viable));
    for (const auto& config : before.engine_configs)
      if (is_proposed(config, mode.mode)) compare_config(lines, mode.mode, config, config_of(now, config));
    // If one log lists only rejected configs, viable configs do not count as new.
    const auto listed = std::count_if(before.engine_configs.begin(), before.engine_configs.end(),
                                      [&](const auto& config) { return is_proposed(config, mode.mode); });
    if (listed < mode.candidates) continue;
    for (const auto& config : now.engine_configs)
      if (is_proposed(config, mode.mode) && config_of(before, config) == nullptr)
        lines.push_back(fmt::format("mode {} proposes {}, which it did not before", mode.mode,
                                    config_name(config.engine, config.knobs)));
  }
  return lines;
}

}  // namespace attnprobe::probe
