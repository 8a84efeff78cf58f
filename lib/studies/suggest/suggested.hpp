// The answer of `suggest`: a result with its ways out, and the GPUs that need none.
#pragma once

#include <string>
#include <vector>

#include "ask/ask.hpp"

namespace attnprobe::studies {

/// Head dimensions of another model that work on these GPUs, by id.
struct OtherModel {
  int64_t head_dim_qk = 0, head_dim_v = 0;
  std::vector<std::string> gpus;
};

struct Suggested {
  answer::Answer result;
  std::vector<std::string> gpus;  ///< representative ones, by id, on which the same config is a yes; empty for a yes
  /// The nearest shape for every representative GPU that has one, then nearer shapes of single GPUs. Empty if no shape
  /// works on the result's own target.
  std::vector<OtherModel> other_models;
};

/// The excluded kinds of changes, from words such as "dtype,layout". `place` is the prefix of the Error(usage) for an unknown
/// word.
std::set<std::string> read_kept(const std::vector<std::string>& words, const std::string& place);

/// Asks the plan's one group, searches for ways out, and asks the other GPUs about refused configs. `plan.suggest` must
/// be set; its `keep` applies to "cudnn" and "target" too. Throws like ask(); once the session is stopped, returns the
/// results so far.
std::vector<Suggested> suggest(asking::Plan plan, const asking::Session& session,
                               const asking::OnAnswer& on_answer = {});

}  // namespace attnprobe::studies
