// What `attnprobe` prints without arguments.
#include "beginning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/catalogue.hpp"
#include "machine/preflight.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {

bool print_machine() {
  constexpr double seconds = 20;
  const machine::Diagnosis machine = machine::diagnose_machine("", seconds);
  std::string gpus;
  for (const auto& gpu : machine.driver.gpus)
    gpus += fmt::format("{}{} (sm_{})", gpus.empty() ? "" : ", ", gpu.name, gpu.sm);
  const auto cudnn =
      std::find_if(machine.cudnn.begin(), machine.cudnn.end(), [](const auto& one) { return one.chosen && one.works; });
  const bool works = cudnn != machine.cudnn.end();
  print_text(fmt::format("attnprobe {}: which fused attention cuDNN supports, on any GPU\n", report::tool_version()) +
             "  GPU    " +
             (gpus.empty() ? fmt::format("none; {} GPUs can be simulated", gpu::catalogue().size()) : gpus) +
             "\n  cuDNN  " +
             (works ? fmt::format("{}, {}", cudnn->library.version.text(), cudnn->path)
                    : "none works; run attnprobe cudnn fetch latest") +
             "\n\n");
  return works;
}

std::vector<std::string> first_question() {
  return {"probe",    "--name", "llama3-8b-prefill", "--heads-q", "32",      "--heads-kv", "8",
          "--seqlen", "4k",     "--head-dim",        "128",       "--dtype", "bf16",       "--causal"};
}

void print_next_commands() {
  print_text(
      "\nattnprobe --model config.json -t all       your model, on every GPU\n"
      "attnprobe explain error.txt                who refused a call, and why\n"
      "attnprobe -h                               all commands\n");
}

}  // namespace attnprobe::app
