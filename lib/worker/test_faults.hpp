// Simulates faults of cuDNN and the GPU for tests, with variables in the worker's environment. All simulated faults are
// in this module. Without ATTNPROBE_TEST_FAULTS, which only builds with tests define, it has no effect.
#pragma once

#include <memory>
#include <string>

namespace attnprobe::run {
class Runner;  // run/runner.hpp needs cuDNN's headers, which the command line lacks
}

namespace attnprobe::worker {

/// ATTNPROBE_TEST_FAULT=segfault|abort|hang|exit@<stage> makes a worker die or hang as cuDNN might. kill, terminate,
/// hangup and interrupt end it as if from outside. A stage that ends in * matches every stage with that prefix.
void inject_fault(const std::string& stage);

/// Whether ATTNPROBE_TEST_PLANS is set: plans of simulated GPUs run on the CPU, with the interpreter of graphs instead
/// of cudnnBackendExecute. Everything else (worker, protocol, verification, reports, exit codes) is real.
bool test_plans_asked();

/// ATTNPROBE_TEST_PLANS=right, <fault>@<engine>, or <fault> for every engine: wrong, nan, outside, unwritten, changing
/// (from run to run), cuda_error, out_of_memory. Precondition: test_plans_asked().
std::unique_ptr<run::Runner> test_runner();

}  // namespace attnprobe::worker
