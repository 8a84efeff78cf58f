#include "service/probe_request.hpp"

#include <algorithm>

#include "attention/read_configs.hpp"
#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "campaign/named_targets.hpp"
#include "campaign/preflight.hpp"
#include "frameworks/calls/call_questions.hpp"
#include "gpu/catalogue.hpp"
#include "report/formats/report.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::service {
namespace {

// A word, a comma list, or an array of words.
std::vector<std::string> words_of(const JsonView& value) {
  return value.json().is_string() ? split(value.text(), ',') : value.texts();
}

std::vector<campaign::Question> questions_of_call(const JsonView& call, const std::string& framework,
                                                  ProbeRequest& request, std::string& gate) {
  const std::string text = call.json().dump(), name = call.where();
  const auto calls =
      framework == "torch" ? frameworks::parse_torch_calls(text, name) : frameworks::parse_jax_calls(text, name);
  auto asked = frameworks::questions_of(calls, framework);
  gate = asked.framework;
  request.warnings = std::move(asked.notes);
  return std::move(asked.questions);
}

// Exactly one of config, torch and jax.
void read_questions(JsonObject& object, ProbeRequest& request, std::string& gate) {
  const auto config = object.find_set("config"), torch = object.find_set("torch"), jax = object.find_set("jax");
  if (config.has_value() + torch.has_value() + jax.has_value() != 1)
    object.place().fail("one of \"config\", \"torch\" and \"jax\" says what is asked, and there is not exactly one");
  if (config)
    request.group.questions = campaign::questions_of(attention::read_configs(*config));
  else
    request.group.questions = questions_of_call(torch ? *torch : *jax, torch ? "torch" : "jax", request, gate);
}

// Words of --target, or target documents among them.
std::vector<gpu::Target> targets_of(const std::optional<JsonView>& value, double timeout, const std::string& program) {
  if (!value) {
    auto targets = campaign::device_targets(campaign::inspect_driver(timeout, program));
    return targets.empty() ? gpu::simulated_targets("representative") : targets;
  }
  if (value->json().is_string()) return campaign::named_targets(value->text(), timeout, program);
  std::vector<gpu::Target> targets;
  for (const auto& one : value->json().is_array() ? value->elements() : std::vector<JsonView>{*value}) {
    if (one.json().is_object())
      gpu::add_target(targets, gpu::parse_target(one.json().dump(), one.where()));
    else
      for (auto& target : campaign::named_targets(one.text(), timeout, program))
        gpu::add_target(targets, std::move(target));
  }
  return targets;
}

void read_modes(const JsonView& value, probe::WalkOptions& walk) {
  walk.modes = words_of(value);
  const std::vector<std::string> known{"A", "B", "FALLBACK"};
  for (const auto& mode : walk.modes)
    if (std::find(known.begin(), known.end(), mode) == known.end()) value.with(Json(mode)).fail_unless_one_of(known);
}

}  // namespace

ProbeRequest read_probe_request(const JsonView& params, const std::string& program) {
  ProbeRequest request;
  campaign::CampaignOptions& campaign = request.campaign;
  campaign.program = program;
  campaign.walk.plans = probe::Plans::automatic;
  JsonObject object(params);
  std::string gate;
  read_questions(object, request, gate);
  if (const auto value = object.find_set("cudnn")) request.cudnn = value->text();
  if (const auto value = object.find_set("timeout")) {
    campaign.timeout_seconds = value->number();
    if (!(campaign.timeout_seconds > 0 && campaign.timeout_seconds <= 1e6))
      value->fail_out_of_range("more than 0, at most 1000000 seconds");
  }
  if (const auto value = object.find_set("jobs")) campaign.jobs = static_cast<int>(value->integer(1, 4096));
  if (const auto value = object.find_set("mode")) read_modes(*value, campaign.walk);
  if (const auto value = object.find_set("engines")) campaign.walk.engines = value->one_of<probe::Engines>();
  if (const auto value = object.find_set("plans")) campaign.walk.plans = value->one_of<probe::Plans>();
  if (const auto value = object.find_set("quick")) campaign.walk.sweep_where_none = !value->boolean();
  std::vector<std::string> frameworks;
  if (!gate.empty()) frameworks = {gate};
  if (const auto value = object.find_set("framework"))
    frameworks = value->json().is_string() ? std::vector{value->text()} : value->texts();
  campaign.frameworks = rules::choose_gates(frameworks, params.where() + "/framework");
  const auto target = object.find_set("target");
  object.finish();
  request.group.targets = targets_of(target, campaign.timeout_seconds, program);
  return request;
}

Json answer_probe(const ProbeRequest& request, const ProbeMeans& means) {
  campaign::InquiryOptions options{request.cudnn, request.campaign, means.cache, {}, {}};
  options.campaign.pool = means.pool;
  options.campaign.words = means.words;
  options.campaign.stop = means.stop;
  std::vector<std::string> warnings = request.warnings;
  options.on_problem = [&](const std::string& problem) { warnings.push_back(problem); };
  const auto campaigns = campaign::inquire({request.group}, options);
  report::Results results;
  for (const auto& result : campaigns.front().results) results.push_back(&result);
  Json report = report::report_json(results, campaigns.front().library);
  if (!warnings.empty()) report["warnings"] = warnings;
  return report;
}

}  // namespace attnprobe::service
