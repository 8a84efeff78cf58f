#include "report/model/choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/fields.hpp"
#include "base/printable.hpp"
#include "graph/op_graph.hpp"
#include "report/formats/run_text.hpp"
#include "report/model/errata.hpp"

namespace attnprobe::report {
namespace {

std::optional<TimedPlan> timed(const probe::EngineConfigFindings& config) {
  const bool is_right = config.run && config.run->status == probe::RunStatus::ok && !config.left_out;
  if (!is_right || !config.time || !config.time->median_ms) return std::nullopt;
  return TimedPlan{&config, *config.time->median_ms};
}

double noise_of(const TimedPlan& plan) {
  return plan.config->time->noise.value_or(0);
}

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json plan_json(const TimedPlan& plan) {
  const auto& [config, median_ms] = plan;
  std::string words = fmt::format("--engine {}", config->engine);
  for (const auto& [knob, value] : config->knobs) words += fmt::format(" {}={}", knob, value);
  Json json{{"engine", config->engine},
            {"knobs", config->knobs},
            {"plan_name", plan_name(config->engine, config->knobs)},
            {"emit_options", words},
            {"median_ms", median_ms},
            {"noise", noise_of(plan)},
            {"samples", config->time->samples},
            {"clock_mhz", json_of(config->time->clock_mhz)},
            {"relative_l2", json_of(config->run->relative_l2)},
            {"deterministic", json_of(config->run->deterministic)},
            {"workspace_bytes", json_of(config->workspace_bytes)},
            {"behavior_notes", config->behavior_notes}};
  Json kernels = Json::array();
  for (const auto& launch : config->run->launches) kernels.push_back(launch.name);
  json["kernels"] = std::move(kernels);
  return json;
}

std::vector<Choice> choices_of(const Results& results) {
  std::vector<Choice> choices;
  for (const auto* result : results)
    if (auto choice = choice_of(*result)) choices.push_back(*choice);
  return choices;
}

}  // namespace

double Choice::loss() const {
  if (!first || first->config == best.config) return 0;
  const double ratio = first->median_ms / best.median_ms - 1;
  return ratio > noise_of(*first) + noise_of(best) ? ratio : 0;
}

std::optional<Choice> choice_of(const answer::Answer& result) {
  Choice choice;
  choice.result = &result;
  bool met_first = false;
  for (const auto& config : result.findings.engine_configs) {
    const auto plan = timed(config);
    const bool is_first = !met_first && config.check.supported && !config.left_out && !config.modes.empty();
    if (is_first) {
      met_first = true;
      choice.first = plan;
    }
    if (!plan) continue;
    ++choice.timed;
    if (choice.best.config == nullptr || plan->median_ms < choice.best.median_ms) choice.best = *plan;
  }
  if (choice.best.config == nullptr) return std::nullopt;
  return choice;
}

double loss_over_all(const std::vector<Choice>& choices) {
  double first = 0, best = 0;
  for (const auto& choice : choices) {
    if (!choice.first) continue;
    first += choice.best.median_ms * (1 + choice.loss());
    best += choice.best.median_ms;
  }
  return best > 0 ? first / best - 1 : 0;
}

Json choices_json(const Results& results) {
  const auto choices = choices_of(results);
  Json list = Json::array();
  for (const auto& choice : choices) {
    const auto& result = *choice.result;
    Json one{{"config", to_json(result.config.spec)},
             {"graph", graph::hash(result.graph.graph)},
             {"gpu", result.target.name},
             {"arch", fmt::format("sm_{}", result.target.sm)},
             {"cudnn", result.cudnn_version.text()},
             {"best", plan_json(choice.best)},
             {"first_choice", choice.first ? plan_json(*choice.first) : Json()},
             {"loss", choice.loss()},
             {"timed", choice.timed},
             {"reproduce", result.reproduce}};
    list.push_back(std::move(one));
  }
  return {{"schema", "attnprobe/choices/1"},
          {"tool", tool_version()},
          {"loss_over_all", loss_over_all(choices)},
          {"without_choice", results.size() - choices.size()},
          {"choices", std::move(list)}};
}

std::string choices_text(const Results& results, const TextStyle&) {
  auto choices = choices_of(results);
  std::stable_sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) { return a.loss() > b.loss(); });
  std::vector<std::vector<std::string>> rows{{"config", "GPU", "best", "ms", "first choice", "ms", "loss"}};
  size_t losing = 0;
  for (const auto& choice : choices) {
    losing += choice.loss() > 0 ? 1 : 0;
    const auto& [result, best, first, count] = choice;
    rows.push_back({result->config.spec.name, result->target.id, engine_config_name(*best.config),
                    fmt::format("{:.4g}", best.median_ms), first ? engine_config_name(*first->config) : "fails",
                    first ? fmt::format("{:.4g}", first->median_ms) : "-",
                    !first               ? "-"
                    : choice.loss() == 0 ? "none"
                                         : fmt::format("{:.1f} %", 100 * choice.loss())});
  }
  std::string out = rows.size() > 1 ? aligned(rows, 0) + "\n" : "";
  out += fmt::format(
      "{} problems tuned, {} without a correct, timed plan; the first choice is slower than another plan in {}, "
      "by {:.2f} % over all\n",
      choices.size(), results.size() - choices.size(), losing, 100 * loss_over_all(choices));
  return printable(out);
}

}  // namespace attnprobe::report
