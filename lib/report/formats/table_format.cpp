// Answers as text: one screen, or with details every engine config.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "answer/reasons.hpp"
#include "ask/by_rule.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cudnn/library_info.hpp"
#include "gpu/comparisons.hpp"
#include "report/formats/format.hpp"
#include "report/formats/notes.hpp"
#include "report/formats/run_text.hpp"
#include "report/formats/screen_text.hpp"

namespace attnprobe::report {
namespace {

using answer::Answer;
using answer::Usable;
using answer::Verdict;
using probe::EngineConfigFindings;

constexpr std::string_view status_prefix = "CUDNN_STATUS_";

std::string short_status(const std::string& status) {
  return status.rfind(status_prefix, 0) == 0 ? status.substr(status_prefix.size()) : status;
}

std::string knobs_text(const probe::Knobs& knobs) {
  std::string text;
  for (const auto& [knob, value] : knobs) text += fmt::format("{}{}={}", text.empty() ? "" : " ", knob, value);
  return text.empty() ? "-" : text;
}

std::string ranks_text(const EngineConfigFindings& config) {
  std::string text;
  for (const auto& mode : config.modes) {
    const auto rank = config.rank.find(mode);
    text += fmt::format("{}{}", text.empty() ? "" : " ", mode);
    if (rank != config.rank.end()) text += fmt::format("#{}", rank->second);
  }
  return text.empty() ? "swept" : text;
}

std::string line_of(const Answer& result) {
  std::string account = account_text(result);
  if (!result.from) return account;
  return fmt::format("{}{}{}", account, account.empty() ? "" : "; ", text_of(*result.from));
}

std::string decisive_text(const std::vector<log::Reason>& traceback) {
  const auto* decisive = answer::decisive_reason(traceback);
  return decisive == nullptr ? "" : decisive->reason;
}

void add_modes(std::string& out, const Answer& result) {
  std::vector<std::vector<std::string>> rows{{"mode", "candidates", "viable", "note"}};
  for (const auto& mode : result.findings.modes) {
    std::string note = mode.notes.empty() ? "" : mode.notes.front();
    if (mode.status != "CUDNN_STATUS_SUCCESS")
      note = short_status(mode.status) + (mode.reasons.empty() ? "" : ": " + decisive_text(mode.reasons));
    rows.push_back({mode.mode, std::to_string(mode.candidates), std::to_string(mode.viable), note});
  }
  if (rows.size() > 1) out += aligned(rows, 2) + "\n";
}

std::string check_cell(const EngineConfigFindings& config) {
  if (config.check.supported) return "ok";
  const auto* decisive = answer::decisive_reason(config.reasons);
  return short_status(decisive == nullptr ? config.check.status : decisive->status);
}

std::string plan_cell(const EngineConfigFindings& config) {
  if (!config.plan) return "-";
  if (outcome_of(*config.plan) == probe::PlanOutcome::needs_driver) return "needs the GPU's driver";
  if (outcome_of(*config.plan) == probe::PlanOutcome::needs_compiler) return "needs NVRTC";
  if (!probe::is_built(config)) return short_status(config.plan->status);
  return fmt::format("{} in {:.0f} ms", config.plan->loaded ? "built" : "compiled", config.plan->build_ms);
}

std::string detail_cell(const EngineConfigFindings& config) {
  if (std::string problem = run_problem(config); !problem.empty()) return problem;
  if (config.check.supported && config.plan && !config.plan->reasons.empty() && !probe::is_built(config))
    return decisive_text(config.plan->reasons);
  if (!config.check.supported) return decisive_text(config.reasons);
  if (config.left_out) return "left out: " + *config.left_out;
  std::string text = "workspace " + (config.workspace_bytes ? bytes_text(*config.workspace_bytes) : "?");
  if (config.shared_memory_bytes) text += ", shared memory " + bytes_text(*config.shared_memory_bytes);
  for (const auto& note : config.numerical_notes) text += ", " + note;
  return text;
}

void add_engine_configs(std::string& out, const Answer& result) {
  const bool plans = result.findings.plans_built;
  std::vector<std::vector<std::string>> rows{{"proposed by", "engine", "knobs", "check"}};
  const bool runs = result.findings.plans_run;
  if (plans) rows[0].push_back("plan");
  if (runs) rows[0].insert(rows[0].end(), {"run", "time"});
  rows[0].push_back("why / what");
  for (const auto& config : result.findings.engine_configs) {
    std::vector<std::string> row{ranks_text(config), std::to_string(config.engine), knobs_text(config.knobs),
                                 check_cell(config)};
    if (plans) row.push_back(plan_cell(config));
    if (runs) row.insert(row.end(), {run_cell(config), time_cell(config)});
    row.push_back(detail_cell(config));
    rows.push_back(std::move(row));
  }
  if (rows.size() > 1) out += aligned(rows, 2) + "\n";
}

void add_sweep(std::string& out, const Answer& result) {
  int64_t legal = 0, tried = 0, viable = 0;
  for (const auto& engine : result.findings.engines) {
    legal += engine.legal;
    tried += engine.tried;
    viable += engine.viable;
  }
  if (!result.findings.engines.empty())
    out += fmt::format("  every engine asked separately: {} engines, {} of {} engine configs tried, {} viable\n\n",
                       result.findings.engines.size(), tried, legal, viable);
}

// The first line's indentation ends in a dash.
std::string bullet(std::string paragraph) {
  const size_t first = paragraph.find_first_not_of(' ');
  if (first != std::string::npos && first >= 2) paragraph[first - 2] = '-';
  return paragraph;
}

void add_cause(std::string& out, const Answer& result, const TextStyle& style) {
  if (!result.root_cause) return;
  const answer::RootCause& cause = *result.root_cause;
  std::string where;
  if (cause.engine) where += fmt::format("engine {}", *cause.engine);
  if (cause.mode) where += fmt::format("{}proposed by mode {}", where.empty() ? "" : ", ", *cause.mode);
  out += "  " + bold("root cause", style) +
         fmt::format(": {}{}\n", name_of(cause.category), where.empty() ? "" : " (" + where + ")");
  if (!cause.status.empty() || !cause.reason.empty())
    out += (cause.status.empty() ? "    what happened\n" : "    cuDNN says\n") +
           wrapped(cause.status + (cause.status.empty() ? "" : ": ") + cause.reason, 6, style.width);
  out += requirement_text({&result}, style);
  out += "    in plain words\n" + wrapped(cause.explanation, 6, style.width);
  if (!cause.advice.empty()) out += "    workarounds (each was probed)\n";
  for (const auto& advice : cause.advice) {
    const size_t command = advice.find('\n');
    out += bullet(wrapped(advice.substr(0, command), 8, style.width));
    if (command != std::string::npos) out += "          " + advice.substr(command + 1) + "\n";
  }
  if (!cause.in_general.empty()) out += "    in general (untested)\n" + wrapped(cause.in_general, 6, style.width);
  if (result.crash && !result.crash->output.empty())
    out += "    last output of the worker process\n" + wrapped(result.crash->output, 6, style.width);
  out += "\n";
}

void add_details(std::string& out, const Answer& result, const TextStyle& style) {
  add_modes(out, result);
  add_engine_configs(out, result);
  add_sweep(out, result);
  if (const std::string fastest = fastest_summary(result); !fastest.empty()) out += "  " + fastest + "\n";
  out += run_notes(result, style);
  const std::string kernels = kernel_notes(result, style);
  if (!kernels.empty()) out += "  kernels\n" + kernels;
  if (result.findings.plans_run || !kernels.empty()) out += "\n";
  add_cause(out, result, style);
  if (!result.findings.plans_built && !result.by_rule && result.verdict == Verdict::supported)
    out += "  Plans were not built: this is cuDNN's support check. --plans first compiles the first choice.\n";
  out += wrapped("reproduce: " + result.reproduce, 2, 100'000) + "\n";
}

std::string headline(const Answer& result, const TextStyle& style) {
  const std::string what = description_of(result);
  const std::string& name = result.config.spec.name;
  std::string text = bold(name.empty() ? what : name, style) + "\n";
  text += fmt::format("  {}\n", what);
  if (!result.graph.choice.empty()) text += fmt::format("  {}\n", result.graph.choice);
  return text;
}

void add_config(std::string& out, const Results& results, const TextStyle& style) {
  out += framework_lines(results) + headline(*results.front(), style);
  for (const Answer* result : results) {
    const std::string line = line_of(*result);
    out += fmt::format("  on {}: {}{}{}\n", target_text(*result), coloured_word(*result, style),
                       expectation_mark(*result), line.empty() ? "" : ", " + line);
    if (result->target.kind == gpu::Kind::simulated)
      out += fmt::format("  simulated GPU: {}\n", gpu::compared_text(result->target));
    out += warning_text({result}, style) + "\n";
    add_details(out, *result, style);
    out += "\n";
  }
}

// The words of the results, with their counts. Training is one answer: the worse of its two passes.
std::map<answer::Word, size_t> counts_of(const Results& results) {
  std::map<answer::Word, size_t> counts;
  std::map<std::vector<std::string>, answer::Word> trainings;
  for (const Answer* result : results) {
    const answer::Word word = word_of(*result);
    if (result->config.training.empty()) {
      ++counts[word];
      continue;
    }
    const attention::Origin& origin = result->config.origin;
    answer::Word& worst =
        trainings[{origin.file, origin.pointer, result->config.training, result->target.id, result->cudnn_path}];
    worst = std::max(worst, word);
  }
  for (const auto& [training, worst] : trainings) ++counts[worst];
  return counts;
}

std::string footer(const Results& results, const TextStyle& style) {
  size_t expected = 0, unmet = 0, simulated = 0, planned = 0;
  bool has_training = false;
  for (const Answer* result : results) {
    has_training = has_training || !result->config.training.empty();
    expected += result->config.spec.expect.is_given ? 1 : 0;
    unmet += is_unmet(*result) ? 1 : 0;
    simulated += result->target.kind == gpu::Kind::simulated ? 1 : 0;
    planned += result->findings.plans_built ? 1 : 0;
  }
  std::string text;
  for (const auto& [word, count] : counts_of(results))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(word));
  if (has_training) text += "; training is one answer, the worse of its two passes";
  if (expected > 0) text += fmt::format("; {} not as expected", unmet);
  if (!results.empty() && results.front()->by_rule)
    return text + fmt::format(". By rule: {}.\n", asking::why_by_rule(results.front()->cudnn_version));
  // Each group was asked with one cuDNN; there is no version if it could not be loaded.
  if (const Answer* any = results.empty() ? nullptr : results.front();
      any != nullptr && any->cudnn_version != CudnnVersion())
    text += fmt::format(". cuDNN {}{}", any->cudnn_version.text(),
                        style.details ? fmt::format(" ({})", any->cudnn_path) : "");
  text += simulated == results.size() ? ", simulated GPUs"
          : simulated > 0             ? fmt::format(", {} simulated", simulated)
                                      : "";
  text += planned == 0 ? ", support checks only (no plans built)" : "";
  return text + ".\n";
}

std::string text_of(const Results& results, const TextStyle& style) {
  std::string out;
  if (!style.details) {
    out = screen_text(results, style) + "\n";
    // With measured times, the user needs the figures.
    if (results.size() == 1 && results.front()->findings.plans_run) {
      add_engine_configs(out, *results.front());
      out += run_notes(*results.front(), style) + "\n";
    }
    return out + wrapped(footer(results, style) + "-v shows engine configs, cuDNN's reasons, sources and commands.", 0,
                         style.width);
  }
  for (const Results& row : answers_by_config(results)) add_config(out, row, style);
  return out + footer(results, style);
}

std::string table(const Document& document) {
  std::string text;
  if (document.before) text += document.before(document.style);
  for (const auto& group : document.groups) text += text_of(group, document.style) + "\n";
  text.pop_back();
  if (document.after) text += "\n" + document.after(document.style);
  return printable(text);
}

}  // namespace

extern const Format table_format;
const Format table_format{"table", "readable text", "", table};

}  // namespace attnprobe::report
