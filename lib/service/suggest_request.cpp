#include "service/suggest_request.hpp"

#include "service/probe_request.hpp"
#include "studies/bugs/bugs_text.hpp"
#include "studies/bugs/concerning_bugs.hpp"
#include "studies/suggest/suggest_text.hpp"

namespace attnprobe::service {

Json answer_suggest(const JsonView& params, const Means& means) {
  ProbeRequest request;
  asking::Plan& plan = request.plan;
  asking::SuggestOptions suggest;
  JsonObject object(params);
  const std::string gate = read_questions(object, request);
  if (const auto value = object.find_set("cudnn")) plan.cudnn = value->text();
  read_how(object, plan.options);
  plan.options.frameworks = gates_of(object, gate);
  suggest.keep = studies::read_kept(words_of(object.find_set("keep")), params.where() + "/keep");
  if (const auto value = object.find_set("most")) suggest.most = static_cast<size_t>(value->integer(1, 100));
  if (const auto value = object.find_set("most_asked"))
    suggest.most_asked = static_cast<size_t>(value->integer(1, 100'000));
  const auto target = object.find_set("target");
  object.finish();
  plan.groups.front().targets = targets_of(target, plan.options.timeout_seconds, means.session.program);
  const auto slots = take_slots(plan.options, means, any_number);
  plan.suggest = suggest;
  Json answer = studies::suggest_json(studies::suggest(plan, telling(means.session, request.warnings)));
  if (!request.warnings.empty()) answer["warnings"] = request.warnings;
  return answer;
}

Json answer_bugs(const JsonView& params, const std::string& program) {
  studies::BugWords words;
  if (!params.json().is_null()) {
    JsonObject object(params);
    words.cudnn_place = params.where() + "/cudnn";
    words.framework_place = params.where() + "/framework";
    words.ids = words_of(object.find_set("ids"));
    words.cudnns = words_of(object.find_set("cudnn"));
    words.frameworks = words_of(object.find_set("framework"));
    const auto target = object.find_set("target");
    object.finish();
    constexpr double driver_seconds = 60;
    if (target) words.targets = targets_of(target, driver_seconds, program);
  }
  std::vector<studies::ConcerningBug> concerning;
  for (const auto* bug : studies::bugs_concerning(words)) concerning.push_back({bug});
  return studies::bugs_json(concerning);
}

}  // namespace attnprobe::service
