// The environment variables that make cuDNN, cudnn-frontend and Transformer Engine write logs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/log_folder.hpp"

namespace attnprobe::trace {

struct LogVariables {
  std::vector<std::pair<std::string, std::string>> set;  ///< what the program gets beside its own
  /// Where the user's own value stands in the way: one sentence each.
  std::vector<std::string> kept;
};

/// A variable's value; none where it is not set.
using GetVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// Of cuDNN (level 3, which alone shows graphs; docs/logs.md) and cudnn-frontend, to files of the folder. Transformer
/// Engine has no file of its own: it prints to standard error, and is asked to only where that is read. A variable that
/// is set stays as it is.
LogVariables log_variables(const LogFolder& folder, bool reads_stderr, const GetVariable& get);

/// This process' own environment.
std::optional<std::string> own_variable(const std::string& name);

}  // namespace attnprobe::trace
