// What tests put in cuDNN's and the GPU's place, by variables of the worker's environment. The one seam for them: without
// ATTNPROBE_TEST_FAULTS, which only a build with tests defines, nothing here does anything.
#pragma once

#include <memory>
#include <string>

namespace attnprobe::run {
class Runner;  // run/runner.hpp, which needs cuDNN's headers; the command line has none
}

namespace attnprobe::worker {

/// ATTNPROBE_TEST_FAULT=segfault|abort|hang|exit@<stage>: makes a worker die or hang where cuDNN might; kill, terminate,
/// hangup, interrupt: as something outside would end it. A stage that ends in * stands for all that begin so.
void inject_fault(const std::string& stage);

/// Whether ATTNPROBE_TEST_PLANS is set: plans of simulated GPUs run on the CPU, by the interpreter of graphs in place of
/// cudnnBackendExecute. Everything else about them (worker, protocol, verification, reports, exit codes) is the
/// product's own.
bool test_plans_asked();

/// ATTNPROBE_TEST_PLANS=right, <fault>@<engine>, or <fault> for every engine: wrong, nan, outside, unwritten, changing
/// (from run to run), cuda_error, out_of_memory. Precondition: test_plans_asked().
std::unique_ptr<run::Runner> test_runner();

}  // namespace attnprobe::worker
