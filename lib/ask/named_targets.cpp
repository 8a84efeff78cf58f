#include "ask/named_targets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "gpu/catalogue.hpp"
#include "worker/client.hpp"
#include "worker/test_faults.hpp"

namespace attnprobe::asking {
namespace {

void add_devices(std::vector<gpu::Target>& targets, const std::string& word, double timeout_seconds,
                 const std::string& program) {
  const auto driver = worker::inspect_driver(timeout_seconds, program);
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
  throw Error(ErrorKind::usage, fmt::format("--target: {} does not exist; allowed: device:0 to device:{}, device:all",
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
    t.memory_bytes = gpu.memory_bytes;
    targets.push_back(std::move(t));
  }
  return targets;
}

gpu::Target measured_device(const gpu::Target& device, const gpu::DriverInfo& driver, const std::string& cudnn,
                            double timeout_seconds, const std::string& program) {
  worker::Client client(device, worker::Client::Seconds(timeout_seconds), program);
  const auto library = client.open(cudnn, device);
  return gpu::measured_target(client.device_properties(),
                              driver.gpus.at(static_cast<size_t>(*device.device)).memory_bus_bits,
                              fmt::format("cuDNN {}, CUDA driver {}.{}", library.version.text(), driver.version / 1000,
                                          driver.version / 10 % 100));
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

bool can_run(const gpu::Target& target) {
  return target.kind == gpu::Kind::device || worker::test_plans_asked();
}

void check_can_time(const std::vector<gpu::Target>& targets, const std::string& place) {
  for (const auto& target : targets)
    if (!can_run(target))
      throw Error(
          ErrorKind::usage,
          fmt::format("{} {}: timing needs a real GPU, and this one is simulated; allowed: device:0, device:all", place,
                      target.id));
}

void check_expectations(const std::vector<attention::AttentionConfig>& configs,
                        const std::vector<gpu::Target>& targets) {
  const auto is_known = [&](const std::string& word) {
    return word == "default" || word.starts_with("device:") || gpu::find(word) != nullptr ||
           std::any_of(targets.begin(), targets.end(), [&](const gpu::Target& target) { return target.id == word; });
  };
  for (const auto& config : configs)
    for (const auto& [word, verdict] : config.spec.expect.by_target) {
      const size_t at = word.find('@');
      const std::string target = word.substr(0, at);
      const bool has_odd_version = at != std::string::npos && !is_version(word.substr(at + 1));
      if (is_known(target) && !has_odd_version) continue;
      std::vector<std::string> names{"default"};
      for (const auto& known : gpu::catalogue()) names.push_back(known.id);
      throw Error(
          ErrorKind::usage,
          has_odd_version
              ? fmt::format("config \"{}\": \"expect\": \"{}\": the part after @ is not a cuDNN version such as 9.8",
                            config.spec.name, word)
              : fmt::format("config \"{}\": \"expect\": \"{}\" is not a target{}; allowed: \"default\", a GPU of "
                            "`attnprobe targets list`, or a target of this run",
                            config.spec.name, target, did_you_mean(target, names)));
    }
}

}  // namespace attnprobe::asking
