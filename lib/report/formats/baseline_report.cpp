#include "report/formats/baseline_report.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/number.hpp"
#include "base/printable.hpp"
#include "report/formats/junit_text.hpp"
#include "report/formats/markdown_text.hpp"

namespace attnprobe::report {
namespace {

// Limits of lists: a page of a thousand rows is useless.
constexpr size_t most_failures = 200, most_beside = 10;

constexpr std::array<std::pair<LockStep, std::string_view>, 5> step_words{{{LockStep::worse, "worse"},
                                                                           {LockStep::better, "better"},
                                                                           {LockStep::changed, "changed"},
                                                                           {LockStep::fresh, "new"},
                                                                           {LockStep::unasked, "not asked"}}};

// "9.14.0 -> 9.19.0" if the baseline has another version.
std::string versions_text(const LockChange& change) {
  if (!change.after) return change.before->cudnn;
  if (!change.before || change.before->cudnn == change.after->cudnn) return change.after->cudnn;
  return fmt::format("{} -> {}", change.before->cudnn, change.after->cudnn);
}

// cuDNN's reason, or the obstacles.
std::string reason_of(const CellTable& table, const Cell& cell) {
  const CellAnswer& answer = table.answer(cell);
  if (answer.word == answer::Word::but) return obstacles_text(answer);
  return answer.reason.empty() ? answer.explanation : answer.reason;
}

std::string was_text(const BaselineReport& report, const LockedCell& before) {
  return fmt::format("{} ({}:{})", answer_text(before), report.file, before.line);
}

std::string counts_of_others(const LockComparison& comparison) {
  std::string text;
  for (const auto& [step, word] : step_words)
    if (const size_t count = comparison.count(step); count > 0 && step != LockStep::worse)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  return text;
}

std::string change_text(const BaselineReport& report, const LockChange& change, size_t width) {
  const LockedCell& named = change.after ? *change.after : *change.before;
  std::string text =
      wrapped(fmt::format("{} on {}, cuDNN {}", named.config, named.target, versions_text(change)), 2, width);
  if (change.before) text += wrapped("was: " + was_text(report, *change.before), 6, width);
  if (!change.after) return text;
  const std::string reason =
      change.step == LockStep::worse || change.step == LockStep::changed ? reason_of(*report.table, *change.cell) : "";
  return text +
         wrapped(fmt::format("is: {}{}{}", answer_text(*change.after), reason.empty() ? "" : ": ", reason), 6, width);
}

std::string table_head(std::string_view title, size_t count, std::string_view third) {
  return fmt::format(
      "\n### {} ({})\n\n| config | GPU | cuDNN | {} | is | reason | workaround |\n| --- | --- | --- | --- | --- | --- | --- |\n",
      title, count, third);
}

std::string row(const std::array<std::string, 7>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += fmt::format(" {} |", markdown_text(cell));
  return text + "\n";
}

std::string and_more(size_t count, size_t most) {
  return count > most ? fmt::format("\n… and {} more\n", count - most) : "";
}

}  // namespace

std::string baseline_headline(const BaselineReport& report) {
  const LockComparison& comparison = report.comparison;
  std::string text =
      fmt::format("{}: {} compared: {}", report.file, counted(static_cast<int64_t>(comparison.compared), "cell"),
                  comparison.count(LockStep::worse) == 0 ? "nothing got worse"
                                                         : fmt::format("{} worse", comparison.count(LockStep::worse)));
  const std::string others = counts_of_others(comparison);
  if (!others.empty()) text += "; " + others;
  if (!report.missed.empty()) text += fmt::format("; {} not as its config expects", report.missed.size());
  return text;
}

std::string baseline_text(const BaselineReport& report, const TextStyle& style) {
  std::string text = baseline_headline(report) + "\n";
  for (const auto& [step, word] : step_words) {
    const size_t count = report.comparison.count(step), most = step == LockStep::worse ? most_failures : most_beside;
    if (count == 0) continue;
    const std::string head = fmt::format("{} ({})", word, count);
    text += "\n" + (style.colour ? coloured(head, step == LockStep::worse ? "1;31" : "1") : head) + "\n";
    size_t shown = 0;
    for (const LockChange& change : report.comparison.changes)
      if (change.step == step && shown++ < most) text += change_text(report, change, style.width);
    if (count > most) text += fmt::format("  … and {} more\n", count - most);
  }
  if (report.missed.empty()) return text;
  text += fmt::format("\nnot as expected ({})\n", report.missed.size());
  for (size_t i = 0; i < report.missed.size() && i < most_failures; ++i) {
    const Cell& cell = *report.missed[i];
    const CellAnswer& answer = report.table->answer(cell);
    text += wrapped(
        fmt::format("{} on {}, cuDNN {}: {}, expected {}", report.table->config(cell), report.table->target(cell).id,
                    report.table->cudnn(cell), name_of(outcome_word(answer)), answer.expect),
        2, style.width);
  }
  return text;
}

std::string baseline_markdown(const BaselineReport& report) {
  std::string text = fmt::format("## attnprobe: {}\n", markdown_text(baseline_headline(report)));
  if (const size_t count = report.comparison.count(LockStep::worse); count > 0) {
    text += table_head("Got worse", count, "was");
    size_t shown = 0;
    for (const LockChange& change : report.comparison.changes)
      if (change.step == LockStep::worse && shown++ < most_failures)
        text += row({change.after->config, change.after->target, versions_text(change),
                     was_text(report, *change.before), answer_text(*change.after),
                     reason_of(*report.table, *change.cell), helps_text(report.table->answer(*change.cell))});
    text += and_more(count, most_failures);
  }
  if (!report.missed.empty()) {
    text += table_head("Not as expected", report.missed.size(), "expected");
    for (size_t i = 0; i < report.missed.size() && i < most_failures; ++i) {
      const Cell& cell = *report.missed[i];
      const CellAnswer& answer = report.table->answer(cell);
      text += row({report.table->config(cell), report.table->target(cell).id, report.table->cudnn(cell), answer.expect,
                   std::string(name_of(outcome_word(answer))), reason_of(*report.table, cell), helps_text(answer)});
    }
    text += and_more(report.missed.size(), most_failures);
  }
  if (const std::string others = counts_of_others(report.comparison); !others.empty())
    text += fmt::format("\nNo failure: {}. `--update` writes today's answers into {}.\n", others,
                        markdown_text(report.file));
  return text;
}

std::map<const Cell*, std::string> baseline_failures(const BaselineReport& report) {
  std::map<const Cell*, std::string> messages;
  for (const Cell* cell : report.missed) {
    const CellAnswer& answer = report.table->answer(*cell);
    messages[cell] = fmt::format("{}, expected {}", name_of(outcome_word(answer)), answer.expect);
  }
  for (const LockChange& change : report.comparison.changes)
    if (change.step == LockStep::worse)
      messages[change.cell] = fmt::format("{}, was {}", answer_text(*change.after), was_text(report, *change.before));
  for (auto& [cell, message] : messages)
    if (const std::string reason = reason_of(*report.table, *cell); !reason.empty()) message += ": " + reason;
  return messages;
}

std::string baseline_junit(const BaselineReport& report) {
  const auto messages = baseline_failures(report);
  return junit_text(*report.table, [&](const Cell& cell) {
    const auto found = messages.find(&cell);
    return found == messages.end() ? "" : found->second;
  });
}

}  // namespace attnprobe::report
