#include "studies/plans/bill_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.hpp"
#include "base/text.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::plans {
namespace {

// Building on a GPU takes 0.55 to 0.77 s for a kernel that the process has not compiled. Each further plan with it
// takes 0.034 to 0.058 s (PyTorch 2.11, cuDNN 9.19.0, H200: docs/results/plans.md).
double seconds_on_gpu(const Bill& bill) {
  constexpr double first = 0.65, sibling = 0.047;
  const auto kernels = static_cast<double>(bill.kernels.size()), plans = static_cast<double>(bill.plans);
  return first * kernels + sibling * std::max(0.0, plans - kernels);
}

std::string seconds_text(double seconds) {
  return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string number_or_dash(std::optional<int64_t> value) {
  return value ? std::to_string(*value) : "-";
}

std::string kernels_text(const Bill& bill) {
  constexpr size_t most = 5;
  std::string text = fmt::format("\n{:<16}  {:>6}  {:>13}  {:>4}  {:>5}  {:>9}  engine\n", "kernel", "plans", "lengths",
                                 "regs", "stack", "code");
  for (size_t i = 0; i < std::min(most, bill.kernels.size()); ++i) {
    const KernelUse& use = bill.kernels[i];
    const std::string lengths = use.longest == 0 ? "-" : fmt::format("{}-{}", use.shortest, use.longest);
    text += fmt::format("{:<16.16}  {:>6}  {:>13}  {:>4}  {:>5}  {:>9}  {}\n", use.identity, use.plans, lengths,
                        number_or_dash(use.kernel.registers), number_or_dash(use.kernel.stack_bytes),
                        bytes_text(use.kernel.code_bytes.value_or(0)), use.engine.substr(0, use.engine.find(' ', 7)));
  }
  if (bill.kernels.size() > most) text += fmt::format("and {} more\n", bill.kernels.size() - most);
  return text;
}

std::string how_known(const Bill& bill) {
  if (bill.compiled == bill.plans) return "each compiled";
  return fmt::format("{} compiled; the others lie between two with the same kernel; {} spot checks agree",
                     bill.compiled, bill.checked);
}

std::string buckets_text(const WorkloadBill& found) {
  if (found.bucketed.empty())
    return found.no_buckets.empty() ? "" : fmt::format("\nLengths are not rounded up: {}.\n", found.no_buckets);
  std::string text = fmt::format("\n{:<26}  {:>6}  {:>7}  {:>8}  {:>9}\n", "lengths rounded up to", "plans", "kernels",
                                 "building", "more work");
  for (const auto& [bucketing, adds_padding, bill] : found.bucketed) {
    const std::string work = fmt::format("{:.1f} %", 100 * (bucketing.work - 1));
    const std::string kernels = bill.plans == 0 ? "refused" : std::to_string(bill.kernels.size());
    text += fmt::format("{:<26}  {:>6}  {:>7}  {:>8}  {:>9}\n", bucketing.name, bill.plans, kernels,
                        seconds_text(seconds_on_gpu(bill)), work);
  }
  if (found.bucketed.front().adds_padding)
    text += "with a padding mask, which the padded tokens need; more work counts them\n";
  return text;
}

Json kernel_json(const KernelUse& use) {
  Json json = use.kernel;
  json["identity"] = use.identity;
  json["engine_config"] = use.engine;
  json["plans"] = use.plans;
  json["shortest"] = use.shortest;
  json["longest"] = use.longest;
  return json;
}

Json bill_json(const Bill& bill) {
  Json kernels = Json::array(), refused = Json::array();
  for (const auto& use : bill.kernels) kernels.push_back(kernel_json(use));
  for (const auto& [shape, reason] : bill.refused) refused.push_back({{"shape", shape}, {"reason", reason}});
  return {{"shapes", bill.shapes},
          {"plans", bill.plans},
          {"compiled", bill.compiled},
          {"checked", bill.checked},
          {"whole", bill.is_whole},
          {"kernels", std::move(kernels)},
          {"refused", std::move(refused)},
          {"median_build_ms", bill.median_build_ms},
          {"simulated", bill.is_simulated},
          {"estimated_seconds_on_gpu", seconds_on_gpu(bill)},
          {"workspace_bytes", bill.workspace_bytes},
          {"code_bytes", bill.code_bytes}};
}

}  // namespace

std::string bill_text(const WorkloadBill& found) {
  const Bill& bill = found.exact;
  std::string text = found.config.empty() ? "" : found.config + ": ";
  text += fmt::format("{} on {}, cuDNN {}{}: {}, {}\n", counted(static_cast<int64_t>(bill.shapes), "shape"),
                      gpu::id_or_name(found.target), found.cudnn.text(), bill.is_simulated ? " (simulated)" : "",
                      counted(static_cast<int64_t>(bill.plans), "plan"), counted(std::ssize(bill.kernels), "kernel"));
  if (bill.plans > 0) {
    text += fmt::format("  kernels   {}\n", how_known(bill));
    text += fmt::format(
        "  building  about {} in a program on a GPU (by PyTorch's times on an H200);\n"
        "            here {} for each that was compiled\n",
        seconds_text(seconds_on_gpu(bill)), seconds_text(bill.median_build_ms / 1000));
    text += fmt::format("  memory    {} of code, workspace up to {}\n", bytes_text(bill.code_bytes),
                        bytes_text(bill.workspace_bytes));
    text += kernels_text(bill);
  }
  if (!bill.refused.empty())
    text += fmt::format("\n{} without a plan, the first {}: {}\n", counted(std::ssize(bill.refused), "shape"),
                        bill.refused.front().shape, bill.refused.front().reason);
  text += buckets_text(found);
  if (!bill.is_whole) text += "Stopped: not every shape was asked.\n";
  return text;
}

Json bill_json(const std::vector<WorkloadBill>& bills) {
  Json results = Json::array();
  for (const auto& found : bills) {
    Json bucketed = Json::array();
    for (const auto& [bucketing, adds_padding, bill] : found.bucketed)
      bucketed.push_back({{"rounded_up_to", bucketing.name},
                          {"lengths", bucketing.lengths},
                          {"work", bucketing.work},
                          {"adds_padding", adds_padding},
                          {"bill", bill_json(bill)}});
    results.push_back({{"config", found.config},
                       {"target", found.target.id},
                       {"cudnn", found.cudnn.text()},
                       {"bill", bill_json(found.exact)},
                       {"bucketed", std::move(bucketed)}});
  }
  return {{"schema", "attnprobe/plans/1"}, {"results", std::move(results)}};
}

}  // namespace attnprobe::plans
