// Reduces a config as long as it fails in the same way, for a bug report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/answer.hpp"
#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::reduce {

/// The properties that must not change: the verdict; for a refusal its category, status and sentence (without the C++
/// condition); for a crash the signal.
struct Failure {
  answer::Verdict verdict = answer::Verdict::supported;
  bool asked = true;  ///< false: no answer, because of the machine
  std::string category, status, reason, how;
  bool operator==(const Failure&) const = default;
};

Failure failure_of(const answer::Answer& result);
/// "unsupported, head_dim: Embedding dim per head …".
std::string text_of(const Failure& failure);

/// Returns the outcome of a config.
using Ask = std::function<Failure(const attention::AttentionSpec& spec)>;

/// One tried config.
struct Trial {
  std::string what;  ///< "without --bias", "--seqlen-q 64"
  bool kept = false;
  std::string answer;  ///< text_of(), if the step was not kept
};

struct Reduced {
  attention::AttentionSpec spec;
  Failure failure;
  std::vector<Trial> trials;
  bool ended = true;  ///< false: the limit of trials was reached; further reduction is possible
};

/// A config as its explicit fields, which can be removed or changed one by one.
Json fields_of(const attention::AttentionSpec& spec);
/// The config with such fields. None if they contradict each other, or one is missing.
std::optional<attention::AttentionSpec> spec_of(const Json& fields);

/// Greedy and deterministic. Removes fields one by one, then members of fields, then reduces sizes to 1 or, by halving,
/// as far as possible. Sizes of 8 and more remain multiples of 8. Repeats until nothing changes. Keeps the pattern.
/// Asks about each step. Throws Error(usage) if the config does not fail, Error(environment) if it cannot be asked.
Reduced reduce(const attention::AttentionSpec& spec, const Ask& ask, size_t most_trials = 500);

}  // namespace attnprobe::reduce
