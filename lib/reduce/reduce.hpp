// A config made smaller while it fails in the same way, for a bug report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/answer.hpp"
#include "attention/spec.hpp"
#include "base/json.hpp"

namespace attnprobe::reduce {

/// What must stay the same: the verdict, and of a refusal its category, status and sentence (without the C++ behind it),
/// of a crash the signal.
struct Failure {
  answer::Verdict verdict = answer::Verdict::supported;
  bool asked = true;  ///< false: the machine could not be asked, which is no answer
  std::string category, status, reason, how;
  bool operator==(const Failure&) const = default;
};

Failure failure_of(const answer::Answer& result);
/// "unsupported, head_dim: Embedding dim per head …".
std::string text_of(const Failure& failure);

/// Gives what became of a config.
using Ask = std::function<Failure(const attention::AttentionSpec& spec)>;

/// One config that was tried.
struct Trial {
  std::string what;  ///< "without --bias", "--seqlen-q 64"
  bool kept = false;
  std::string answer;  ///< text_of(), where it was not kept
};

struct Reduced {
  attention::AttentionSpec spec;
  Failure failure;
  std::vector<Trial> trials;
  bool ended = true;  ///< false: the limit of trials came first, and it may go on getting smaller
};

/// A config as the fields that it gives, which can be left out or changed one by one.
Json fields_of(const attention::AttentionSpec& spec);
/// The config of such fields. None where they contradict each other, or one is missing.
std::optional<attention::AttentionSpec> spec_of(const Json& fields);

/// Greedy, the same way each time: fields off one by one, what a field holds likewise, then sizes down to 1 or, by
/// halving, as far as they go (multiples of 8 from 8 on), from the beginning until nothing more goes. The pattern stays. Each
/// step was asked. Throws Error(usage) where the config does not fail, Error(environment) where it could not be asked.
Reduced reduce(const attention::AttentionSpec& spec, const Ask& ask, size_t most_trials = 500);

}  // namespace attnprobe::reduce
