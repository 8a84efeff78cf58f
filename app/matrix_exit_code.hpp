// What attnprobe's exit status says of a matrix.
#pragma once

#include <algorithm>

#include "exit_code.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::app {

/// The gravest of the cells, as exit_code() of results.
inline int exit_code(const report::CellTable& table) {
  auto ran_as = [](const report::CellAnswer& answer, std::initializer_list<const char*> words) {
    return std::any_of(answer.engines.begin(), answer.engines.end(), [&](const auto& engine) {
      return std::find(words.begin(), words.end(), engine.run) != words.end();
    });
  };
  bool unmet = false, lost = false, wrong = false, lacks = false;
  for (const report::CellAnswer& answer : table.answers) {
    lacks = lacks || (answer.verdict == "error" && answer.category == "environment");
    wrong = wrong || answer.verdict == "wrong_result" || ran_as(answer, {"wrong_result"});
    lost = lost || answer.verdict == "crashed" || answer.verdict == "timeout" ||
           ran_as(answer, {"crashed", "timeout", "cuda_error"});
    unmet = unmet || !answer.met;
  }
  if (lacks) return environment_lacks;
  if (wrong) return wrong_result;
  if (lost) return probe_lost;
  return unmet ? not_met : all_met;
}

}  // namespace attnprobe::app
