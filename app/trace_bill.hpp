// The bill of a traced program's plans.
#pragma once

#include "trace/trace.hpp"

namespace attnprobe::app {

/// Counts the kernels of the plans that the program built, for the GPU in its log (simulated), with the program's own
/// cuDNN. Fills trace.bill or trace.no_bill; both stay empty for up to 4 shapes, and if a signal ended the program.
void add_bill(trace::Trace& trace);

}  // namespace attnprobe::app
