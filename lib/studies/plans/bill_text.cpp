#include "studies/plans/bill_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.hpp"
#include "base/text.hpp"
#include "gpu/catalogue.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::plans {
namespace {

// A kernel that the process had not compiled took 0.65 s, each further plan with it 0.047 s (PyTorch 2.11, cuDNN
// 9.19.0,
// H200). Six workloads on two machines took 0.92 to 1.71 times this estimate (docs/results/plans.md).
struct Seconds {
  double middle, least, most;
};

Seconds seconds_on_gpu(const Bill& bill) {
  constexpr double first = 0.65, sibling = 0.047, fastest = 0.9, slowest = 1.75;
  const auto kernels = static_cast<double>(bill.kernels.size()), plans = static_cast<double>(bill.plans);
  const double middle = first * kernels + sibling * std::max(0.0, plans - kernels);
  return {middle, fastest * middle, slowest * middle};
}

std::string seconds_text(double seconds) {
  return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string seconds_text(const Seconds& seconds) {
  if (seconds.most < 10) return fmt::format("{:.1f} to {:.1f} s", seconds.least, seconds.most);
  return fmt::format("{:.0f} to {:.0f} s", seconds.least, seconds.most);
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
    const std::string lengths = use.longest == 0              ? "-"
                                : use.longest == use.shortest ? std::to_string(use.longest)
                                                              : fmt::format("{}-{}", use.shortest, use.longest);
    text += fmt::format("{:<16.16}  {:>6}  {:>13}  {:>4}  {:>5}  {:>9}  {}\n", use.identity, use.plans, lengths,
                        number_or_dash(use.kernel.registers), number_or_dash(use.kernel.stack_bytes),
                        bytes_text(use.kernel.code_bytes.value_or(0)), use.engine.substr(0, use.engine.find(' ', 7)));
  }
  if (bill.kernels.size() > most) text += fmt::format("and {} more\n", bill.kernels.size() - most);
  return text;
}

std::string how_known(const Bill& bill) {
  if (bill.compiled == bill.plans) return "each compiled";
  return fmt::format("{} compiled; the others are inferred; {} spot checks agree", bill.compiled, bill.checked);
}

std::string building_text(const WorkloadBill& found) {
  const Bill& bill = found.exact;
  std::string text;
  if (const auto& built = found.workload.built)
    text +=
        fmt::format("  built     {} in {} by the log\n", counted(built->plans, "plan"), seconds_text(built->seconds));
  const double here = bill.total_build_ms / 1000;
  if (!found.is_simulated && bill.compiled == bill.plans)
    return text + fmt::format("  building  {:.1f} s on this GPU, measured\n", here);
  return text + fmt::format(
                    "  building  {} in a program on a GPU (as PyTorch on H200 and H100);\n"
                    "            here {} for each that was compiled\n",
                    seconds_text(seconds_on_gpu(bill)), seconds_text(bill.median_build_ms / 1000));
}

std::string memory_text(const Bill& bill) {
  return fmt::format("  memory    {} of code, {}workspace up to {}\n", bytes_text(bill.code_bytes),
                     bill.host_bytes ? bytes_text(*bill.host_bytes) + " on the host, " : "",
                     bytes_text(bill.workspace_bytes));
}

std::string work_text(const Bucketing& bucketing) {
  return fmt::format("{:.1f} %", 100 * (bucketing.work - 1));
}

std::string buckets_text(const WorkloadBill& found) {
  if (found.bucketed.empty())
    return found.no_buckets.empty() ? "" : fmt::format("\nLengths are not rounded up: {}.\n", found.no_buckets);
  std::string text = fmt::format("\n{:<26}  {:>6}  {:>7}  {:>12}  {:>9}\n", "lengths rounded up to", "plans", "kernels",
                                 "building", "more work");
  bool adds_padding = false;
  for (const auto& [bucketing, bill] : found.bucketed) {
    const std::string kernels = bill.plans == 0 ? "refused" : std::to_string(bill.kernels.size());
    text += fmt::format("{:<26}  {:>6}  {:>7}  {:>12}  {:>9}\n", bucketing.name, bill.plans, kernels,
                        seconds_text(seconds_on_gpu(bill)), work_text(bucketing));
    adds_padding = adds_padding || bucketing.adds_padding;
  }
  if (adds_padding) text += "the padded tokens need a padding mask; \"more work\" includes them\n";
  return text;
}

std::string one_plan_text(const std::vector<OnePlan>& all) {
  std::string text;
  for (const auto& one : all) {
    const bool is_override = one.field == "override_shapes";
    std::string said = "refused: " + one.refused;
    if (one.refused.empty())
      said = is_override ? fmt::format("{} for all lengths, compiled but not run",
                                       counted(static_cast<int64_t>(one.families), "plan"))
                         : "one plan for each length; a kernel cache can share their kernel; not run";
    text += report::wrapped(fmt::format("{}: {}", one.field, said), 0, 80);
  }
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
  const Seconds seconds = seconds_on_gpu(bill);
  for (const auto& [shape, reason] : bill.refused) refused.push_back({{"shape", shape}, {"reason", reason}});
  return {{"shapes", bill.shapes},
          {"plans", bill.plans},
          {"compiled", bill.compiled},
          {"checked", bill.checked},
          {"kernels", std::move(kernels)},
          {"refused", std::move(refused)},
          {"median_build_ms", bill.median_build_ms},
          {"total_build_ms", bill.total_build_ms},
          {"estimated_seconds_on_gpu", seconds.middle},
          {"estimated_seconds_range", {seconds.least, seconds.most}},
          {"workspace_bytes", bill.workspace_bytes},
          {"code_bytes", bill.code_bytes},
          {"host_bytes", bill.host_bytes ? Json(*bill.host_bytes) : Json()}};
}

std::string counts_text(const WorkloadBill& found) {
  return fmt::format("{}, {}", counted(static_cast<int64_t>(found.exact.plans), "plan"),
                     counted(std::ssize(found.exact.kernels), "kernel"));
}

// "h100, cuDNN 9.19.0 (simulated)".
std::string where_text(const WorkloadBill& found) {
  return fmt::format("{}, cuDNN {}{}", gpu::id_or_name(found.target), found.cudnn.text(),
                     found.is_simulated ? " (simulated)" : "");
}

}  // namespace

