// What attnprobe's exit status says.
#pragma once

#include "base/error.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {

enum ExitCode {
  all_met = 0,            ///< every result met its expectation
  not_met = 1,            ///< one did not
  bad_usage = 2,          ///< bad command line or config
  environment_lacks = 3,  ///< the environment lacks something
  probe_lost = 4,         ///< a probe crashed or timed out
  wrong_result = 5,       ///< a supported plan computed a wrong result
  interrupted = 130,      ///< Ctrl-C or SIGTERM: what was finished is reported
};

inline int exit_code(ErrorKind kind) {
  if (kind == ErrorKind::usage) return bad_usage;
  return kind == ErrorKind::environment ? environment_lacks : probe_lost;
}

/// The gravest of the results: a broken environment says nothing about the rest, a wrong result is worse than a lost
/// one, and both are worse than an answer that differs from the expected one. Memory that one config lacks does not
/// hide what became of the others.
inline int exit_code(const report::Results& results) {
  int code = all_met;
  bool lacks_memory = false;
  auto at_least = [&](int candidate) {
    constexpr int gravity[] = {0, 1, 5, 4, 2, 3};  // by exit code
    if (gravity[candidate] > gravity[code]) code = candidate;
  };
  for (const campaign::Result* result : results) {
    using campaign::Verdict;
    const bool too_large = result->environment_broken && result->root_cause->category == diagnose::Category::memory;
    lacks_memory = lacks_memory || too_large;
    if (result->environment_broken && !too_large) at_least(environment_lacks);
    if (result->verdict == Verdict::wrong_result || has_wrong_plan(*result)) at_least(wrong_result);
    if (result->verdict == Verdict::crashed || result->verdict == Verdict::timeout || has_lost_plan(*result))
      at_least(probe_lost);
    if (!met_expectation(*result)) at_least(not_met);
  }
  return lacks_memory && code == not_met ? environment_lacks : code;
}

}  // namespace attnprobe::app
