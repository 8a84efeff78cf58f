// A Python environment on disk: the cuDNN that its frameworks would load, and problems. Runs and imports nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "machine/preflight.hpp"
#include "machine/process_libraries.hpp"
#include "machine/python_extras.hpp"

namespace attnprobe::machine {

/// An installed distribution, from its dist-info.
struct PythonPackage {
  std::string name;     ///< normalised: "nvidia-cudnn-cu12"
  std::string version;  ///< "9.10.2.21"
  std::string info;     ///< its dist-info folder
};
ATTNPROBE_JSON(PythonPackage, name, version, info)

/// An installed distribution's requirement of a cuDNN package.
struct CudnnDemand {
  std::string by;         ///< "torch 2.8.0"
  std::string package;    ///< "nvidia-cudnn-cu12"
  std::string specifier;  ///< "==9.10.2.21"; "" for any
  bool is_met = false;
};
ATTNPROBE_JSON(CudnnDemand, by, package, specifier, is_met)

struct PythonEnvironment {
  std::string python;                       ///< as given
  std::vector<std::string> folders;         ///< its site-packages
  std::vector<PythonPackage> frameworks;    ///< frameworks that use cuDNN's attention
  std::vector<PythonPackage> cudnn_wheels;  ///< several share a folder
  std::vector<CudnnDemand> demands;
  std::string cudnn_path;     ///< libcudnn.so.9 from the wheels; "" if there is none
  std::string cudnn_version;  ///< from the files themselves, "9.10.2"; "" if unknown
  /// "torch 2.11.0 loads cuDNN 9.19.0 (…/libcudnn.so.9)", by rule: frameworks load the wheel of their own environment
  /// first. "" without a framework or a wheel.
  std::string loads;
  std::vector<ExtraChange> extras;           ///< effect of attnprobe's own extras
  std::vector<Finding> parts;                ///< display lines
  std::vector<EnvironmentProblem> problems;  ///< worst first
};
ATTNPROBE_JSON(PythonEnvironment, python, folders, frameworks, cudnn_wheels, demands, cudnn_path, cudnn_version, loads,
               extras, parts, problems)

/// The driver and GPUs for the environment.
struct MachineGpus {
  int driver_version = 0;  ///< CUDA's number, 12040; 0: there is no driver
  std::vector<int> sms;    ///< 120
};

/// `python`: an interpreter, the folder of a virtual environment, or a site-packages folder. Throws Error(usage) for
/// any other path.
PythonEnvironment inspect_python(const std::filesystem::path& python, const MachineGpus& machine);

/// The environment in which attnprobe runs, for inspect_python: that of its own package, else VIRTUAL_ENV,
/// CONDA_PREFIX, the python3 on PATH. None without an environment, or if nothing in it uses cuDNN.
std::optional<PythonEnvironment> inspect_own_python(const MachineGpus& machine);

/// Display lines, one per extra, about the changes that `pip install attnprobe[EXTRA]` would make; not ok if a
/// framework would get another cuDNN.
std::vector<Finding> extra_findings(const PythonEnvironment& environment);

}  // namespace attnprobe::machine
