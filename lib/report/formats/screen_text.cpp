#include "report/formats/screen_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "answer/reasons.hpp"
#include "base/add_once.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/formats/notes.hpp"
#include "report/formats/run_text.hpp"

namespace attnprobe::report {
namespace {

using answer::Answer;
using answer::Usable;
using answer::Verdict;
using probe::EngineConfigFindings;

constexpr size_t label_width = 9;  // "  asked  "

// "engine 2, 3 more engine configs".
std::string working_summary(const Answer& result) {
  if (std::string fastest = fastest_summary(result); !fastest.empty()) return fastest;
  std::vector<const EngineConfigFindings*> working;
  // After the first built plan, the following ones were not built.
  const auto is_left = [&](const EngineConfigFindings& config) {
    return !working.empty() && config.check.supported && !config.plan && !config.modes.empty();
  };
  for (const auto& config : result.findings.engine_configs)
    if (probe::works(config, result.findings) || is_left(config)) working.push_back(&config);
  if (working.empty()) return "";
  const size_t more = working.size() - 1;
  return fmt::format("engine {}{}", working.front()->engine,
                     more == 0 ? "" : fmt::format(", {} more engine config{}", more, more == 1 ? "" : "s"));
}

// A paragraph with a label before its first line.
std::string labelled(std::string_view label, const std::string& text, const TextStyle& style) {
  std::string out = wrapped(text, label_width, style.width);
  if (out.empty()) return out;
  const std::string shown = style.colour ? coloured(std::string(label), "1;36") : std::string(label);
  out.replace(2, label.size(), shown);
  return out;
}

struct Fix {
  std::string text, command;  ///< command: shows the fix; "" if not confirmed
};

// Confirmed fixes first; for a but, then fixes from rules. Each once.
std::vector<Fix> fixes_of(const Answer& result) {
  std::vector<Fix> fixes;
  size_t probed = 0;
  const auto add = [&](std::string text, std::string command) {
    const auto same = [&](const Fix& fix) { return fix.text == text; };
    if (!text.empty() && std::none_of(fixes.begin(), fixes.end(), same))
      fixes.push_back({std::move(text), std::move(command)});
  };
  if (result.root_cause) {
    for (const auto& advice : result.root_cause->advice) {
      const size_t end = advice.find('\n');
      add(advice.substr(0, end) + " (probed)", end == std::string::npos ? "" : advice.substr(end + 1));
    }
    // A rule's requirement is better advice than the general advice for this kind of refusal.
    if (fixes.empty() && (result.requirements.empty() || result.by_rule) && !result.root_cause->in_general.empty())
      add(result.root_cause->in_general + " (untested)", "");
  } else {
    for (const auto& way : result.ways_out) add(text_of(way) + " (probed)", way.reproduce);
    probed = fixes.size();
  }
  for (const auto& framework : result.frameworks)
    for (const auto& refusal : framework.refusals) add(refusal.change.empty() ? "" : refusal.change + " (by rule)", "");
  // A workaround for a bug does not fix a refusal.
  for (const auto& bug : result.warnings) {
    if (result.root_cause || bug.advice.empty()) continue;
    add(fmt::format("{} (by rule)", bug.advice.substr(0, bug.advice.find_last_not_of('.') + 1)), "");
  }
  // The cheapest confirmed fix, then fixes from rules, which are short, then the others.
  if (probed > 1) std::rotate(fixes.begin() + 1, fixes.begin() + static_cast<std::ptrdiff_t>(probed), fixes.end());
  return fixes;
}

// `attnprobe explain ID` has more on each.
std::string ids_of(const Answer& result, const TextStyle& style) {
  std::vector<std::string> ids;
  if (result.root_cause)
    for (const auto& requirement : result.requirements) ids.push_back(linked_id(requirement.id, style.colour));
  else
    for (const auto& bug : result.warnings) ids.push_back(linked_id(bug.id, style.colour));
  return ids.empty() ? "" : fmt::format("  [{}]", fmt::join(ids, "] ["));
}

void add_fixes(std::string& out, const Answer& result, size_t most, const TextStyle& style) {
  const auto fixes = fixes_of(result);
  for (size_t i = 0; i < std::min(most, fixes.size()); ++i) {
    out += labelled("fix", fixes[i].text, style);
    // A command must run as printed, so it is not wrapped.
    if (!fixes[i].command.empty()) out += std::string(label_width, ' ') + fixes[i].command + "\n";
  }
}

void add_frontend_engines(std::string& out, const Answer& result, const TextStyle& style) {
  for (const auto& engine : frontend_engines_beside(result))
    out += labelled("also", "cudnn-frontend's own engine from Python: " + rules::text_of(engine), style);
}

// A plan that this machine could not compile.
void add_uncompiled(std::string& out, const Answer& result, const TextStyle& style) {
  for (const auto& config : result.findings.engine_configs) {
    if (!config.plan) continue;
    const probe::PlanOutcome outcome = outcome_of(*config.plan);
    if (outcome != probe::PlanOutcome::needs_driver && outcome != probe::PlanOutcome::needs_compiler) return;
    const auto* decisive = answer::decisive_reason(config.plan->reasons);
    out += labelled("note",
                    fmt::format("the plan was not compiled: it needs {}{}",
                                outcome == probe::PlanOutcome::needs_driver ? "the GPU's driver" : "NVRTC",
                                decisive == nullptr ? "" : ": " + decisive->reason),
                    style);
    return;
  }
}

// The notes on the frameworks' calls, without duplicates.
void add_framework_notes(std::string& out, const Results& results, const TextStyle& style) {
  constexpr size_t most_frameworks = 3, most = 4;
  std::vector<std::string> notes;
  for (const Answer* result : results) {
    if (result->frameworks.size() > most_frameworks) continue;
    for (const auto& framework : result->frameworks)
      for (const std::string& note : framework.notes) add_once(notes, note);
  }
  for (size_t i = 0; i < std::min(most, notes.size()); ++i) out += labelled("note", notes[i], style);
}

// The config's own name; "" if it has only the name of its pattern.
std::string own_name(const Answer& result) {
  const std::string& name = result.config.spec.name;
  return name == name_of(result.config.spec.pattern) ? "" : name;
}

// The line that begins with the answer's word; wrapped lines are indented by two columns.
std::string opening(const Answer& result, const std::string& rest, const TextStyle& style) {
  const std::string_view word = name_of(word_of(result));
  std::string text = wrapped(fmt::format("{}{}", word, rest), 2, style.width);
  text.erase(0, 2);
  return text.replace(0, word.size(), coloured_word(result, style));
}

std::string text_of_one(const Answer& result, const TextStyle& style) {
  const std::string name = own_name(result), account = account_text(result);
  std::string out = framework_lines({&result});
  if (!name.empty()) out += bold(name, style) + "\n";
  out += opening(
      result,
      fmt::format("{}{}{}", expectation_mark(result), account.empty() ? "" : ": " + account, ids_of(result, style)),
      style);
  out += labelled("asked", fmt::format("{} on {}", description_of(result), target_text(result)), style);
  if (result.root_cause) {
    out += labelled("why", result.root_cause->explanation, style);
    if (!result.by_rule)
      for (const auto& requirement : result.requirements) out += labelled("rule", requirement.text, style);
    if (result.crash && !result.crash->output.empty()) out += labelled("said", result.crash->output, style);
  }
  if (result.usable != Usable::but)
    for (const auto& bug : result.warnings) out += labelled("note", bug.what, style);
  add_fixes(out, result, 3, style);
  add_frontend_engines(out, result, style);
  add_framework_notes(out, {&result}, style);
  add_uncompiled(out, result, style);
  if (result.from)
    out += labelled("since", text_of(*result.from) + (result.frameworks.empty() ? "" : ", for cuDNN itself"), style);
  return out;
}

// Results with a common reason, and the reason's text.
struct Reason {
  answer::Word word;
  std::string text;
  Results results;
};

std::vector<Reason> reasons_of(const Results& results) {
  std::vector<Reason> reasons;
  for (const Answer* result : results) {
    if (result->usable == Usable::yes && met_expectation(*result)) continue;
    const answer::Word word = word_of(*result);
    const std::string text = account_text(*result);
    const auto same = [&](const Reason& reason) { return reason.word == word && reason.text == text; };
    const auto found = std::find_if(reasons.begin(), reasons.end(), same);
    if (found == reasons.end())
      reasons.push_back({word, text, {result}});
    else
      found->results.push_back(result);
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.results.size() > b.results.size(); });
  return reasons;
}

std::string row_name(const Answer& result) {
  const std::string name = own_name(result);
  return name.empty() ? description_of(result) : name;
}

// "rtx4090, h100: bert": only the first if there are many; without configs if all share the reason.
std::string places_of(const Reason& reason, size_t all_rows) {
  std::vector<std::string> targets, rows;
  for (const Answer* result : reason.results) {
    add_once(targets, result->target.id);
    add_once(rows, row_name(*result));
  }
  constexpr size_t most = 4;
  const auto listed = [&](std::vector<std::string> words) {
    const size_t left = words.size() > most ? words.size() - most : 0;
    words.resize(words.size() - left);
    return fmt::format("{}{}", fmt::join(words, ", "), left == 0 ? "" : fmt::format(" and {} more", left));
  };
  return listed(targets) + (rows.size() < all_rows ? fmt::format(": {}", listed(rows)) : "");
}

// The requested frameworks' decisions; decisions that are equal for all configs appear once.
std::string framework_lines_of(const Results& results) {
  std::vector<std::string> lines;
  for (const Results& row : answers_by_config(results))
    for (const std::string& line : split(framework_lines(row), '\n'))
      if (!line.empty()) add_once(lines, line);
  return lines.empty() ? "" : fmt::format("{}\n", fmt::join(lines, "\n"));
}

// Targets with the same answers, and the answer for each row; nullptr: none.
struct Column {
  std::vector<std::string> targets;
  Results cells;

