// The names of the knobs of engine configs.
#pragma once

#include <cudnn_graph.h>

#include <string>
#include <vector>

namespace attnprobe::probe {

/// "KERNEL_CFG" for CUDNN_KNOB_TYPE_KERNEL_CFG; the number if the headers lack the knob.
std::string knob_name(cudnnBackendKnobType_t knob);
/// The inverse. Throws Error(internal) for an unknown name.
cudnnBackendKnobType_t knob_type(const std::string& name);
/// All known names, by number.
std::vector<std::string> all_knob_names();

}  // namespace attnprobe::probe
