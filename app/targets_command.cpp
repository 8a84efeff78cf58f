#include <fmt/format.h>

#include "ask.hpp"
#include "ask/named_targets.hpp"
#include "base/error.hpp"
#include "commands.hpp"
#include "cudnn/library_info.hpp"
#include "exit_code.hpp"
#include "gpu/catalogue.hpp"
#include "gpu/comparisons.hpp"
#include "machine/preflight.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"
#include "worker/client.hpp"

namespace attnprobe::app {
namespace {

int64_t number(const gpu::Target& t, const char* key) {
  return t.properties.value(key, int64_t{0});
}

// A narrow terminal shows only the columns by which GPUs are chosen.
int list() {
  constexpr size_t wide = 130;
  const bool is_wide = terminal_columns().value_or(wide) >= wide;
  std::vector<std::vector<std::string>> rows{
      {"id", "name", "architecture", "sm", "SMs", "shared memory per block", "memory", "", "simulated answers"}};
  if (!is_wide) rows = {{"id", "name", "sm", "SMs", "memory"}};
  for (const auto& t : gpu::catalogue()) {
    const std::string sm = fmt::format("{}", t.sm), sms = fmt::format("{}", number(t, "multiProcessorCount")),
                      memory = fmt::format("{} GiB", number(t, "totalGlobalMem") >> 30);
    if (is_wide)
      rows.push_back({t.id, t.name, t.architecture, sm, sms,
                      fmt::format("{} KiB", number(t, "maxSharedMemoryPerBlockOptin") >> 10), memory,
                      t.representative ? "representative" : "", gpu::compared_text(t)});
    else
      rows.push_back({t.id, t.name, sm, sms, memory});
  }
  print_text(report::aligned(rows, 0));
  return all_met;
}

int show(const std::string& id) {
  print_data(gpu::to_json(gpu::simulated_targets(id).front()).dump(2) + "\n");
  return all_met;
}

int dump(const std::string& cudnn, int device, const std::string& path) {
  constexpr double timeout = 60;
  const gpu::DriverInfo driver = worker::inspect_driver(timeout);
  const auto devices = asking::device_targets(driver);
  if (devices.empty()) throw Error(ErrorKind::environment, "no GPU to dump: " + driver.problem);
  if (device < 0 || static_cast<size_t>(device) >= devices.size())
    throw Error(ErrorKind::usage,
                fmt::format("--device: GPU {} does not exist; allowed: 0 to {}", device, devices.size() - 1));
  std::unique_ptr<OutputFile> file;
  if (!path.empty()) file = std::make_unique<OutputFile>(path);
  const auto measured =
      asking::measured_device(devices[static_cast<size_t>(device)], driver, cudnn::choose_library(cudnn).path, timeout);
  const std::string text = gpu::to_json(measured).dump(2) + "\n";
  if (file)
    file->replace(text);
  else
    print_data(text);
  return all_met;
}

}  // namespace

void add_targets(CLI::App& app, Run& run) {
  auto* command = app.add_subcommand("targets", "List the GPUs that can be simulated, and this machine's own");
  command->require_subcommand(0, 1);
  command->add_subcommand("list", "the catalogue (the default)");
  command->callback([command, &run] {
    if (command->get_subcommands().empty() || command->got_subcommand("list")) run = list;
  });

  auto id = std::make_shared<std::string>();
  auto* show_command = command->add_subcommand("show", "show every property of one target with its source");
  show_command->add_option("id", *id, "id, alias or file")->required();
  show_command->callback([id, &run] { run = [id] { return show(*id); }; });

  struct DumpOptions {
    std::string cudnn, path;
    int device = 0;
  };
  auto options = std::make_shared<DumpOptions>();
  auto* dump_command = command->add_subcommand("dump", "capture this machine's GPU as a target file");
  dump_command->add_option("--cudnn", options->cudnn, "libcudnn.so.9, or a folder that contains it");
  dump_command->add_option("--device", options->device, "index of the GPU");
  dump_command->add_option("-o,--output", options->path, "file; default: standard output");
  dump_command->callback(
      [options, &run] { run = [options] { return dump(options->cudnn, options->device, options->path); }; });
}

}  // namespace attnprobe::app