  std::string title() const {
    return targets.size() == 1 ? targets[0] : fmt::format("{} +{}", targets[0], targets.size() - 1);
  }
};

std::string cell_text(const Answer* result, const TextStyle& style) {
  return result == nullptr ? "-" : coloured_word(*result, style) + (is_unmet(*result) ? "!" : "");
}

std::vector<Column> columns_of(const std::vector<Results>& rows, const std::vector<std::string>& targets) {
  std::vector<Column> columns;
  for (const auto& target : targets) {
    Column column{{target}, {}};
    for (const Results& row : rows) {
      const auto found = std::find_if(row.begin(), row.end(), [&](const Answer* r) { return r->target.id == target; });
      column.cells.push_back(found == row.end() ? nullptr : *found);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Column> merged(const std::vector<Column>& columns) {
  const auto same = [](const Column& a, const Column& b) {
    return std::equal(a.cells.begin(), a.cells.end(), b.cells.begin(), [](const Answer* x, const Answer* y) {
      return cell_text(x, {.colour = false}) == cell_text(y, {.colour = false});
    });
  };
  std::vector<Column> groups;
  for (const Column& column : columns) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Column& one) { return same(one, column); });
    if (found == groups.end())
      groups.push_back(column);
    else
      found->targets.push_back(column.targets[0]);
  }
  return groups;
}

std::string grid_of(const Results& results, const TextStyle& style) {
  constexpr size_t word_width = 4, apart = 2;  // "but!"
  std::vector<std::string> targets;
  const std::vector<Results> rows = answers_by_config(results);
  for (const Answer* result : results) add_once(targets, result->target.id);
  size_t name_width = 0;
  for (const Results& row : rows) name_width = std::max(name_width, row_name(*row.front()).size());
  const auto width_of = [&](const Column& column) { return apart + std::max(column.title().size(), word_width); };
  std::vector<Column> columns = columns_of(rows, targets);
  size_t whole = name_width;
  for (const Column& column : columns) whole += width_of(column);
  const bool groups = whole > style.width;
  if (groups) columns = merged(columns);
  std::string out;
  // One config on many GPUs needs no grid.
  if (groups && rows.size() == 1) {
    out = bold(row_name(*rows[0].front()), style) + "\n";
    for (const Column& column : columns) {
      const std::string list = fmt::format("{} on {}: {}", cell_text(column.cells[0], {.colour = false}),
                                           column.targets.size(), fmt::join(column.targets, ", "));
      out += wrapped(list, 2, style.width);
    }
    return out;
  }
  for (size_t begin = 0, end = 0; begin < columns.size(); begin = end) {
    size_t used = name_width;
    while (end < columns.size() && (end == begin || used + width_of(columns[end]) <= style.width))
      used += width_of(columns[end++]);
    std::vector<std::vector<std::string>> lines{{""}};
    for (size_t i = begin; i < end; ++i) lines[0].push_back(columns[i].title());
    for (size_t row = 0; row < rows.size(); ++row) {
      lines.push_back({row_name(*rows[row].front())});
      for (size_t i = begin; i < end; ++i) lines.back().push_back(cell_text(columns[i].cells[row], style));
    }
    out += (begin == 0 ? "" : "\n") + aligned(lines, 0);
  }
  for (const Column& column : columns)
    if (column.targets.size() > 1)
      out += wrapped(fmt::format("{}: {}", column.title(), fmt::join(column.targets, ", ")), 2, style.width);
  return out;
}

}  // namespace

