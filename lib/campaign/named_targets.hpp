// Targets as a command line names them: simulated GPUs, and those of this machine.
#pragma once

#include <string>
#include <vector>

#include "attention/config.hpp"
#include "gpu/driver.hpp"
#include "gpu/target.hpp"

namespace attnprobe::campaign {

/// The GPUs of this machine as targets device:0, device:1, …;
/// empty where there is no GPU or no driver. `driver` tells why.
std::vector<gpu::Target> device_targets(const gpu::DriverInfo& driver);

/// What cuDNN says of one of them (Kind::device), as a target to simulate; `cudnn`: path of a libcudnn.so.9. Throws what
/// worker::Client does.
gpu::Target measured_device(const gpu::Target& device, const gpu::DriverInfo& driver, const std::string& cudnn,
                            double timeout_seconds, const std::string& program = "");

/// Those of a comma list: devices, ids, files, "all", "representative", "each-sm", each once. Throws Error(usage) for what there is
/// not and for two that differ under one id, Error(environment) where the machine has no GPU. `timeout_seconds` and
/// `program` as for inspect_driver().
std::vector<gpu::Target> named_targets(const std::string& list, double timeout_seconds,
                                       const std::string& program = "");

/// Whether plans are executed there: a GPU of this machine, or a test's double of one.
bool can_run(const gpu::Target& target);

/// Throws Error(usage), beginning with `place`, for one of them that times nothing since it is simulated.
void check_can_time(const std::vector<gpu::Target>& targets, const std::string& place);

/// Throws Error(usage), with the nearest name, for an "expect" of a config that names a GPU which is neither in the
/// catalogue nor one of these: it would be passed in silence.
void check_expectations(const std::vector<attention::AttentionConfig>& configs,
                        const std::vector<gpu::Target>& targets);

}  // namespace attnprobe::campaign
