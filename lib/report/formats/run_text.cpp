#include "report/formats/run_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "probe/constraints.hpp"
#include "probe/walk_difference.hpp"
#include "report/model/measurements.hpp"

namespace attnprobe::report {
namespace {

using probe::EngineConfigFindings;

bool is_timed(const EngineConfigFindings& config) {
  return config.time && config.time->median_ms;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string rate_text(const probe::TimeFindings& time) {
  std::string text;
  const bool memory = time.bound == "memory" && time.gbytes_per_s;
  if (memory) {
    text = fmt::format("{:.0f} GB/s", *time.gbytes_per_s);
    if (time.percent_of_bandwidth) text += fmt::format(" ({:.0f} % of bandwidth)", *time.percent_of_bandwidth);
  } else if (time.tflops) {
    text = fmt::format("{:.0f} TFLOP/s", *time.tflops);
    if (time.percent_of_peak) text += fmt::format(" ({:.0f} % of peak)", *time.percent_of_peak);
  }
  return text;
}

bool is_noted(const EngineConfigFindings& config) {
  const auto& notes = config.numerical_notes;
  return std::find(notes.begin(), notes.end(), "NONDETERMINISTIC") != notes.end();
}

std::string launch_text(const probe::KernelLaunch& launch) {
  std::string text = launch.name.empty() ? "a kernel" : launch.name;
  if (launch.registers) text += fmt::format(", {} registers", *launch.registers);
  text += fmt::format(", grid {}, block {}", fmt::join(launch.grid, "x"), fmt::join(launch.block, "x"));
  if (launch.dynamic_shared_memory_bytes > 0)
    text += fmt::format(", {} of dynamic shared memory", bytes_text(launch.dynamic_shared_memory_bytes));
  if (launch.median_ms) text += fmt::format(", {:.4g} ms", *launch.median_ms);
  return text;
}

// "memcheck: 12 errors: 12 times Invalid __global__ read of size 16 bytes, in cudnn_generated_…"
std::string sanitizer_text(const probe::SanitizerFindings& under) {
  using probe::SanitizerStatus;
  std::string text = under.tool + ": ";
  if (under.status == SanitizerStatus::clean) text += "no errors";
  if (under.status == SanitizerStatus::errors)
    text += fmt::format("{} error{}", under.errors, under.errors == 1 ? "" : "s");
  if (under.status == SanitizerStatus::timeout) text += "timed out";
  if (under.status == SanitizerStatus::failed) text += "it reported nothing";
  if (under.warnings > 0) text += fmt::format(", {} warnings", under.warnings);
  constexpr size_t most = 3;
  for (size_t i = 0; i < std::min(most, under.found.size()); ++i) {
    const auto& error = under.found[i];
    text += fmt::format("{} {} times {}", i == 0 ? ":" : ";", error.count, error.what);
    if (!error.kernel.empty()) text += ", in " + error.kernel;
  }
  if (under.found.size() > most) text += fmt::format("; {} further kinds", under.found.size() - most);
  if (!under.message.empty()) text += "; " + under.message;
  return text;
}

}  // namespace

std::string plan_kernel_text(const probe::PlanKernel& kernel) {
  std::string text = kernel.name;
  if (!kernel.identity.empty()) text += ", kernel " + kernel.identity;
  const auto add = [&](std::optional<int64_t> value, const char* words) {
    if (value && *value > 0) text += fmt::format(fmt::runtime(words), *value);
  };
  add(kernel.registers, ", {} registers");
  add(kernel.stack_bytes, ", {} B of stack");
  add(kernel.max_threads, ", {} threads a block");
  add(kernel.blocks_per_sm, ", {} blocks a multiprocessor");
  add(kernel.code_bytes, ", {} B of code");
  return text;
}

std::string kernel_notes(const answer::Answer& result, const TextStyle& style) {
  std::string text;
  for (const auto& config : result.findings.engine_configs) {
    if (!is_built(config) || (!style.details && !text.empty())) continue;
    const auto say = [&](const std::string& words) {
      text += wrapped(fmt::format("{}: {}", engine_config_name(config), words), 2, style.width);
    };
    // The launched kernels describe the run.
    if (config.run && !config.run->launches.empty())
      for (const auto& launch : config.run->launches) say(launch_text(launch));
    else
      for (const auto& kernel : config.plan->kernels) say(plan_kernel_text(kernel));
  }
  return text;
}

std::string engine_config_name(const EngineConfigFindings& config) {
  return probe::config_name(config.engine, config.knobs);
}

std::string run_cell(const EngineConfigFindings& config) {
  if (!config.run) return "-";
  const probe::RunFindings& run = *config.run;
  std::string text(name_of(run.status));
  if (!probe::ran(run)) text = upper(text);
  if (run.relative_l2) text += fmt::format(", error {:.1e}", *run.relative_l2);
  if (run.deterministic == false) text += is_noted(config) ? ", nondeterministic" : ", NONDETERMINISTIC";
  return text;
}

std::string time_cell(const EngineConfigFindings& config) {
  if (!config.time) return "-";
  if (!config.time->median_ms) return std::string(name_of(config.time->status));
  std::string text;
  for (const Measurement& measured : measurements())
    if (const auto& value = *config.time.*measured.value; value && !measured.in_text.empty())
      text += fmt::format(fmt::runtime(measured.in_text), measured.text_factor * *value);
  const std::string rate = rate_text(*config.time);
  return rate.empty() ? text : text + ", " + rate;
}

std::string run_problem(const EngineConfigFindings& config) {
  return config.run && config.run->status != probe::RunStatus::ok ? config.run->message : "";
}

std::string fastest_summary(const answer::Answer& result) {
  const EngineConfigFindings *fastest = nullptr, *first = nullptr;
  for (const auto& config : result.findings.engine_configs) {
    if (!is_timed(config)) continue;
    if (first == nullptr) first = &config;
    if (fastest == nullptr || *config.time->median_ms < *fastest->time->median_ms) fastest = &config;
  }
  if (fastest == nullptr) return "";
  std::string text = fmt::format("fastest {:.4g} ms, {}", *fastest->time->median_ms, engine_config_name(*fastest));
  const std::string rate = rate_text(*fastest->time);
  if (!rate.empty()) text += ", " + rate;
  if (first == fastest) return text + "; it is the first choice";
  return text + fmt::format("; the first choice, {}, is {:.1f} % slower", engine_config_name(*first),
                            100 * (*first->time->median_ms / *fastest->time->median_ms - 1));
}

std::string run_notes(const answer::Answer& result, const TextStyle& style) {
  std::string text;
  std::set<std::string> said;
  auto say = [&](const std::string& paragraph) {
    if (said.insert(paragraph).second) text += wrapped(paragraph, 2, style.width);
  };
  if (const auto* choice = probe::displaced_choice(result.findings);
      choice != nullptr && result.verdict == answer::Verdict::supported)
    say(fmt::format("the heuristics' first choice, {}, is left out: {}", engine_config_name(*choice),
                    *choice->left_out));
  for (const auto& config : result.findings.engine_configs) {
    if (!config.run) continue;
    if (!probe::ran(*config.run))
      say(fmt::format("! {}: {}: {}", engine_config_name(config), name_of(config.run->status), config.run->message));
    if (config.run->deterministic == false && !is_noted(config))
      say(fmt::format("! {}: results differ from run to run, and cuDNN has no NONDETERMINISTIC note for it",
                      engine_config_name(config)));
    for (const auto& under : config.run->sanitized)
      say(fmt::format("{}{}: {}", under.status == probe::SanitizerStatus::clean ? "" : "! ", engine_config_name(config),
                      sanitizer_text(under)));
    if (config.time)
      for (const auto& advice : config.time->advice)
        // Noise and outliers without effect on the result are only in the JSON report.
        if (advice.rfind("noisy", 0) != 0 && advice.rfind("outliers", 0) != 0)
          say(fmt::format("{}: {}", engine_config_name(config), advice));
  }
  return text;
}

}  // namespace attnprobe::report
