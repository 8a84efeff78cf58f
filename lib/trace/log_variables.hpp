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
  std::vector<std::pair<std::string, std::string>> set;  ///< variables to set in addition to the program's own
  /// Variables of the user that limit the trace, one sentence each.
  std::vector<std::string> kept;
};

/// A variable's value; none if not set.
using GetVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// Makes cuDNN (level 3, the only level with graphs; docs/logs.md) and cudnn-frontend log to files of the folder.
/// Transformer Engine can only print to standard error, so its log is enabled only if the trace reads that. Does not
/// change variables that are already set.
LogVariables log_variables(const LogFolder& folder, bool reads_stderr, const GetVariable& get);

/// This process's own environment.
std::optional<std::string> own_variable(const std::string& name);

}  // namespace attnprobe::trace
