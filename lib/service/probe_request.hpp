// The parameters of the method "probe", and its answer. Not installed.
#pragma once

#include <string>
#include <vector>

#include "base/json_reader.hpp"
#include "campaign/ask.hpp"
#include "service/request_parts.hpp"

namespace attnprobe::service {

/// What is asked, of which GPUs and which cuDNN, and how far.
struct ProbeRequest {
  campaign::Plan plan{{{}}};          ///< of one group
  std::vector<std::string> warnings;  ///< what of a framework's call is not asked
};

/// What is asked: exactly one of "config", "torch" and "jax". Gives the framework of a call, else "".
std::string read_questions(JsonObject& object, ProbeRequest& request);

/// Throws Error(usage) naming the member, its value and what is allowed, and Error(environment) for a target of this
/// machine where it has no GPU.
ProbeRequest read_probe_request(const JsonView& params, const std::string& program);

/// A report ("attnprobe/report/1"), with "warnings" where there are any.
Json answer_probe(ProbeRequest request, const Means& means);

}  // namespace attnprobe::service
