#include "studies/plans/bill.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "probe/walk_difference.hpp"

namespace attnprobe::plans {
namespace {

using answer::Answer;

constexpr size_t most_compiled_each = 48;

// The answer of a shape's check, and its plan if one was compiled.
struct Place {
  const Shape* shape = nullptr;
  std::optional<std::string> engine;  // none: refused
  std::string reason;
  std::optional<std::string> kernel;  // once it is known
  bool is_compiled = false;
};

class Biller {
 public:
  Biller(const std::vector<Shape>& shapes, const gpu::Target& target, const asking::Plan& plan,
         const asking::Session& session, const OnPlan& on_plan)
      : target_(target), plan_(plan), session_(session), on_plan_(on_plan) {
    plan_.further = asking::Further::nothing;
    plan_.cached = true;
    plan_.options.walk.modes = {"A"};
    plan_.options.walk.sweep_where_none = false;
    for (const auto& shape : shapes) places_.emplace_back().shape = &shape;
  }

  Bill run(bool all) {
    check();
    Classes classes;
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i].engine) classes[{*places_[i].engine, divisor_of(*places_[i].shape)}].push_back(i);
    if (all || places_.size() <= most_compiled_each)
      compile(plannable());
    else
      search(classes);
    for (const auto& [engine, members] : classes) infer(members);
    return total();
  }

  CudnnVersion cudnn() const { return cudnn_; }

 private:
  // Places in order of length, by engine config and divisor of the length.
  using Classes = std::map<std::pair<std::string, int64_t>, std::vector<size_t>>;

  static int64_t divisor_of(const Shape& shape) {
    constexpr int64_t most = 128;
    return std::gcd(shape.length.tokens, most);
  }

