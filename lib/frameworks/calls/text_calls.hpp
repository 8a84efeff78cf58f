// The calls that the source in a text makes, answered by rule: for a report of a problem that has its program with it.
#pragma once

#include <string_view>
#include <vector>

#include "report/model/text_call.hpp"

namespace attnprobe::frameworks {

/// Each graph of each call, by the gate of the framework's release that the text names (else the newest that was read), for the GPU and
/// the cuDNN that it names (else an H100, and the cuDNN that the release brings). No cuDNN is asked. At most 4.
std::vector<report::TextCall> answer_calls(std::string_view text);

}  // namespace attnprobe::frameworks
