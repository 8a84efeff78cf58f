#include "trace/log_variables.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace attnprobe::trace {
namespace {

struct LogVariable {
  const char* name;
  std::string value;
  const char* without;  // what is lost if the user's own value is kept
};

}  // namespace

LogVariables log_variables(const LogFolder& folder, bool reads_stderr, const GetVariable& get) {
  std::vector<LogVariable> wanted = {
      {"CUDNN_LOGLEVEL_DBG", "3", "only level 3 shows graphs"},
      {"CUDNN_LOGDEST_DBG", folder.cudnn_pattern(), "cuDNN's log goes there, and attnprobe does not read it"},
      {"CUDNN_FRONTEND_LOG_INFO", "1", "cudnn-frontend reports its own refusals at level 1"},
      {"CUDNN_FRONTEND_LOG_FILE", folder.frontend_file(),
       "cudnn-frontend's log goes there, and attnprobe does not read it"}};
  if (reads_stderr) {
    wanted.push_back({"NVTE_DEBUG", "1", "at 1 Transformer Engine says why it avoids cuDNN"});
    wanted.push_back({"NVTE_DEBUG_LEVEL", "2", "at 2 Transformer Engine says why it avoids cuDNN"});
  }
  LogVariables variables;
  for (const auto& [name, value, without] : wanted) {
    const auto own = get(name);
    if (!own)
      variables.set.emplace_back(name, value);
    else if (*own != value)
      variables.kept.push_back(
          fmt::format("{}={} is already set and stays: {}; unset {} to change that", name, *own, without, name));
  }
  return variables;
}

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace attnprobe::trace
