// The knobs of engine configs by name.
#pragma once

#include <cudnn_graph.h>

#include <string>
#include <vector>

namespace attnprobe::probe {

/// "KERNEL_CFG" of CUDNN_KNOB_TYPE_KERNEL_CFG; the number itself for one that the headers don't know.
std::string knob_name(cudnnBackendKnobType_t knob);
/// The way back. Throws Error(internal) for a name that is none.
cudnnBackendKnobType_t knob_type(const std::string& name);
/// Of those that are known, by number.
std::vector<std::string> all_knob_names();

}  // namespace attnprobe::probe
