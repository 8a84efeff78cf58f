// Runs other programs of this machine: pip, compute-sanitizer. Not installed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnprobe::fetch {

struct CommandEnd {
  int status = 0;  ///< exit status; 128 + signal if a signal ended it
  std::string out, err;
};

/// The first of these programs on PATH, or nullopt.
std::optional<std::string> first_on_path(const std::vector<std::string>& programs);

/// Runs a program to its end, without a shell and without standard input; searches PATH for `words[0]`. Calls
/// `waiting`, if not empty, several times a second; if it throws, kills the program and rethrows. `shows`: the output
/// goes to standard error and is not kept. Throws Error(environment) if the program cannot be started.
CommandEnd run_command(const std::vector<std::string>& words, const std::function<void()>& waiting = {},
                       bool shows = false);

}  // namespace attnprobe::fetch
