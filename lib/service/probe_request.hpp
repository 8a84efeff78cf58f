// The parameters of the method "probe", and its answer. Not installed.
#pragma once

#include <string>
#include <vector>

#include "ask/ask.hpp"
#include "base/json_reader.hpp"
#include "service/request_parts.hpp"

namespace attnprobe::service {

/// The configs, GPUs, cuDNN and depth of a request.
struct ProbeRequest {
  asking::Plan plan{{{}}};            ///< of one group
  std::vector<std::string> warnings;  ///< ignored parts of a framework's call
};

/// Reads exactly one of "config", "torch" and "jax". Returns the framework of a call, otherwise "".
std::string read_questions(JsonObject& object, ProbeRequest& request);

/// Throws Error(usage) naming the member, its value and what is allowed. Throws Error(environment) for a target of this
/// machine if it has no GPU.
ProbeRequest read_probe_request(const JsonView& params, const std::string& program);

/// A report ("attnprobe/report/1"), with "warnings" if there are any.
Json answer_probe(ProbeRequest request, const Means& means);

}  // namespace attnprobe::service
