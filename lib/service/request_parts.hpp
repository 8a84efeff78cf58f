// Common parts of requests: targets, depth and workers. Not installed.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ask/plan.hpp"
#include "base/json_reader.hpp"
#include "service/worker_slots.hpp"

namespace attnprobe::service {

/// The resources for answering a request.
struct Means {
  asking::Session session;
  WorkerSlots* slots = nullptr;
};

/// Stands for an unknown number of useful jobs.
inline constexpr size_t any_number = std::numeric_limits<size_t>::max();

/// Waits for a slot and reduces the jobs to the acquired slots. Keep the slots until the request is answered. `useful`:
/// the number of jobs that have work.
[[nodiscard]] WorkerSlots::Held take_slots(asking::PlanOptions& options, const Means& means, size_t useful);

/// The session, with problems added to the warnings.
asking::Session telling(asking::Session session, std::vector<std::string>& warnings);

/// A word, a comma-separated list, or an array of words.
std::vector<std::string> words_of(const JsonView& value);
/// A parameter that may be absent: none.
std::vector<std::string> words_of(const std::optional<JsonView>& value);

/// Words of --target and target documents; by default this machine's GPUs, otherwise the representative targets. Throws
/// Error(environment) for a target of this machine if it has no GPU.
std::vector<gpu::Target> targets_of(const std::optional<JsonView>& value, double timeout_seconds,
                                    const std::string& program);

/// "timeout", "jobs" and "mode".
void read_how(JsonObject& object, asking::PlanOptions& options);

/// "framework"; `otherwise` if absent, "" for none.
std::vector<rules::ChosenGate> gates_of(JsonObject& object, const std::string& otherwise);

}  // namespace attnprobe::service
