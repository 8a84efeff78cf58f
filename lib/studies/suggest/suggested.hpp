// The answer of `suggest`: a result with its ways out, and the GPUs where it works unchanged.
#pragma once

#include <string>
#include <vector>

#include "ask/ask.hpp"

namespace attnprobe::studies {

/// Other head dimensions, which make another model, and the ids of the GPUs on which they work.
struct OtherModel {
  int64_t head_dim_qk = 0, head_dim_v = 0;
  std::vector<std::string> gpus;
};

struct Suggested {
  answer::Answer result;
  std::vector<std::string> gpus;  ///< ids of representative GPUs on which the same config is a yes; empty for a yes
  /// The nearest shape that works on all representative GPUs where any works, then nearer shapes for single GPUs. Empty
  /// if no shape works on the result's own target.
  std::vector<OtherModel> other_models;
};

/// The excluded kinds of changes, from words such as "dtype,layout". `place` is the prefix of the Error(usage) for an unknown
/// word.
std::set<std::string> read_kept(const std::vector<std::string>& words, const std::string& place);

/// Asks the plan's one group, searches for ways out, and asks about refused configs on the other GPUs. `plan.suggest`
/// must be set; its `keep` also applies to "cudnn" and "target". Throws like ask(); if the session is stopped, returns
/// the results so far.
std::vector<Suggested> suggest(asking::Plan plan, const asking::Session& session,
                               const asking::OnAnswer& on_answer = {});

}  // namespace attnprobe::studies
