#include "service/probe_request.hpp"

#include "attention/read_configs.hpp"
#include "frameworks/calls/call_questions.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::service {
namespace {

// A string is a call in the syntax of --torch, but never a file name: a request contains its question.
std::vector<answer::Question> questions_of_call(const JsonView& call, const frameworks::CallReading& reading,
                                                ProbeRequest& request, std::string& gate) {
  const std::string text = call.json().is_string() ? call.text() : call.json().dump();
  auto asked = frameworks::questions_of(frameworks::parse_calls(reading, text, call.where()), reading.caller);
  gate = asked.framework;
  request.warnings = std::move(asked.notes);
  return std::move(asked.questions);
}

}  // namespace

std::string read_questions(JsonObject& object, ProbeRequest& request) {
  const auto config = object.find_set("config"), torch = object.find_set("torch"), jax = object.find_set("jax");
  if (config.has_value() + torch.has_value() + jax.has_value() != 1)
    object.place().fail("exactly one of \"config\", \"torch\", \"jax\" is required");
  const auto dtype = object.find_set("dtype");
  if (dtype && config) dtype->fail("it belongs to a call; a config has its own field");
  std::string gate;
  if (config) {
    request.plan.groups.front().questions = asking::questions_of(attention::read_configs(*config));
  } else {
    frameworks::CallReading reading{torch ? frameworks::Caller::torch : frameworks::Caller::jax};
    reading.release = frameworks::release_named(words_of(object.find_set("framework")), reading.caller,
                                                object.place().where() + "/framework");
    if (dtype) {
      reading.dtype = dtype->one_of<DataType>();
      reading.dtype_place = dtype->where();
    }
    request.plan.groups.front().questions = questions_of_call(torch ? *torch : *jax, reading, request, gate);
  }
  return gate;
}

ProbeRequest read_probe_request(const JsonView& params, const std::string& program) {
  ProbeRequest request;
  asking::PlanOptions& how = request.plan.options;
  how.walk.plans = probe::Plans::automatic;
  JsonObject object(params);
  const std::string gate = read_questions(object, request);
  if (const auto value = object.find_set("cudnn")) request.plan.cudnn = value->text();
  read_how(object, how);
  if (const auto value = object.find_set("engines")) how.walk.engines = value->one_of<probe::Engines>();
  if (const auto value = object.find_set("plans")) how.walk.plans = value->one_of<probe::Plans>();
  if (const auto value = object.find_set("quick")) how.walk.sweep_where_none = !value->boolean();
  how.frameworks = gates_of(object, gate);
  const auto target = object.find_set("target");
  object.finish();
  request.plan.groups.front().targets = targets_of(target, how.timeout_seconds, program);
  return request;
}

Json answer_probe(ProbeRequest request, const Means& means) {
  const auto slots = take_slots(request.plan.options, means, asking::cells_of(request.plan.groups));
  const auto answers = asking::ask(request.plan, telling(means.session, request.warnings)).front();
  report::Results results;
  for (const auto& result : answers.results) results.push_back(&result);
  Json report = report::report_json(results, answers.library);
  if (!request.warnings.empty()) report["warnings"] = request.warnings;
  return report;
}

}  // namespace attnprobe::service
