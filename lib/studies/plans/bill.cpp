#include "studies/plans/bill.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace attnprobe::plans {
namespace {

using Places = std::vector<size_t>;

constexpr size_t most_compiled_each = 16;

// The positions of a workload's questions.
struct Asked {
  Places exact;
  std::vector<std::pair<Bucketing, Places>> bucketed;
  std::map<std::string, Places> one_plan;  // by field
};

bool can_be_padded(const Shape& shape) {
  return shape.length.tokens > 0 && padded(shape, shape.length.tokens);
}

// Why lengths are not rounded up; "" if they are, or if there is only one.
std::string why_no_buckets(const Workload& workload) {
  const auto& shapes = workload.shapes;
  const bool have_lengths =
      std::any_of(shapes.begin(), shapes.end(), [](const auto& shape) { return shape.length.tokens > 0; });
  if (!have_lengths) return "rounding up needs one config with --lengths";
  if (std::none_of(shapes.begin(), shapes.end(), can_be_padded))
    return "a bottom-right mask depends on the exact length";
  return "";
}

Places add_all(KernelSearch& search, const std::vector<Shape>& shapes, bool compile) {
  Places places;
  for (const auto& shape : shapes) places.push_back(search.add(shape, compile));
  return places;
}

// Asks for one plan for all lengths, with the longest shape of each family with several lengths.
void add_one_plan(KernelSearch& search, const Workload& workload, Asked& asked) {
  std::map<std::string, std::vector<const Shape*>> families;
  for (const auto& shape : workload.shapes)
    if (shape.length.tokens > 0) families[family_of(shape)].push_back(&shape);
  for (const auto& [key, family] : families) {
    if (family.size() < 2) continue;
    Shape shape = *family.back();
    shape.given.reset();
    shape.spec.override_shapes = true;
    asked.one_plan["override_shapes"].push_back(search.add(shape, true));
    shape.spec.override_shapes = false;
    shape.spec.dynamic_shapes = true;
    asked.one_plan["dynamic_shapes"].push_back(search.add(shape, true));
  }
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void count_use(std::map<std::string, KernelUse>& uses, const KernelSearch& search, const Place& place) {
  const Kernel& kernel = search.kernels().at(*place.kernel);
  KernelUse& use = uses[*place.kernel];
  const int64_t length = place.shape.length.tokens;
  if (use.plans++ == 0) {
    use.identity = *place.kernel;
    use.engine = kernel.engine;
    use.kernel = kernel.first;
    use.kernel.code_bytes = kernel.code_bytes;
    use.shortest = use.longest = length;
  }
  use.shortest = std::min(use.shortest, length);
  use.longest = std::max(use.longest, length);
}

Bill bill_of(const KernelSearch& search, const Places& places) {
  Bill bill;
  std::map<std::string, KernelUse> uses;
  std::vector<double> build_ms, host_bytes;
  bill.shapes = places.size();
  for (const size_t i : places) {
    const Place& place = search.place(i);
    if (!place.engine || !place.reason.empty()) {
      bill.refused.push_back({place.shape.spec.name, place.reason});
      continue;
    }
    ++bill.plans;
    if (!place.kernel) continue;
    count_use(uses, search, place);
    bill.code_bytes += search.kernels().at(*place.kernel).code_bytes;
    if (!place.is_compiled) continue;
    ++bill.compiled;
    bill.checked += place.is_checked ? 1 : 0;
    bill.workspace_bytes = std::max(bill.workspace_bytes, place.workspace_bytes);
    bill.total_build_ms += place.build_ms;
    build_ms.push_back(place.build_ms);
    if (place.host_bytes) host_bytes.push_back(static_cast<double>(*place.host_bytes));
  }
  for (auto& [identity, use] : uses) bill.kernels.push_back(std::move(use));
  std::stable_sort(bill.kernels.begin(), bill.kernels.end(),
                   [](const auto& a, const auto& b) { return a.plans > b.plans; });
  bill.median_build_ms = median(std::move(build_ms));
  if (!host_bytes.empty())
    bill.host_bytes = static_cast<int64_t>(median(std::move(host_bytes)) * static_cast<double>(bill.plans));
  return bill;
}

OnePlan one_plan_of(const KernelSearch& search, const std::string& field, const Places& places) {
  OnePlan found{field, "", places.size()};
  for (const size_t i : places) {
    const Place& place = search.place(i);
    if (place.engine && place.kernel) continue;
    found.refused = place.reason.empty() ? "no plan compiles" : place.reason;
    break;
  }
  return found;
}

}  // namespace

std::vector<WorkloadBill> bills_of(const std::vector<Workload>& workloads, const gpu::Target& target,
                                   const asking::Plan& plan, const asking::Session& session, bool all,
                                   const OnPlan& on_plan) {
  KernelSearch search(target, plan, session, on_plan);
  std::vector<Asked> asked(workloads.size());
  for (size_t i = 0; i < workloads.size(); ++i) {
    const auto& shapes = workloads[i].shapes;
    asked[i].exact = add_all(search, shapes, all || shapes.size() <= most_compiled_each);
    for (auto& bucketing : bucketings(shapes)) {
      Places places = add_all(search, bucketing.shapes, all);
      asked[i].bucketed.emplace_back(std::move(bucketing), std::move(places));
    }
    add_one_plan(search, workloads[i], asked[i]);
  }
  search.run();
  std::vector<WorkloadBill> bills;
  for (size_t i = 0; i < workloads.size(); ++i) {
    WorkloadBill& found = bills.emplace_back();
    found.workload = workloads[i];
    found.target = target;
    found.cudnn = search.cudnn();
    found.is_whole = search.is_whole();
    found.is_simulated = search.is_simulated();
    found.exact = bill_of(search, asked[i].exact);
    found.no_buckets = why_no_buckets(workloads[i]);
    for (auto& [bucketing, places] : asked[i].bucketed)
      found.bucketed.push_back({std::move(bucketing), bill_of(search, places)});
    for (const auto& [field, places] : asked[i].one_plan) found.one_plan.push_back(one_plan_of(search, field, places));
  }
  return bills;
}

const BucketedBill* cheapest_of(const WorkloadBill& found) {
  constexpr double most_work = 1.1;
  const BucketedBill* best = nullptr;
  const auto is_better = [&](const BucketedBill& one) {
    if (best == nullptr) return true;
    const bool fits = one.bucketing.work <= most_work, best_fits = best->bucketing.work <= most_work;
    if (fits != best_fits) return fits;
    return fits ? one.bill.plans < best->bill.plans : one.bucketing.work < best->bucketing.work;
  };
  for (const auto& one : found.bucketed)
    if (one.bill.refused.empty() && is_better(one)) best = &one;
  return best;
}

}  // namespace attnprobe::plans
