// A double for the GPU, for tests alone: ATTNPROBE_TEST_PLANS in the worker's environment makes plans of simulated GPUs
// run on the CPU, by the interpreter of graphs in place of cudnnBackendExecute. Everything about them (worker,
// protocol, verification, reports, exit codes) is the product's own.
#pragma once

#include <memory>

#include "run/runner.hpp"

namespace attnprobe::worker {

/// ATTNPROBE_TEST_PLANS=right, <fault>@<engine>, or <fault> for every engine: wrong, nan, outside, unwritten, changing
/// (from run to run), cuda_error, out_of_memory.
std::unique_ptr<run::Runner> test_runner();

}  // namespace attnprobe::worker
