// What somebody who asks for ways out gets: a result, with them, and the GPUs that need none.
#pragma once

#include <string>
#include <vector>

#include "campaign/ask.hpp"

namespace attnprobe::campaign {

struct Suggested {
  Answer result;
  std::vector<std::string> gpus;  ///< representative ones, by id, on which the same config is a yes; none of a yes
};

/// The kinds of changes that are not to be made, from words as "dtype,layout". `place` begins the message of
/// Error(usage) for a word that is none.
std::set<std::string> read_kept(const std::vector<std::string>& words, const std::string& place);

/// Asks the plan's one group, looks for ways out, and asks the other GPUs about what is refused. `plan.suggest` must be
/// set; what it keeps counts for "cudnn" and "target" too. Throws as ask(); once the session is stopped, what is there so
/// far.
std::vector<Suggested> suggest(Plan plan, const Session& session, const OnAnswer& on_answer = {});

}  // namespace attnprobe::campaign
