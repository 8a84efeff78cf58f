// What this machine has and what works on it: asked before a walk, and shown by `attnprobe doctor`.
#pragma once

#include <string>
#include <vector>

#include "cudnn/library_info.hpp"
#include "gpu/driver.hpp"

namespace attnprobe::campaign {

/// The machine's CUDA driver and GPUs, asked in a process of its own.
/// A driver that takes that process down is reported in `problem`. `program` as for worker::worker_program().
gpu::DriverInfo inspect_driver(double timeout_seconds, const std::string& program = "");

/// A cuDNN on this machine, loaded in a process of its own.
struct CudnnOnMachine {
  std::string path, found_by;
  bool chosen = false;  ///< what a probe would use
  bool works = false;   ///< loads, and answers for a simulated GPU
  cudnn::LibraryInfo library;
  std::string problem;  ///< why it does not work
};
ATTNPROBE_JSON(CudnnOnMachine, path, found_by, chosen, works, library, problem)

/// One line of the doctor's answer.
struct Finding {
  std::string what;  ///< "CUDA driver"
  bool ok = false;
  std::string detail;  ///< what was found, or what is wrong
  std::string cure;    ///< what to do; "" where nothing is needed
};
ATTNPROBE_JSON(Finding, what, ok, detail, cure)

struct Diagnosis {
  gpu::DriverInfo driver;
  std::string null_driver;  ///< its file; "" if it is missing
  std::vector<CudnnOnMachine> cudnn;
  std::vector<Finding> parts;      ///< what is there
  std::vector<Finding> abilities;  ///< what works: each was tried
};
ATTNPROBE_JSON(Diagnosis, driver, null_driver, cudnn, parts, abilities)

/// Looks at everything; `requested` as for cudnn::find_libraries. Never throws for what is missing.
Diagnosis diagnose_machine(const std::string& requested, double timeout_seconds);

}  // namespace attnprobe::campaign