std::string description_of(const Answer& result) {
  return result.given ? result.given->description : describe(result.config.spec);
}

std::string target_text(const Answer& result) {
  return fmt::format("{} (sm_{}{})", result.target.name, result.target.sm,
                     result.target.kind == gpu::Kind::simulated ? ", simulated" : "");
}

std::string bold(const std::string& text, const TextStyle& style) {
  return style.colour ? coloured(text, "1") : text;
}

bool is_unmet(const Answer& result) {
  return result.config.spec.expect.is_given && !met_expectation(result);
}

std::vector<Results> answers_by_config(const Results& results) {
  std::vector<Results> rows;
  for (const Answer* result : results) {
    const bool begins = rows.empty() || std::any_of(rows.back().begin(), rows.back().end(), [&](const Answer* other) {
                          return other->target.id == result->target.id;
                        });
    if (begins) rows.emplace_back();
    rows.back().push_back(result);
  }
  return rows;
}

std::string account_text(const Answer& result) {
  if (result.by_rule) {
    if (result.verdict != Verdict::supported) return "by rule, " + short_reason(result);
    return result.but.empty() ? "by rule: nothing refuses it" : "by rule, " + obstacles_summary(result);
  }
  if (result.verdict != Verdict::supported) return short_reason(result);
  return result.usable == Usable::but ? obstacles_summary(result) : working_summary(result);
}