  std::vector<size_t> plannable() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i].engine) found.push_back(i);
    return found;
  }

  std::vector<Answer> ask(const std::vector<size_t>& which, probe::Plans plans) {
    plan_.options.walk.plans = plans;
    asking::QuestionGroup group{{}, {target_}};
    for (const size_t i : which) {
      group.questions.emplace_back();
      group.questions.back().config.spec = places_[i].shape->spec;
    }
    plan_.groups = {std::move(group)};
    auto answers = asking::ask(plan_, session_, [&](const Answer& answer, size_t) {
      if (on_plan_) on_plan_(answer);
    });
    if (answers.empty()) return {};
    if (answers.front().library) cudnn_ = answers.front().library->version;
    return std::move(answers.front().results);
  }

  void check() {
    std::vector<size_t> all(places_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    const auto answers = ask(all, probe::Plans::none);
    is_whole_ = answers.size() == all.size();
    for (size_t i = 0; i < answers.size(); ++i) {
      const auto& configs = answers[i].findings.engine_configs;
      const auto first = std::find_if(configs.begin(), configs.end(), [](const auto& c) { return c.check.supported; });
      if (first != configs.end())
        places_[i].engine = probe::config_name(first->engine, first->knobs);
      else
        places_[i].reason = answer::short_reason(answers[i]);
    }
  }

  void compile(const std::vector<size_t>& which) {
    std::vector<size_t> open;
    for (const size_t i : which)
      if (!places_[i].is_compiled) open.push_back(i);
    if (open.empty() || !is_whole_) return;
    const auto answers = ask(open, probe::Plans::first);
    is_whole_ = answers.size() == open.size();
    for (size_t k = 0; k < answers.size(); ++k) take(places_[open[k]], answers[k]);
  }

  void take(Place& place, const Answer& answer) {
    place.is_compiled = true;
    const auto& configs = answer.findings.engine_configs;
    const auto built = std::find_if(configs.begin(), configs.end(), probe::is_built);
    if (built == configs.end()) {
      place.engine.reset();
      place.kernel.reset();
      place.reason = "no plan compiles";
      return;
    }
    std::vector<std::string> identities;
    for (const auto& kernel : built->plan->kernels) identities.push_back(kernel.identity);
    const std::string engine = probe::config_name(built->engine, built->knobs);
    place.kernel = identities.empty() ? engine : fmt::format("{}", fmt::join(identities, "+"));
    KernelUse& use = kernels_[*place.kernel];
    use.identity = *place.kernel;
    use.engine = engine;
    if (!built->plan->kernels.empty()) use.kernel = built->plan->kernels.front();
    use.kernel.code_bytes = 0;
    for (const auto& kernel : built->plan->kernels) *use.kernel.code_bytes += kernel.code_bytes.value_or(0);
    build_ms_.push_back(built->plan->build_ms);
    is_simulated_ = is_simulated_ && !built->plan->loaded;
    workspace_bytes_ = std::max(workspace_bytes_, built->workspace_bytes.value_or(0));
  }

  void search(const Classes& classes) {
    std::vector<size_t> wanted;
    for (const auto& [key, members] : classes)
      wanted.insert(wanted.end(), {members.front(), members[members.size() / 2], members.back()});
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    do {
      for (; !wanted.empty() && is_whole_; wanted = halfway(classes)) compile(wanted);
    } while (is_whole_ && !agrees(classes));
  }

  // Of each two compiled members with different kernels and something between them, the one in the middle.
  std::vector<size_t> halfway(const Classes& classes) const {
    std::vector<size_t> found;
    for (const auto& [key, members] : classes) {
      std::optional<size_t> before;
      for (size_t at = 0; at < members.size(); ++at) {
        if (!places_[members[at]].is_compiled) continue;
        if (before && at - *before > 1 && places_[members[*before]].kernel != places_[members[at]].kernel)
          found.push_back(members[(*before + at) / 2]);
        before = at;
      }
    }
    return found;
  }

  // Compiles a dozen more, drawn evenly; whether their kernels are as foretold.
  bool agrees(const Classes& classes) {
    constexpr size_t most = 12;
    for (const auto& [key, members] : classes) infer(members);
    std::vector<size_t> open;
    for (const size_t i : plannable())
      if (!places_[i].is_compiled) open.push_back(i);
    std::vector<size_t> drawn;
    for (size_t k = 0; k < std::min(most, open.size()); ++k) drawn.push_back(open[k * open.size() / most]);
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
    std::map<size_t, std::optional<std::string>> foretold;
    for (const size_t i : drawn) foretold[i] = places_[i].kernel;
    compile(drawn);
    bool agree = true;
    for (const auto& [i, kernel] : foretold) {
      if (places_[i].kernel == kernel)
        ++checked_;
      else
        agree = false;
    }
    return agree;
  }

  // Members between two compiled ones with the same kernel have it too.
  void infer(const std::vector<size_t>& members) {
    std::optional<std::string> last;
    for (const size_t i : members) {
      if (places_[i].is_compiled)
        last = places_[i].kernel;
      else
        places_[i].kernel = last;
    }
  }

  Bill total() {
    Bill bill;
    bill.shapes = places_.size();
    bill.is_whole = is_whole_;
    bill.checked = checked_;
    bill.is_simulated = is_simulated_;
    bill.workspace_bytes = workspace_bytes_;
    for (const auto& place : places_) {
      if (!place.engine) {
        bill.refused.push_back({place.shape->spec.name, place.reason});
        continue;
      }
      ++bill.plans;
      if (place.is_compiled) ++bill.compiled;
      if (!place.kernel) continue;
      KernelUse& use = kernels_[*place.kernel];
      const int64_t length = place.shape->length.tokens;
      if (use.plans++ == 0) use.shortest = length;
      use.longest = length;
      bill.code_bytes += use.kernel.code_bytes.value_or(0);
    }
    for (const auto& [identity, use] : kernels_) bill.kernels.push_back(use);
    std::stable_sort(bill.kernels.begin(), bill.kernels.end(),
                     [](const auto& a, const auto& b) { return a.plans > b.plans; });
    if (!build_ms_.empty()) {
      const auto middle = build_ms_.begin() + static_cast<std::ptrdiff_t>(build_ms_.size() / 2);
      std::nth_element(build_ms_.begin(), middle, build_ms_.end());
      bill.median_build_ms = *middle;
    }
    return bill;
  }

  gpu::Target target_;
  asking::Plan plan_;
  const asking::Session& session_;
  const OnPlan& on_plan_;
  std::vector<Place> places_;
  std::map<std::string, KernelUse> kernels_;
  std::vector<double> build_ms_;
  CudnnVersion cudnn_{0, 0, 0};
  size_t checked_ = 0;
  int64_t workspace_bytes_ = 0;
  bool is_simulated_ = true, is_whole_ = true;
};

}  // namespace

WorkloadBill bill_of(const std::vector<Shape>& shapes, const gpu::Target& target, const asking::Plan& plan,
                     const asking::Session& session, bool all, const OnPlan& on_plan) {
  WorkloadBill found;
  found.target = target;
  Biller exact(shapes, target, plan, session, on_plan);
  found.exact = exact.run(all);
  found.cudnn = exact.cudnn();
  const bool have_lengths = !shapes.empty() && shapes.front().length.tokens > 0;
  if (have_lengths) found.config = shapes.front().config;
  if (!have_lengths) {
    found.no_buckets = "lengths are rounded up for one config with --lengths";
    return found;
  }
  if (!padded(shapes.front(), shapes.front().length.tokens)) {
    found.no_buckets = "a bottom-right mask depends on the exact length";
    return found;
  }
  for (auto& bucketing : bucketings(shapes)) {
    if (session.is_stopped()) break;
    std::vector<Shape> longer;
    for (const int64_t tokens : bucketing.lengths) longer.push_back(*padded(shapes.front(), tokens));
    const bool adds_padding = longer.front().spec.mask.padding && !shapes.front().spec.mask.padding;
    Biller biller(longer, target, plan, session, on_plan);
    found.bucketed.push_back({std::move(bucketing), adds_padding, biller.run(all)});
  }
  return found;
}

}  // namespace attnprobe::plans
