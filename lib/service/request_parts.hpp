// What requests have in common: where is asked, how far, and with which workers. Not installed.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/json_reader.hpp"
#include "campaign/campaign.hpp"
#include "service/worker_slots.hpp"

namespace attnprobe::service {

/// What a request is answered with.
struct Means {
  campaign::Session session;
  WorkerSlots* slots = nullptr;
};

/// Of jobs that have something to do, where that shows later.
inline constexpr size_t any_number = std::numeric_limits<size_t>::max();

/// Waits for a slot, and lowers the jobs to the slots that it got: keep them until the request is answered. `useful`: more jobs than that have nothing to do.
[[nodiscard]] WorkerSlots::Held take_slots(campaign::PlanOptions& options, const Means& means, size_t useful);

/// The session, with problems told as warnings.
campaign::Session telling(campaign::Session session, std::vector<std::string>& warnings);

/// A word, a comma list, or an array of words.
std::vector<std::string> words_of(const JsonView& value);
/// Of a parameter that may be left out: none.
std::vector<std::string> words_of(const std::optional<JsonView>& value);

/// Words of --target, or target documents among them; none: this machine's GPUs, else the representative ones. Throws
/// Error(environment) for a target of this machine where it has no GPU.
std::vector<gpu::Target> targets_of(const std::optional<JsonView>& value, double timeout_seconds,
                                    const std::string& program);

/// "timeout", "jobs" and "mode".
void read_how(JsonObject& object, campaign::PlanOptions& options);

/// "framework"; `otherwise` where it is left out, "" for none.
std::vector<rules::ChosenGate> gates_of(JsonObject& object, const std::string& otherwise);

}  // namespace attnprobe::service
