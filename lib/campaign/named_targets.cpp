#include "campaign/named_targets.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "campaign/preflight.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::campaign {
namespace {

void add_devices(std::vector<gpu::Target>& targets, const std::string& word, double timeout_seconds,
                 const std::string& program) {
  const auto driver = inspect_driver(timeout_seconds, program);
  const auto devices = device_targets(driver);
  if (devices.empty())
    throw Error(ErrorKind::environment,
                fmt::format("--target {}: {}; name a simulated GPU instead (`attnprobe targets list`)", word,
                            driver.problem.empty() ? "no GPU" : driver.problem));
  if (word == "device:all") {
    for (const auto& device : devices) gpu::add_target(targets, device);
    return;
  }
  for (const auto& device : devices)
    if (device.id == word) return gpu::add_target(targets, device);
  throw Error(ErrorKind::usage, fmt::format("--target: there is no {}; allowed: device:0 to device:{}, device:all",
                                            word, devices.size() - 1));
}

}  // namespace

std::vector<gpu::Target> device_targets(const gpu::DriverInfo& driver) {
  std::vector<gpu::Target> targets;
  for (const auto& gpu : driver.gpus) {
    gpu::Target t;
    t.id = fmt::format("device:{}", gpu.index);
    t.name = gpu.name;
    t.sm = gpu.sm;
    t.kind = gpu::Kind::device;
    t.device = gpu.index;
    t.uuid = gpu.uuid;
    targets.push_back(std::move(t));
  }
  return targets;
}

std::vector<gpu::Target> named_targets(const std::string& list, double timeout_seconds, const std::string& program) {
  std::vector<gpu::Target> targets;
  for (const auto& word : split(list, ',')) {
    if (word.rfind("device:", 0) == 0) {
      add_devices(targets, word, timeout_seconds, program);
      continue;
    }
    for (auto& t : gpu::simulated_targets(word)) gpu::add_target(targets, std::move(t));
  }
  return targets;
}

}  // namespace attnprobe::campaign
