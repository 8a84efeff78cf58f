#include "studies/plans/kernel_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "probe/plan_kernels.hpp"
#include "probe/walk_difference.hpp"

namespace attnprobe::plans {

using answer::Answer;

namespace {

// cuDNN's message; for an attribute newer than this cuDNN, the rule's.
std::string reason_of(const Answer& answer, const attention::AttentionSpec& spec) {
  const bool is_newer = (spec.override_shapes || spec.dynamic_shapes) && !answer.requirements.empty();
  return is_newer ? answer.requirements.front().text : answer::short_reason(answer);
}

}  // namespace

KernelSearch::KernelSearch(const gpu::Target& target, const asking::Plan& plan, const asking::Session& session,
                           const OnPlan& on_plan)
    : target_(target), plan_(plan), session_(session), on_plan_(on_plan) {
  plan_.further = asking::Further::nothing;
  plan_.cached = true;
  plan_.options.walk.modes = {"A"};
  plan_.options.walk.sweep_where_none = false;
}

size_t KernelSearch::add(const Shape& shape, bool compile) {
  const auto& spec = shape.spec;
  const std::string key = fmt::format("{} {}/{}", family_of(shape), spec.seqlen_q, spec.seqlen_kv);
  const auto [known, is_new] = known_.try_emplace(key, places_.size());
  if (is_new) places_.emplace_back().shape = shape;
  if (compile) compiled_first_.push_back(known->second);
  return known->second;
}

void KernelSearch::run() {
  check();
  make_classes();
  compile(compiled_first_);
  search();
  infer();
}

std::vector<Answer> KernelSearch::ask(const std::vector<size_t>& which, probe::Plans plans) {
  plan_.options.walk.plans = plans;
  asking::QuestionGroup group{{}, {target_}};
  for (const size_t i : which) {
    answer::Question& question = group.questions.emplace_back();
    question.config.spec = places_[i].shape.spec;
    question.given = places_[i].shape.given;
  }
  plan_.groups = {std::move(group)};
  auto answers = asking::ask(plan_, session_, [&](const Answer& answer, size_t) {
    if (on_plan_) on_plan_(answer);
  });
  if (answers.empty()) return {};
  if (answers.front().library) cudnn_ = answers.front().library->version;
  return std::move(answers.front().results);
}

void KernelSearch::check() {
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
      places_[i].reason = reason_of(answers[i], places_[i].shape.spec);
  }
}

void KernelSearch::make_classes() {
  std::map<std::pair<std::string, std::string>, Class> classes;
  for (size_t i = 0; i < places_.size(); ++i)
    if (places_[i].engine) classes[{family_of(places_[i].shape), *places_[i].engine}].places.push_back(i);
  for (auto& [key, one] : classes) {
    std::sort(one.places.begin(), one.places.end(),
              [&](size_t a, size_t b) { return places_[a].shape.length.tokens < places_[b].shape.length.tokens; });
    classes_.push_back(std::move(one));
  }
}

std::vector<ClassLength> KernelSearch::lengths_of(const Class& one) const {
  std::vector<ClassLength> lengths;
  for (const size_t i : one.places) {
    const Place& place = places_[i];
    lengths.push_back({place.shape.length.tokens, {}});
    if (place.is_compiled) lengths.back().kernel = place.kernel.value_or("");
  }
  return lengths;
}

void KernelSearch::compile(std::vector<size_t> which) {
  std::sort(which.begin(), which.end());
  which.erase(std::unique(which.begin(), which.end()), which.end());
  std::erase_if(which, [&](size_t i) { return places_[i].is_compiled || !places_[i].engine; });
  if (which.empty() || !is_whole_) return;
  const auto answers = ask(which, probe::Plans::first);
  is_whole_ = answers.size() == which.size();
  for (size_t k = 0; k < answers.size(); ++k) take(places_[which[k]], answers[k]);
}

void KernelSearch::take(Place& place, const Answer& answer) {
  place.is_compiled = true;
  const auto& configs = answer.findings.engine_configs;
  const auto built = std::find_if(configs.begin(), configs.end(), probe::is_built);
  if (built == configs.end()) {
    place.kernel.reset();
    return;
  }
  const std::string engine = probe::config_name(built->engine, built->knobs);
  const auto& kernels = built->plan->kernels;
  place.kernel = kernels.empty() ? engine : probe::identity_of(kernels);
  Kernel kernel{engine, {}, 0};
  if (!kernels.empty()) kernel.first = kernels.front();
  for (const auto& one : kernels) kernel.code_bytes += one.code_bytes.value_or(0);
  kernels_.try_emplace(*place.kernel, std::move(kernel));
  place.build_ms = built->plan->build_ms;
  place.host_bytes = built->plan->host_bytes;
  place.workspace_bytes = built->workspace_bytes.value_or(0);
  is_simulated_ = is_simulated_ && !built->plan->loaded;
}

void KernelSearch::search() {
  do {
    for (bool more = true; more && is_whole_;) {
      std::vector<size_t> wanted;
      for (const auto& one : classes_)
        for (const size_t next : next_to_compile(lengths_of(one), one.grouping)) wanted.push_back(one.places[next]);
      more = !wanted.empty();
      compile(std::move(wanted));
    }
  } while (is_whole_ && !agrees());
}

// Compiles a dozen further plans, at least two per class; returns whether their kernels match the prediction.
bool KernelSearch::agrees() {
  constexpr size_t most = 12, fewest_of_class = 2;
  infer();
  std::vector<std::pair<size_t, Class*>> drawn;
  for (auto& one : classes_) {
    std::vector<size_t> open;
    for (const size_t i : one.places)
      if (!places_[i].is_compiled) open.push_back(i);
    const size_t count = std::min(open.size(), std::max(fewest_of_class, most / classes_.size()));
    for (size_t k = 0; k < count; ++k) drawn.emplace_back(open[(2 * k + 1) * open.size() / (2 * count)], &one);
  }
  std::vector<size_t> which;
  std::map<size_t, std::optional<std::string>> foretold;
  for (const auto& [i, one] : drawn) {
    which.push_back(i);
    foretold[i] = places_[i].kernel;
  }
  compile(which);
  bool agree = true;
  for (const auto& [i, one] : drawn) {
    if (!places_[i].is_compiled) continue;
    places_[i].is_checked = places_[i].kernel == foretold[i];
    if (places_[i].is_checked) continue;
    one->grouping = Grouping::each_level;
    agree = false;
  }
  return agree;
}

void KernelSearch::infer() {
  for (const auto& one : classes_) {
    const auto kernels = kernels_of(lengths_of(one), one.grouping);
    for (size_t k = 0; k < kernels.size(); ++k) {
      Place& place = places_[one.places[k]];
      place.kernel = kernels[k] && !kernels[k]->empty() ? kernels[k] : std::nullopt;
      if (kernels[k] && kernels[k]->empty()) place.reason = "no plan compiles";
    }
  }
}

}  // namespace attnprobe::plans