std::string bill_text(const WorkloadBill& found) {
  const Bill& bill = found.exact;
  const std::string name = found.workload.name.empty() ? "" : found.workload.name + ": ";
  std::string text =
      report::wrapped(fmt::format("{}{} on {}: {}", name, counted(static_cast<int64_t>(bill.shapes), "shape"),
                                  where_text(found), counts_text(found)),
                      0, 80);
  for (const auto& note : found.workload.notes) text += report::wrapped(note, 2, 80);
  if (bill.plans > 0)
    text += fmt::format("  kernels   {}\n", how_known(bill)) + building_text(found) + memory_text(bill) +
            kernels_text(bill);
  if (!bill.refused.empty())
    text += fmt::format("\n{} without a plan, the first {}: {}\n", counted(std::ssize(bill.refused), "shape"),
                        bill.refused.front().shape, bill.refused.front().reason);
  text += buckets_text(found) + one_plan_text(found.one_plan);
  if (!found.is_whole) text += "Stopped: not every shape was asked.\n";
  return text;
}

std::string short_bill_text(const WorkloadBill& found) {
  std::string text =
      fmt::format("kernels: {} on {}; {}\n", counts_text(found), where_text(found), how_known(found.exact));
  if (const BucketedBill* best = cheapest_of(found))
    text += fmt::format("padding: lengths rounded up to {}: {}, {}, {} more work\n", best->bucketing.name,
                        counted(static_cast<int64_t>(best->bill.plans), "plan"),
                        counted(std::ssize(best->bill.kernels), "kernel"), work_text(best->bucketing));
  return text;
}

Json bill_json(const WorkloadBill& found) {
  Json bucketed = Json::array(), one_plan = Json::array();
  for (const auto& [bucketing, bill] : found.bucketed)
    bucketed.push_back({{"rounded_up_to", bucketing.name},
                        {"lengths", bucketing.lengths},
                        {"work", bucketing.work},
                        {"adds_padding", bucketing.adds_padding},
                        {"bill", bill_json(bill)}});
  for (const auto& one : found.one_plan)
    one_plan.push_back({{"field", one.field}, {"refused", one.refused}, {"plans", one.families}});
  Json bill = bill_json(found.exact);
  bill["whole"] = found.is_whole;
  bill["simulated"] = found.is_simulated;
  const auto& built = found.workload.built;
  return {{"config", found.workload.name},
          {"target", found.target.id},
          {"cudnn", found.cudnn.text()},
          {"built", built ? Json{{"plans", built->plans}, {"seconds", built->seconds}} : Json()},
          {"notes", found.workload.notes},
          {"bill", std::move(bill)},
          {"bucketed", std::move(bucketed)},
          {"one_plan", std::move(one_plan)}};
}

Json bills_json(const std::vector<WorkloadBill>& bills) {
  Json results = Json::array();
  for (const auto& found : bills) results.push_back(bill_json(found));
  return {{"schema", "attnprobe/plans/1"}, {"results", std::move(results)}};
}

}  // namespace attnprobe::plans
