// The command that repeats a question; the only code that converts options to a command line.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "ask/plan.hpp"

namespace attnprobe::asking {

/// The options that differ from their defaults, each with a leading space: " --mode A --plans build --seed 7". Excludes
/// question, target and cuDNN. `sweeps_by_default`: a probe sweeps if nothing works, a matrix does not.
std::string options_text(const PlanOptions& options, bool sweeps_by_default);

/// The --cudnn word for the library at `path` with this version (0: unknown): the version if it resolves to this exact
/// build, otherwise the path.
std::string cudnn_word(const std::string& path, CudnnVersion version);

/// cudnn_word() for repeated use: searching for libraries is slow. Entries expire after a few seconds, because the user
/// may install a library. Thread-safe.
class LibraryWords {
 public:
  std::string word(const std::string& path, CudnnVersion version);
  /// None: not in the cache.
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

/// The command that asks a question, with the options of a probe but without a target.
std::string question_command(const Question& question, const PlanOptions& options);
std::string question_command(const attention::AttentionSpec& spec, const PlanOptions& options);

/// The parts of a command, quoted for the shell.
struct CommandParts {
  std::string question, target, cudnn;
};
std::string joined_command(const CommandParts& parts);

/// The whole command: `question` from question_command(), `cudnn` from cudnn_word().
std::string reproduce_command(const std::string& question, const gpu::Target& target, const std::string& cudnn);

/// Splits such a command; none for any other text.
std::optional<CommandParts> parts_of_command(const std::string& command);

}  // namespace attnprobe::asking
