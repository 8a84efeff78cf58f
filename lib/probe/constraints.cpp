#include "probe/constraints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "probe/note_names.hpp"

namespace attnprobe::probe {
namespace {

bool has_note(const EngineConfigFindings& config, const std::string& note) {
  const auto in = [&](const std::vector<std::string>& notes) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  return in(config.numerical_notes) || in(config.behavior_notes);
}

// Why results may vary; "" if the config is deterministic.
std::string variation(const EngineConfigFindings& config, const Varies& varies) {
  if (config.run && config.run->deterministic)
    return *config.run->deterministic ? "" : "its results differed from run to run";
  if (has_note(config, "NONDETERMINISTIC")) return "cuDNN notes that it is NONDETERMINISTIC";
  return varies ? varies(config) : "";
}

// The broken constraint, or "".
std::string breach(const EngineConfigFindings& config, const Constraints& constraints, const Varies& varies) {
  if (const auto most = constraints.max_workspace_bytes) {
    if (!config.workspace_bytes) return "its workspace is not known";
    if (*config.workspace_bytes > *most)
      return fmt::format("its workspace of {} is above the {} allowed", bytes_text(*config.workspace_bytes),
                         bytes_text(*most));
  }
  if (constraints.deterministic)
    if (std::string why = variation(config, varies); !why.empty()) return why;
  for (const auto& note : constraints.notes)
    if (!has_note(config, note)) return fmt::format("it does not have the note {}", note);
  return "";
}

}  // namespace

const std::vector<std::string>& note_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all(std::begin(numerical_note_names), std::end(numerical_note_names));
    all.insert(all.end(), std::begin(behavior_note_names), std::end(behavior_note_names));
    return all;
  }();
  return names;
}

void leave_out(WalkFindings& findings, const Constraints& constraints, const Varies& varies) {
  if (constraints.empty()) return;
  for (auto& config : findings.engine_configs) {
    config.left_out.reset();
    if (!config.check.supported) continue;
    if (std::string why = breach(config, constraints, varies); !why.empty()) config.left_out = std::move(why);
  }
}

const EngineConfigFindings* displaced_choice(const WalkFindings& findings) {
  for (const auto& config : findings.engine_configs)
    if (config.check.supported) return config.left_out ? &config : nullptr;
  return nullptr;
}

}  // namespace attnprobe::probe
