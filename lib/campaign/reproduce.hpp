// The command that asks again: the one place where options become words of a command line.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "campaign/plan.hpp"

namespace attnprobe::campaign {

/// What of the options is not a default, each option with a space before it: " --mode A --plans build --seed 7". Without
/// question, target and cuDNN. `sweeps_by_default`: a probe looks further where nothing works, a matrix does not.
std::string options_text(const PlanOptions& options, bool sweeps_by_default);

/// How --cudnn names the library at `path`, which says that it is of this version (0: not known): by the version where
/// that finds this very build, else by its path.
std::string cudnn_word(const std::string& path, CudnnVersion version);

/// cudnn_word() for who needs it often: libraries are looked for in many folders. What is a few seconds old is looked up
/// anew, since one may have been installed. May be used by several threads.
class LibraryWords {
 public:
  std::string word(const std::string& path, CudnnVersion version);
  /// None: it would have to be looked up.
  std::optional<std::string> known(const std::string& path, CudnnVersion version);

 private:
  struct Entry {
    std::string word;
    std::chrono::steady_clock::time_point time;
  };
  std::optional<std::string> find(const std::string& path, CudnnVersion version) const;

  std::mutex mutex_;
  std::map<std::pair<std::string, CudnnVersion>, Entry> entries_;
};

/// The command that asks a question, on no target yet, with the options of a probe.
std::string question_command(const Question& question, const PlanOptions& options);
std::string question_command(const attention::AttentionSpec& spec, const PlanOptions& options);

/// What a command is made of, as the shell takes it.
struct CommandParts {
  std::string question, target, cudnn;
};
std::string joined_command(const CommandParts& parts);

/// The whole command: `question` of question_command(), `cudnn` of cudnn_word().
std::string reproduce_command(const std::string& question, const gpu::Target& target, const std::string& cudnn);

/// Such a command taken apart again; none of a text that is not one.
std::optional<CommandParts> parts_of_command(const std::string& command);

}  // namespace attnprobe::campaign
