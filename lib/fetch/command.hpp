// Programs of the machine that do a part of the work: pip, compute-sanitizer. Not installed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprobe::fetch {

struct CommandEnd {
  int status = 0;  ///< exit status; 128 + signal for one that a signal ended
  std::string out, err;
};

/// The first of these programs that PATH has; none: nullopt.
std::optional<std::string> first_on_path(const std::vector<std::string>& programs);

/// Runs a program to its end, without a shell and with no standard input; `words[0]` is looked for on PATH. `waiting`, which may be
/// empty, is called some times a second meanwhile; what it throws kills the program and goes on. `shows`: its output goes to
/// standard error, and nothing of it is kept. Throws Error(environment) where it cannot be started.
CommandEnd run_command(const std::vector<std::string>& words, const std::function<void()>& waiting = {},
                       bool shows = false);

}  // namespace attnprobe::fetch
