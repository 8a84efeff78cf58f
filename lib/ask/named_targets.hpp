// Targets by the words of a command line: simulated GPUs, and those of this machine.
#pragma once

#include <string>
#include <vector>

#include "attention/config.hpp"
#include "gpu/driver.hpp"
#include "gpu/target.hpp"

namespace attnprobe::asking {

/// The GPUs of this machine as targets device:0, device:1, …; empty without a GPU or a driver. `driver` gives the
/// reason.
std::vector<gpu::Target> device_targets(const gpu::DriverInfo& driver);

/// cuDNN's properties of a GPU of this machine (Kind::device), as a target to simulate. `cudnn`: path of a
/// libcudnn.so.9. Throws the errors of worker::Client.
gpu::Target measured_device(const gpu::Target& device, const gpu::DriverInfo& driver, const std::string& cudnn,
                            double timeout_seconds, const std::string& program = "");

/// The targets of a comma-separated list: devices, ids, files, "all", "representative", "each-sm", each once. Throws
/// Error(usage) for an unknown target and for two different targets with the same id, Error(environment) if the machine
/// has no GPU. `timeout_seconds` and `program` as for inspect_driver().
std::vector<gpu::Target> named_targets(const std::string& list, double timeout_seconds,
                                       const std::string& program = "");

/// Whether plans can run on the target: a GPU of this machine, or a stand-in in tests.
bool can_run(const gpu::Target& target);

/// Throws Error(usage), beginning with `place`, for a simulated target, which cannot be timed.
void check_can_time(const std::vector<gpu::Target>& targets, const std::string& place);

/// Throws Error(usage), with the nearest name, if a config's "expect" names neither a GPU of the catalogue nor one of
/// these targets. Otherwise the expectation would silently pass.
void check_expectations(const std::vector<attention::AttentionConfig>& configs,
                        const std::vector<gpu::Target>& targets);

}  // namespace attnprobe::asking
