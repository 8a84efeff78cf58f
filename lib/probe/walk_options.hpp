// Options of a walk: plain data, without cuDNN's headers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "probe/how_far.hpp"

namespace attnprobe::probe {

ATTNPROBE_ENUM(Engines, heuristic, all, knobs)

}  // namespace attnprobe::probe

namespace attnprobe {
template <>
struct EnumNames<probe::Plans> {
  static constexpr std::array<std::pair<probe::Plans, std::string_view>, 6> table{{
      {probe::Plans::none, "none"},
      {probe::Plans::first, "first"},
      {probe::Plans::build, "build"},
      {probe::Plans::run, "run"},
      {probe::Plans::run_first, "run_first"},
      {probe::Plans::automatic, "auto"},
  }};
};
}  // namespace attnprobe

namespace attnprobe::probe {

/// Whether plans are executed, which needs a GPU of this machine.
inline bool executes(Plans plans) {
  return plans == Plans::run || plans == Plans::run_first;
}

ATTNPROBE_JSON_ENUM(Plans)

/// An engine config to check regardless of the heuristics, reported as a mode with the given name.
struct NamedConfig {
  std::string mode;
  int64_t engine = 0;
  std::map<std::string, int64_t> knobs;
};
ATTNPROBE_JSON(NamedConfig, mode, engine, knobs)

struct WalkOptions {
  std::vector<std::string> modes{"A", "B", "FALLBACK"};  ///< cuDNN's heuristic modes, by its names
  Engines engines = Engines::heuristic;
  Plans plans = Plans::none;
  bool sweep_where_none = true;    ///< tries every engine and knob if no heuristic has a viable config, and then
                                   ///< changes of the problem
  bool until_works = false;        ///< without plans: stops at the first mode with a viable config, which settles the
                                   ///< answer and the first choice
  bool keep_log = false;           ///< raw callback text in the findings
  std::vector<NamedConfig> named;  ///< asked before the modes
};
ATTNPROBE_JSON(WalkOptions, modes, engines, plans, sweep_where_none, until_works, keep_log, named)

}  // namespace attnprobe::probe
