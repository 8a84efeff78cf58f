#include "report/model/cell_answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "answer/answer.hpp"
#include "probe/findings.hpp"
#include "probe/walk_difference.hpp"
#include "rules/frontend_engines.hpp"

namespace attnprobe::report {
namespace {

// Results are read strictly, except unused keys. Null and missing members get a default; a value of another type is an
// Error at its place.

// cuDNN's innermost reason.
void add_reason(CellEngine& engine, const std::string& status, const std::vector<JsonView>& reasons) {
  engine.status = status;
  if (reasons.empty()) return;
  engine.status = reasons.front().text_or("status", "");
  engine.reason = reasons.front().text_or("reason", "");
}

// "A0 B1"
std::string modes_of(const JsonView& config) {
  const auto ranks = config.find_set("rank");
  std::string text;
  for (const JsonView& mode : config.elements_or_none("modes")) {
    const std::string name = mode.text();
    text += (text.empty() ? "" : " ") + name;
    if (!ranks) continue;
    if (const auto rank = ranks->optional_integer(name)) text += std::to_string(*rank);
  }
  return text;
}

CellEngine engine_of(const JsonView& config) {
  CellEngine engine;
  engine.engine = config.optional_integer("engine").value_or(-1);
  if (const auto knobs = config.find_set("knobs"))
    for (const auto& [knob, value] : knobs->members())
      engine.knobs += fmt::format("{}{}={}", engine.knobs.empty() ? "" : " ", knob, value.integer());
  engine.modes = modes_of(config);
  const auto check = config.find_set("check"), plan = config.find_set("plan"), run = config.find_set("run"),
             time = config.find_set("time");
  engine.viable = check && check->boolean_or("supported", false);
  if (!engine.viable) add_reason(engine, check ? check->text_or("status", "") : "", config.elements_or_none("reasons"));
  if (plan) {
    probe::PlanFindings findings;
    findings.status = plan->text_or("status", "");
    const auto reasons = plan->elements_or_none("reasons");
    for (const JsonView& reason : reasons)
      findings.reasons.push_back({reason.text_or("status", ""), reason.text_or("reason", "")});
    const probe::PlanOutcome outcome = outcome_of(findings);
    if (outcome != probe::PlanOutcome::needs_driver && outcome != probe::PlanOutcome::needs_compiler)
      engine.plan = outcome == probe::PlanOutcome::built ? PlanState::built : PlanState::failed;
    if (engine.plan == PlanState::failed) add_reason(engine, findings.status, reasons);
    for (const JsonView& kernel : plan->elements_or_none("kernels")) {
      probe::PlanKernel& known = engine.kernels.emplace_back();
      known.name = kernel.text_or("name", "");
      known.identity = kernel.text_or("identity", "");
      known.registers = kernel.optional_integer("registers");
      known.stack_bytes = kernel.optional_integer("stack_bytes");
      known.shared_memory_bytes = kernel.optional_integer("shared_memory_bytes");
      known.max_threads = kernel.optional_integer("max_threads");
      known.code_bytes = kernel.optional_integer("code_bytes");
      known.blocks_per_sm = kernel.optional_integer("blocks_per_sm");
    }
  }
  if (run) engine.run = run->text_or("status", "");
  engine.works = config.boolean_or("works", false);
  if (time) {
    for (const Measurement& measured : measurements())
      if (const auto value = time->optional_number(std::string(measured.key)))
        engine.figures.emplace(measured.key, *value);
  }
  engine.workspace_bytes = config.optional_integer("workspace_bytes");
  engine.shared_memory_bytes = config.optional_integer("shared_memory_bytes");
  return engine;
}

// The report's "usable"; if that is open, the reason.
answer::Word word_of(const JsonView& result, const CellAnswer& answer) {
  if (const auto usable = result.find_set("usable")) return usable->one_of<answer::Word>();
  return answer.environment_broken ? answer::Word::environment : answer::Word::error;
}

CellFramework framework_of(const JsonView& place) {
  CellFramework framework{place.text_or("title", ""),
                          place.text_or("takes", ""),
                          place.text_or("text", ""),
                          place.text_or("instead", ""),
                          {},
                          {}};
  for (const JsonView& refusal : place.elements_or_none("refusals"))
    framework.changes.push_back(refusal.text_or("change", ""));
  for (const JsonView& note : place.elements_or_none("notes")) framework.notes.push_back(note.text());
  return framework;
}

// A root cause's advice already has the confirmed changes; a but has no root cause.
void add_ways_out(CellAnswer& answer, const JsonView& result) {
  std::vector<std::string> probed;
  for (const JsonView& way : result.elements_or_none("ways_out"))
    probed.push_back(fmt::format("{}\n{}", way.text_or("text", ""), way.text_or("reproduce", "")));
  std::erase_if(probed, [&](const std::string& way) {
    return std::find(answer.advice.begin(), answer.advice.end(), way) != answer.advice.end();
  });
  answer.advice.insert(answer.advice.begin(), probed.begin(), probed.end());
}

std::string source_of(const JsonView& place) {
  const auto source = place.find_set("source");
  return source ? source->text_or("text", "") : "";
}

// Known bugs, which may give a wrong result, come before rules.
void add_notes(CellAnswer& answer, const JsonView& result) {
  if (result.boolean_or("by_rule", false)) answer.notes.push_back({"by_rule", "By rule: cuDNN was not asked.", ""});
  for (const JsonView& bug : result.elements_or_none("warnings"))
    answer.notes.push_back({"known_bug", fmt::format("{} {}", bug.text_or("what", ""), bug.text_or("advice", "")),
                            source_of(bug), bug.text_or("id", "")});
  for (const JsonView& requirement : result.elements_or_none("requirements"))
    answer.notes.push_back(
        {"requirement", requirement.text_or("text", ""), source_of(requirement), requirement.text_or("id", "")});
  for (const JsonView& place : result.elements_or_none("frontend_engines")) {
    rules::FrontendEngine engine;
    engine.what = place.text_or("what", "");
    engine.id = place.text_or("id", "");
    engine.by_default = place.boolean_or("by_default", false);
    engine.switch_on = place.text_or("switch_on", "");
    engine.provided = place.text_or("provided", "");
    const std::string text =
        fmt::format("cudnn-frontend {} used from Python has its own engine, according to its rules: {}",
                    place.text_or("frontend", ""), text_of(engine));
    answer.notes.push_back({"frontend_engine", text, source_of(place)});
  }
}

}  // namespace

CellAnswer answer_of(const JsonView& result) {
  CellAnswer answer;
  answer.verdict = parse_enum<answer::Verdict>(result.text_or("verdict", "")).value_or(answer::Verdict::error);
  if (result.boolean_or("expect_given", true)) answer.expect = result.text_or("expect", "");
  answer.met = result.boolean_or("met", false);
  answer.environment_broken = result.boolean_or("environment_broken", false);
  answer.word = word_of(result, answer);
  for (const JsonView& obstacle : result.elements_or_none("but"))
    answer.but.push_back({obstacle.text_or("kind", ""), obstacle.text_or("text", ""), obstacle.text_or("source", "")});
  if (const auto cause = result.find_set("root_cause")) {
    answer.category = cause->text_or("category", "");
    answer.status = cause->text_or("status", "");
    answer.reason = cause->text_or("reason", "");
    answer.explanation = cause->text_or("explanation", "");
    if (const auto advice = cause->find_set("advice")) answer.advice = advice->texts();
  }
  if (const auto graph = result.find_set("graph")) {
    answer.pattern = graph->text_or("pattern", "");
    answer.hash = graph->text_or("hash", "");
    answer.choice = graph->text_or("choice", "");
  }
  for (const JsonView& mode : result.elements_or_none("modes"))
    answer.modes.push_back({mode.text_or("mode", ""), mode.optional_integer("candidates").value_or(0),
                            mode.optional_integer("viable").value_or(0), mode.text_or("status", "")});
  for (const JsonView& config : result.elements_or_none("engine_configs")) {
    answer.engines.push_back(engine_of(config));
    ++answer.candidates;
    answer.viable += answer.engines.back().works ? 1 : 0;
  }
  add_ways_out(answer, result);
  add_notes(answer, result);
  for (const JsonView& framework : result.elements_or_none("frameworks"))
    answer.frameworks.push_back(framework_of(framework));
  if (const auto frontend = result.find_set("frontend"); frontend && frontend->boolean_or("refuses", false))
    answer.frontend = frontend->text_or("message", "");
  if (const auto from = result.find_set("from")) answer.from = from->text_or("text", "");
  answer.severity = answer.met ? answer::Severity::as_expected : answer::Severity::not_as_expected;
  if (const auto severity = result.find_set("severity")) answer.severity = severity->one_of<answer::Severity>();
  return answer;
}

}  // namespace attnprobe::report
