// The state of this machine: checked before a walk, and shown by `attnprobe doctor`.
#pragma once

#include <string>
#include <vector>

#include "cudnn/library_info.hpp"
#include "gpu/driver.hpp"

namespace attnprobe::machine {

/// A cuDNN on this machine, loaded in a separate process.
struct CudnnOnMachine {
  std::string path, found_by;
  bool chosen = false;  ///< a probe would use this one
  bool works = false;   ///< it loads, and answers for a simulated GPU
  cudnn::LibraryInfo library;
  std::string problem;  ///< why it does not work
};
ATTNPROBE_JSON(CudnnOnMachine, path, found_by, chosen, works, library, problem)

/// One line of `attnprobe doctor`'s answer.
struct Finding {
  std::string what;  ///< "CUDA driver"
  bool ok = false;
  std::string detail;  ///< what was found, or the problem
  std::string cure;    ///< what to do; "" if nothing is needed
};
ATTNPROBE_JSON(Finding, what, ok, detail, cure)

struct Diagnosis {
  gpu::DriverInfo driver;
  std::string null_driver;  ///< path of the file; "" if missing
  std::vector<CudnnOnMachine> cudnn;
  std::vector<Finding> parts;      ///< installed parts
  std::vector<Finding> abilities;  ///< tested abilities
};
ATTNPROBE_JSON(Diagnosis, driver, null_driver, cudnn, parts, abilities)

/// Checks everything; `requested` as for cudnn::find_libraries. Never throws for missing parts.
Diagnosis diagnose_machine(const std::string& requested, double timeout_seconds);

}  // namespace attnprobe::machine
