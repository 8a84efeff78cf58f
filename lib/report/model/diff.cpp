#include "report/model/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/add_once.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "probe/plan_kernels.hpp"
#include "report/formats/markdown_text.hpp"

namespace attnprobe::report {
namespace {

using answer::Verdict;

using Key = std::tuple<std::string, std::string, std::string>;  // config, target, cuDNN

// The compared cells of a table, by name.
std::map<Key, const Cell*> named_cells(const CellTable& table, const std::string& version, bool by_version) {
  std::map<Key, const Cell*> cells;
  for (const Cell& cell : table.cells)
    if (version.empty() || table.cudnn(cell) == version)
      cells[{table.config(cell), table.target(cell).id, by_version ? table.cudnn(cell) : ""}] = &cell;
  return cells;
}

bool has_one_version(const CellTable& table, const std::string& version) {
  return !version.empty() || table.axes.cudnns.size() == 1;
}

// The part of a cell's text with the reason, or with the working engine config.
std::string account(const CellAnswer& answer) {
  std::string text(name_of(outcome_word(answer)));
  if (answer.verdict == Verdict::supported) {
    if (const std::string obstacles = obstacles_text(answer); !obstacles.empty()) text += ", " + obstacles;
    return text + fmt::format("; {} engine config{}", answer.viable, answer.viable == 1 ? " works" : "s work");
  }
  if (!answer.category.empty()) text += " (" + answer.category + ")";
  if (!answer.reason.empty())
    text += ": " + answer.reason;
  else if (!answer.status.empty())
    text += ": " + answer.status;
  return text;
}

std::string name_of_engine(const CellEngine& engine) {
  return fmt::format("engine {}{}{}", engine.engine, engine.knobs.empty() ? "" : " ", engine.knobs);
}

bool has_kernels(const CellEngine* engine) {
  return engine != nullptr && !engine->kernels.empty() &&
         std::all_of(engine->kernels.begin(), engine->kernels.end(), [](const auto& k) { return !k.identity.empty(); });
}

bool has_same_kernels(const CellEngine& a, const CellEngine& b) {
  return probe::identity_of(a.kernels) == probe::identity_of(b.kernels);
}

int64_t stack_of(const CellEngine& engine) {
  int64_t most = 0;
  for (const auto& kernel : engine.kernels) most = std::max(most, kernel.stack_bytes.value_or(0));
  return most;
}

// "168 registers, 32 B of stack, 22 KiB of code"; of several kernels the first.
std::string kernel_text(const CellEngine& engine) {
  const auto& kernel = engine.kernels.front();
  std::string text = fmt::format("{} registers", kernel.registers.value_or(0));
  if (const int64_t stack = stack_of(engine); stack > 0) text += fmt::format(", {} B of stack", stack);
  text += fmt::format(", {} of code", bytes_text(kernel.code_bytes.value_or(0)));
  if (engine.workspace_bytes.value_or(0) > 0)
    text += fmt::format(", {} of workspace", bytes_text(*engine.workspace_bytes));
  return text;
}

std::set<std::string> knob_names(const CellEngine& engine) {
  std::set<std::string> names;
  for (const auto& knob : split(engine.knobs, ' ')) names.insert(knob.substr(0, knob.find('=')));
  return names;
}

// cuDNN 9.23 writes the same choice with different knobs, so only the engine and its workspace are compared.
bool is_same_choice(const CellEngine& a, const CellEngine& b) {
  if (a.engine != b.engine) return false;
  return a.knobs == b.knobs || (knob_names(a) != knob_names(b) && a.workspace_bytes == b.workspace_bytes);
}

// Without the C++ expression after the reason, because its names change between versions.
std::string sentence_of(const std::string& reason) {
  return reason.substr(0, reason.find(" at: "));
}

bool is_lost(const CellAnswer& answer) {
  return answer.verdict == Verdict::crashed || answer.verdict == Verdict::timeout || answer.verdict == Verdict::error;
}

std::optional<ChangeKind> answer_change(const CellAnswer& before, const CellAnswer& after) {
  const answer::Word was = outcome_word(before), is = outcome_word(after);
  if (was == is) return std::nullopt;
  if (after.verdict == Verdict::wrong_result) return ChangeKind::wrong;
  if (is_lost(after)) return is_lost(before) ? std::nullopt : std::optional(ChangeKind::lost);
  if (before.verdict == Verdict::wrong_result && after.verdict == Verdict::supported) return ChangeKind::right;
  if (is_lost(before)) return ChangeKind::recovered;
  if (is == answer::Word::yes) return ChangeKind::now_yes;
  if (is == answer::Word::but) return was == answer::Word::yes ? ChangeKind::yes_to_but : ChangeKind::no_to_but;
  if (before.verdict == Verdict::supported) return ChangeKind::now_no;
  return ChangeKind::reason_changed;
}

std::set<std::string> obstacle_kinds(const std::vector<CellObstacle>& obstacles) {
  std::set<std::string> kinds;
  for (const CellObstacle& obstacle : obstacles) kinds.insert(obstacle.kind);
  return kinds;
}

// Compares cells that work in both reports at the same speed.
std::optional<Change> change_of_choice(const CellAnswer& before, const CellAnswer& after) {
  const CellEngine *old_first = first_choice(before), *new_first = first_choice(after);
  if (old_first == nullptr || new_first == nullptr) return std::nullopt;
  Change change;
  change.before = name_of_engine(*old_first);
  change.after = name_of_engine(*new_first);
  if (!before.pattern.empty() && !after.pattern.empty() && before.pattern != after.pattern) {
    change.kind = ChangeKind::graph_changed;
    change.before = before.pattern + ", " + change.before;
    change.after = after.pattern + ", " + change.after;
  } else if (!is_same_choice(*old_first, *new_first)) {
    change.kind = ChangeKind::engine_changed;
  } else if (has_kernels(old_first) && has_kernels(new_first) && !has_same_kernels(*old_first, *new_first)) {
    change.kind = ChangeKind::kernel_changed;
    change.before += ": " + kernel_text(*old_first);
    change.after += ": " + kernel_text(*new_first);
  } else if (before.viable != after.viable) {
    change.kind = after.viable < before.viable ? ChangeKind::fewer_engines : ChangeKind::more_engines;
    change.before = fmt::format("{}, one of {} engine configs", change.before, before.viable);
    change.after = fmt::format("{}, one of {}", change.after, after.viable);
  } else {
    return std::nullopt;
  }
  return change;
}

// At most one change per cell, the worst.
std::optional<Change> change_of(const CellAnswer& before, const CellAnswer& after, double tolerance) {
  Change change;
  change.before = account(before);
  change.after = account(after);
  if (const auto kind = answer_change(before, after)) {
    change.kind = *kind;
    return change;
  }
  if (after.verdict != Verdict::supported) {
    if (sentence_of(before.reason) == sentence_of(after.reason) && before.category == after.category)
      return std::nullopt;
    change.kind = ChangeKind::reason_changed;
    return change;
  }
  if (obstacle_kinds(before.but) != obstacle_kinds(after.but)) {
    change.kind = ChangeKind::reason_changed;
    return change;
  }
  const CellEngine *old_best = fastest(before), *new_best = fastest(after);
  if (old_best != nullptr && new_best != nullptr) {
    const double ratio = *new_best->median_ms() / *old_best->median_ms();
    if (ratio > 1 + tolerance || ratio < 1 / (1 + tolerance)) {
      change.kind = ratio > 1 ? ChangeKind::slower : ChangeKind::faster;
      change.before = fmt::format("{:.4g} ms, {}", *old_best->median_ms(), name_of_engine(*old_best));
      change.after = fmt::format("{:.4g} ms, {} ({:+.1f} %)", *new_best->median_ms(), name_of_engine(*new_best),
                                 100 * (ratio - 1));
      return change;
    }
  }
  return change_of_choice(before, after);
}

void count_kernels(Diff& diff, const CellAnswer& before, const CellAnswer& after) {
  const CellEngine *old_first = first_choice(before), *new_first = first_choice(after);
  if (!has_kernels(old_first) || !has_kernels(new_first)) return;
  KernelCounts& counts = diff.kernels;
  const auto registers = [](const CellEngine& engine) { return engine.kernels.front().registers; };
  ++counts.compared;
  counts.changed += has_same_kernels(*old_first, *new_first) ? 0 : 1;
  counts.engine += name_of_engine(*old_first) != name_of_engine(*new_first) ? 1 : 0;
  counts.registers += registers(*old_first) != registers(*new_first) ? 1 : 0;
  counts.less_stack += stack_of(*new_first) < stack_of(*old_first) ? 1 : 0;
  counts.more_stack += stack_of(*new_first) > stack_of(*old_first) ? 1 : 0;
  counts.shared_memory += old_first->shared_memory_bytes != new_first->shared_memory_bytes ? 1 : 0;
}

std::map<ChangeKind, std::vector<const Change*>> by_kind(const Diff& diff) {
  std::map<ChangeKind, std::vector<const Change*>> kinds;
  for (const Change& change : diff.changes) kinds[change.kind].push_back(&change);
  return kinds;
}

std::string words(ChangeKind kind) {
  std::string text(name_of(kind));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// Groups changes that differ only in the target. Thousands of engines and reasons change between versions, so those are
// grouped by result only.
struct ChangeGroup {
  const Change* first = nullptr;
  std::vector<std::string> configs, targets;
  size_t cells = 0;
};

bool comes_by_the_thousand(ChangeKind kind) {
  return kind == ChangeKind::graph_changed || kind == ChangeKind::engine_changed ||
         kind == ChangeKind::kernel_changed || kind == ChangeKind::fewer_engines || kind == ChangeKind::more_engines ||
         kind == ChangeKind::reason_changed;
}

std::vector<ChangeGroup> grouped(const std::vector<const Change*>& changes) {
  std::vector<ChangeGroup> groups;
  std::map<std::array<std::string, 4>, size_t> known;
  for (const Change* change : changes) {
    const bool many = comes_by_the_thousand(change->kind);
    const auto [place, is_new] =
        known.try_emplace({many ? "" : change->config, change->cudnn, change->before, change->after}, groups.size());
    if (is_new) groups.push_back({change, {}, {}, 0});
    ChangeGroup& group = groups[place->second];
    ++group.cells;
    add_once(group.configs, change->config);
    add_once(group.targets, change->target);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.cells > b.cells; });
  return groups;
}

std::string few(const std::vector<std::string>& words) {
  constexpr size_t most = 6;
  if (words.size() <= most) return fmt::format("{}", fmt::join(words, ", "));
  return fmt::format("{} and {} more", fmt::join(words.begin(), words.begin() + most, ", "), words.size() - most);
}

// The version of all cells in both, if they share one, so that changes need not repeat it.
std::string common_version(const Diff& diff) {
  return diff.cudnns.size() == 1 ? diff.cudnns.front() : "";
}

std::string counts_text(const Diff& diff) {
  std::string text = fmt::format("cuDNN {}: {} cell{} in both", fmt::join(diff.cudnns, ", "), diff.compared,
                                 diff.compared == 1 ? "" : "s");
  if (diff.of_many_versions)
    text += ", each cuDNN version compared with itself (--old-cudnn and --new-cudnn compare two)";
  if (diff.changes.empty()) text += ", nothing changed";
  for (const auto& [kind, changes] : by_kind(diff)) text += fmt::format(", {} {}", changes.size(), words(kind));
  const KernelCounts& kernels = diff.kernels;
  if (kernels.compared > 0)
    text += fmt::format("; {} of {} first choices have a new kernel, {} of them with more stack", kernels.changed,
                        kernels.compared, kernels.more_stack);
  return text;
}

}  // namespace

const CellEngine* first_choice(const CellAnswer& answer) {
  const auto found =
      std::find_if(answer.engines.begin(), answer.engines.end(), [](const auto& engine) { return engine.viable; });
  return found == answer.engines.end() ? nullptr : &*found;
}

Diff diff_cells(const CellTable& before, const CellTable& after, const DiffOptions& options) {
  const bool by_version = !(has_one_version(before, options.old_cudnn) && has_one_version(after, options.new_cudnn));
  auto old_cells = named_cells(before, options.old_cudnn, by_version);
  Diff diff;
  diff.of_many_versions = by_version;
  for (const Cell& cell : after.cells) {
    if (!options.new_cudnn.empty() && after.cudnn(cell) != options.new_cudnn) continue;
    const Key key{after.config(cell), after.target(cell).id, by_version ? after.cudnn(cell) : ""};
    const auto old_cell = old_cells.find(key);
    std::optional<Change> change;
    std::string version = after.cudnn(cell);
    if (old_cell == old_cells.end()) {
      change = Change{ChangeKind::added, "", "", "", "", account(after.answer(cell))};
    } else {
      ++diff.compared;
      if (before.cudnn(*old_cell->second) != version)
        version = fmt::format("{} -> {}", before.cudnn(*old_cell->second), version);
      if (std::find(diff.cudnns.begin(), diff.cudnns.end(), version) == diff.cudnns.end())
        diff.cudnns.push_back(version);
      count_kernels(diff, before.answer(*old_cell->second), after.answer(cell));
      change = change_of(before.answer(*old_cell->second), after.answer(cell), options.tolerance);
      old_cells.erase(old_cell);
    }
    if (!change) continue;
    change->config = after.config(cell);
    change->target = after.target(cell).id;
    change->cudnn = version;
    diff.changes.push_back(std::move(*change));
  }
  for (const auto& [key, cell] : old_cells)
    diff.changes.push_back({ChangeKind::removed, before.config(*cell), before.target(*cell).id, before.cudnn(*cell),
                            account(before.answer(*cell)), ""});
  std::stable_sort(diff.changes.begin(), diff.changes.end(),
                   [](const Change& a, const Change& b) { return a.kind < b.kind; });
  return diff;
}

bool is_regression(ChangeKind kind) {
  return kind == ChangeKind::now_no || kind == ChangeKind::yes_to_but || kind == ChangeKind::wrong ||
         kind == ChangeKind::lost || kind == ChangeKind::slower;
}

std::string diff_text(const Diff& diff, const TextStyle& style) {
  const std::string version = common_version(diff);
  std::string out = counts_text(diff) + "\n";
  for (const auto& [kind, changes] : by_kind(diff)) {
    const std::string head = fmt::format("{} ({})", words(kind), changes.size());
    out += "\n" + (style.colour ? coloured(head, "1") : head) + "\n";
    for (const auto& group : grouped(changes)) {
      out += wrapped(fmt::format("{} on {}{}{}", few(group.configs), few(group.targets),
                                 group.first->cudnn == version ? "" : ", cuDNN " + group.first->cudnn,
                                 group.configs.size() > 1 ? fmt::format(" ({} cells)", group.cells) : ""),
                     2, style.width);
      if (!group.first->before.empty()) out += wrapped("was: " + group.first->before, 6, style.width);
      if (!group.first->after.empty()) out += wrapped("is: " + group.first->after, 6, style.width);
    }
  }
  return out;
}

std::string diff_markdown(const Diff& diff) {
  std::string out = "## attnprobe diff: " + counts_text(diff) + "\n";
  for (const auto& [kind, changes] : by_kind(diff)) {
    out += fmt::format(
        "\n### {} ({})\n\n| configs | GPUs | cells | cuDNN | was | is |\n| --- | --- | --- | --- | --- | --- "
        "|\n",
        words(kind), changes.size());
    for (const auto& group : grouped(changes))
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", markdown_text(few(group.configs)),
                         markdown_text(few(group.targets)), group.cells, markdown_text(group.first->cudnn),
                         markdown_text(group.first->before), markdown_text(group.first->after));
  }
  return out;
}

Json diff_json(const Diff& diff) {
  Json json = {{"schema", "attnprobe/diff/1"},
               {"tool", {{"name", "attnprobe"}, {"version", tool_version()}}},
               {"compared", diff.compared},
               {"cudnns", diff.cudnns}};
  json["counts"] = Json::object();
  for (const auto& [kind, changes] : by_kind(diff)) json["counts"][std::string(name_of(kind))] = changes.size();
  json["kernels"] = diff.kernels;
  json["changes"] = Json::array();
  for (const Change& change : diff.changes)
    json["changes"].push_back({{"kind", name_of(change.kind)},
                               {"config", change.config},
                               {"target", change.target},
                               {"cudnn", change.cudnn},
                               {"before", change.before},
                               {"after", change.after}});
  return json;
}

}  // namespace attnprobe::report
