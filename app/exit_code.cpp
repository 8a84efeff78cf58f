#include "exit_code.hpp"

#include <algorithm>

namespace attnprobe::app {
namespace {

using answer::Severity;

int code_of(Severity gravest) {
  switch (gravest) {
    case Severity::as_expected:
      return all_met;
    case Severity::not_as_expected:
      return not_met;
    case Severity::lost:
      return probe_lost;
    case Severity::wrong_result:
      return wrong_result;
    case Severity::lacks_memory:
    case Severity::environment:
      break;
  }
  return environment_lacks;
}

}  // namespace

int exit_code(ErrorKind kind) {
  if (kind == ErrorKind::usage) return bad_usage;
  return kind == ErrorKind::environment ? environment_lacks : probe_lost;
}

int exit_code(const report::Results& results) {
  Severity gravest = Severity::as_expected;
  for (const answer::Answer* result : results) gravest = std::max(gravest, result->severity);
  return code_of(gravest);
}

int exit_code(const report::CellTable& table) {
  Severity gravest = Severity::as_expected;
  for (const report::CellAnswer& answer : table.answers) gravest = std::max(gravest, answer.severity);
  return code_of(gravest);
}

int exit_code(const report::CellTable& table, const std::function<bool(const report::Cell& cell)>& fails) {
  Severity gravest = Severity::as_expected;
  for (const report::Cell& cell : table.cells) {
    const report::CellAnswer& answer = table.answer(cell);
    if (answer.environment_broken || fails(cell))
      gravest = std::max({gravest, answer.severity, Severity::not_as_expected});
  }
  return code_of(gravest);
}

}  // namespace attnprobe::app