std::string expectation_mark(const Answer& result) {
  if (is_unmet(result)) return fmt::format(" (expected {})", name_of(expected(result)));
  return result.config.spec.expect.is_given && result.verdict != Verdict::supported ? " (expected)" : "";
}

std::string coloured_word(const Answer& result, const TextStyle& style) {
  std::string word(name_of(word_of(result)));
  if (!style.colour) return word;
  return coloured(word, result.usable == Usable::yes             ? "1;32"
                        : result.usable == Usable::but           ? "1;33"
                        : result.verdict == Verdict::unsupported ? "1;31"
                                                                 : "1;35");
}

std::string screen_text(const Results& results, const TextStyle& style) {
  if (results.size() == 1) return text_of_one(*results.front(), style);
  const auto reasons = reasons_of(results);
  std::vector<std::string> names;
  for (const Answer* result : results) add_once(names, row_name(*result));
  std::string out = framework_lines_of(results) + grid_of(results, style);
  constexpr size_t most = 8;
  for (size_t i = 0; i < std::min(most, reasons.size()); ++i) {
    const Answer& first = *reasons[i].results.front();
    out += "\n" + opening(first,
                          fmt::format(" on {}: {}{}", places_of(reasons[i], names.size()), reasons[i].text,
                                      ids_of(first, style)),
                          style);
    add_fixes(out, first, reasons.size() <= 3 ? 2 : 1, style);
    add_frontend_engines(out, first, style);
  }
  std::string notes;
  add_framework_notes(notes, results, style);
  if (!notes.empty()) out += "\n" + notes;
  if (reasons.size() > most) out += fmt::format("\n{} more reasons: -v\n", reasons.size() - most);
  return out;
}

}  // namespace attnprobe::report
