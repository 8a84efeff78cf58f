#include "service/request_parts.hpp"
#include "worker/client.hpp"

#include <algorithm>

#include "ask/named_targets.hpp"
#include "base/text.hpp"
#include "gpu/catalogue.hpp"
#include "machine/preflight.hpp"

namespace attnprobe::service {

WorkerSlots::Held take_slots(asking::PlanOptions& options, const Means& means, size_t useful) {
  const size_t wanted = std::clamp<size_t>(useful, 1, asking::jobs_of(options));
  WorkerSlots::Held slots = means.slots->take(wanted, *means.session.stop);
  options.jobs = static_cast<int>(std::max<size_t>(1, slots.count()));
  return slots;
}

asking::Session telling(asking::Session session, std::vector<std::string>& warnings) {
  session.on_problem = [&warnings](const std::string& problem) { warnings.push_back(problem); };
  return session;
}

std::vector<std::string> words_of(const JsonView& value) {
  return value.json().is_string() ? split(value.text(), ',') : value.texts();
}

std::vector<std::string> words_of(const std::optional<JsonView>& value) {
  return value ? words_of(*value) : std::vector<std::string>();
}

std::vector<gpu::Target> targets_of(const std::optional<JsonView>& value, double timeout_seconds,
                                    const std::string& program) {
  if (!value) {
    auto targets = asking::device_targets(worker::inspect_driver(timeout_seconds, program));
    return targets.empty() ? gpu::simulated_targets("representative") : targets;
  }
  if (value->json().is_string()) return asking::named_targets(value->text(), timeout_seconds, program);
  std::vector<gpu::Target> targets;
  for (const auto& one : value->json().is_array() ? value->elements() : std::vector<JsonView>{*value}) {
    if (one.json().is_object())
      gpu::add_target(targets, gpu::parse_target(one.json().dump(), one.where()));
    else
      for (auto& target : asking::named_targets(one.text(), timeout_seconds, program))
        gpu::add_target(targets, std::move(target));
  }
  return targets;
}

void read_how(JsonObject& object, asking::PlanOptions& options) {
  if (const auto value = object.find_set("timeout")) {
    options.timeout_seconds = value->number();
    if (!(options.timeout_seconds > 0 && options.timeout_seconds <= 1e6))
      value->fail_out_of_range("more than 0, at most 1000000 seconds");
  }
  if (const auto value = object.find_set("jobs")) options.jobs = static_cast<int>(value->integer(1, 4096));
  if (const auto value = object.find_set("mode"))
    options.walk.modes = asking::checked_modes(words_of(*value), value->where());
}

std::vector<rules::ChosenGate> gates_of(JsonObject& object, const std::string& otherwise) {
  std::vector<std::string> frameworks;
  if (!otherwise.empty()) frameworks = {otherwise};
  if (const auto value = object.find_set("framework"))
    frameworks = value->json().is_string() ? std::vector{value->text()} : value->texts();
  return rules::choose_gates(frameworks, object.place().where() + "/framework");
}

}  // namespace attnprobe::service
