// A Python environment as it lies on disk: which cuDNN a framework in it would load, and what would go wrong. Nothing of
// it is run or imported.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "campaign/preflight.hpp"
#include "campaign/process_libraries.hpp"
#include "campaign/python_extras.hpp"

namespace attnprobe::campaign {

/// An installed distribution, by its dist-info.
struct PythonPackage {
  std::string name;     ///< normalised: "nvidia-cudnn-cu12"
  std::string version;  ///< "9.10.2.21"
  std::string info;     ///< its dist-info folder
};
ATTNPROBE_JSON(PythonPackage, name, version, info)

/// What an installed distribution asks of a cuDNN package.
struct CudnnDemand {
  std::string by;         ///< "torch 2.8.0"
  std::string package;    ///< "nvidia-cudnn-cu12"
  std::string specifier;  ///< "==9.10.2.21"; "" any
  bool is_met = false;
};
ATTNPROBE_JSON(CudnnDemand, by, package, specifier, is_met)

struct PythonEnvironment {
  std::string python;                       ///< as it was named
  std::vector<std::string> folders;         ///< its site-packages
  std::vector<PythonPackage> frameworks;    ///< those that use cuDNN's attention
  std::vector<PythonPackage> cudnn_wheels;  ///< several of them share a folder
  std::vector<CudnnDemand> demands;
  std::string cudnn_path;     ///< libcudnn.so.9 that the wheels brought; "" where there is none
  std::string cudnn_version;  ///< of the files themselves, "9.10.2"; "" where they do not say
  /// "torch 2.11.0 loads cuDNN 9.19.0 (…/libcudnn.so.9)", by rule: frameworks take the wheel of their own environment
  /// first. "" where there is no framework or no wheel.
  std::string loads;
  std::vector<ExtraChange> extras;           ///< what attnprobe's own extras would change
  std::vector<Finding> parts;                ///< for people, line by line
  std::vector<EnvironmentProblem> problems;  ///< the worst first
};
ATTNPROBE_JSON(PythonEnvironment, python, folders, frameworks, cudnn_wheels, demands, cudnn_path, cudnn_version, loads,
               extras, parts, problems)

/// The driver and the GPUs under which the environment is to work.
struct MachineGpus {
  int driver_version = 0;  ///< as CUDA gives it, 12040; 0: there is no driver
  std::vector<int> sms;    ///< 120
};

/// `python`: an interpreter, the folder of a virtual environment, or a site-packages folder. Throws Error(usage) for what
/// is none of them.
PythonEnvironment inspect_python(const std::filesystem::path& python, const MachineGpus& machine);

/// The environment in which attnprobe runs, for inspect_python: that of the package it is part of, else VIRTUAL_ENV,
/// CONDA_PREFIX, the python3 on PATH. None where there is none, or where nothing in it uses cuDNN.
std::optional<PythonEnvironment> inspect_own_python(const MachineGpus& machine);

/// For people: what `pip install attnprobe[EXTRA]` would change there, an extra a line; not ok where a framework would get
/// another cuDNN.
std::vector<Finding> extra_findings(const PythonEnvironment& environment);

}  // namespace attnprobe::campaign
