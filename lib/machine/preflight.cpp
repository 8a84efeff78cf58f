#include "machine/preflight.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/ask.hpp"
#include "ask/named_targets.hpp"
#include "attention/config.hpp"
#include "build/build.hpp"
#include "gpu/catalogue.hpp"
#include "worker/client.hpp"

namespace attnprobe::machine {
namespace {

std::string install_cudnn() {
  return fmt::format("attnprobe cudnn fetch latest; or pip install {}, or NVIDIA's cuDNN package",
                     cudnn::pip_requirement());
}

attention::AttentionConfig smallest_config() {
  return attention::configs_from_options({{"heads", 1}, {"seqlen", 128}, {"head_dim", 64}}).front();
}

CudnnOnMachine try_cudnn(const cudnn::Candidate& candidate, double timeout_seconds) {
  CudnnOnMachine found;
  found.path = candidate.path;
  found.found_by = candidate.found_by;
  const gpu::Target& target = *gpu::find("h200");
  try {
    worker::Client client(target, worker::Client::Seconds(timeout_seconds));
    found.library = client.open(candidate.path, target);
    found.works = true;
  } catch (const std::exception& e) {
    found.problem = e.what();
  }
  return found;
}

Finding driver_part(const gpu::DriverInfo& driver) {
  if (driver.found && !driver.is_stub && driver.problem.empty())
    return {"CUDA driver", true,
            fmt::format("CUDA {}.{} ({})", driver.version / 1000, driver.version / 10 % 100, driver.path), ""};
  return {"CUDA driver", false, driver.problem,
          "install the NVIDIA driver to probe and run on a real GPU; simulated GPUs need none"};
}

Finding gpu_part(const gpu::DriverInfo& driver) {
  if (driver.gpus.empty()) return {"GPU", false, "none", "use simulated GPUs: attnprobe --target all"};
  std::string list;
  for (const auto& gpu : driver.gpus) list += fmt::format("{}{} (sm_{})", list.empty() ? "" : ", ", gpu.name, gpu.sm);
  return {"GPU", true, list, ""};
}

Finding cudnn_part(const CudnnOnMachine& found) {
  std::string detail = fmt::format("{} ({}{})", found.path, found.found_by, found.chosen ? ", the one in use" : "");
  if (!found.works)
    return {"cuDNN", false, detail + ": " + found.problem, "reinstall it, or name another with --cudnn"};
  std::string real = found.library.path == found.path ? "" : fmt::format(", really {}", found.library.path);
  return {fmt::format("cuDNN {}", found.library.version.text()), true,
          fmt::format("{}{}, {}with the CUDA {}.{} runtime inside", detail, real,
                      found.library.jit_only ? "the small one, without precompiled engines, " : "",
                      found.library.cuda_version / 1000, found.library.cuda_version / 10 % 100),
          ""};
}

// Every file of the cuDNN in use, as actually loaded, and whether all have the same folder and version.
void add_files(const CudnnOnMachine& found, std::vector<Finding>& parts) {
  const auto folder = std::filesystem::path(found.library.path).parent_path();
  for (const auto& file : found.library.files) {
    const std::filesystem::path path = file.path;
    const bool strange = file.name.rfind("libcudnn", 0) == 0 && path.parent_path() != folder;
    parts.push_back(
        {"  " + file.name, !strange,
         fmt::format("{}{}", file.path, file.version.empty() ? "" : " (" + file.version + ")"),
         strange ? fmt::format("it is not from {}: unset LD_LIBRARY_PATH or remove the other cuDNN", folder.string())
                 : ""});
  }
}

Finding try_walk(const char* what, const std::string& cudnn_path, const gpu::Target& target,
                 const probe::WalkOptions& options, double timeout_seconds) {
  asking::PlanOptions how;
  how.walk = options;
  how.timeout_seconds = timeout_seconds;
  const auto results = asking::ask({.groups = {{asking::questions_of({smallest_config()}), {target}, {cudnn_path}}},
                                    .options = std::move(how),
                                    .further = asking::Further::nothing})
                           .front()
                           .results;
  const answer::Answer& result = results.front();
  const auto& configs = result.findings.engine_configs;
  if (const auto open = std::find_if(configs.begin(), configs.end(), probe::is_left_open); open != configs.end())
    return {what, false, open->plan->reasons.empty() ? open->plan->status : open->plan->reasons.front().reason,
            "if `attnprobe cudnn fetch` downloaded it: `attnprobe cudnn fetch VERSION --nvrtc`"};
  if (result.verdict == answer::Verdict::supported)
    return {what, true, fmt::format("yes ({}, {:.0f} ms)", target.name, result.findings.walk_ms), ""};
  const std::string why = result.root_cause ? result.root_cause->reason : std::string(name_of(result.verdict));
  return {what, false, why, result.root_cause ? result.root_cause->in_general : ""};
}

}  // namespace

Diagnosis diagnose_machine(const std::string& requested, double timeout_seconds) {
  Diagnosis diagnosis;
  diagnosis.driver = worker::inspect_driver(timeout_seconds);
  diagnosis.null_driver = gpu::find_null_driver();
  diagnosis.parts = {driver_part(diagnosis.driver), gpu_part(diagnosis.driver)};
  diagnosis.parts.push_back(
      {"null driver", !diagnosis.null_driver.empty(),
       diagnosis.null_driver.empty() ? "libattnprobe_null_driver.so is missing" : diagnosis.null_driver,
       diagnosis.null_driver.empty() ? "reinstall attnprobe, or name the file with ATTNPROBE_NULL_DRIVER" : ""});
  try {
    for (const auto& candidate : cudnn::find_libraries(requested)) {
      diagnosis.cudnn.push_back(try_cudnn(candidate, timeout_seconds));
      diagnosis.cudnn.back().chosen = diagnosis.cudnn.size() == 1;
      diagnosis.parts.push_back(cudnn_part(diagnosis.cudnn.back()));
      if (diagnosis.cudnn.back().chosen) add_files(diagnosis.cudnn.back(), diagnosis.parts);
    }
    if (diagnosis.cudnn.empty()) diagnosis.parts.push_back({"cuDNN", false, "no libcudnn.so.9 found", install_cudnn()});
  } catch (const Error& e) {
    diagnosis.parts.push_back({"cuDNN", false, e.what(), install_cudnn()});
  }

  if (diagnosis.cudnn.empty()) {
    diagnosis.abilities.push_back({"answer for simulated GPUs", false, "needs cuDNN 9.8 or later", install_cudnn()});
    return diagnosis;
  }
  const std::string& path = diagnosis.cudnn.front().path;
  probe::WalkOptions check, plans;
  check.modes = plans.modes = {"A"};
  plans.plans = probe::Plans::build;
  const gpu::Target& simulated = *gpu::find("h200");
  diagnosis.abilities.push_back(try_walk("answer for simulated GPUs", path, simulated, check, timeout_seconds));
  diagnosis.abilities.push_back(try_walk("compile plans for simulated GPUs", path, simulated, plans, timeout_seconds));
  for (const auto& device : asking::device_targets(diagnosis.driver)) {
    diagnosis.abilities.push_back(try_walk("answer for this machine's GPU", path, device, check, timeout_seconds));
    diagnosis.abilities.push_back(try_walk("build plans on this machine's GPU", path, device, plans, timeout_seconds));
  }
  return diagnosis;
}

}  // namespace attnprobe::machine
