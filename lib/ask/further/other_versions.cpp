#include "ask/further/other_versions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ask/by_rule.hpp"
#include "ask/chosen_libraries.hpp"
#include "ask/plain.hpp"
#include "base/error.hpp"

namespace attnprobe::asking {
namespace {

constexpr size_t most_results = 8;   // for more results, use a matrix over versions
constexpr size_t most_versions = 4;  // versions asked per refused result

using Libraries = std::vector<cudnn::LibraryInfo>;

// The libraries that can simulate GPUs, including the asked one if any, oldest first.
Libraries libraries_here(const std::optional<cudnn::LibraryInfo>& asked, const PlanOptions& options,
                         const Session& session) {
  Libraries libraries;
  std::set<CudnnVersion> known;
  if (asked) {
    libraries.push_back(*asked);
    known.insert(asked->version);
  }
  for (auto& library : identify_all(options, session, {} /* `attnprobe doctor` tells it */))
    if (library.version >= first_that_simulates && known.insert(library.version).second)
      libraries.push_back(std::move(library));
  std::sort(libraries.begin(), libraries.end(), [](const auto& a, const auto& b) { return a.version < b.version; });
  return libraries;
}

bool is_asked_about(const Answer& result) {
  const bool is_settled = result.verdict == Verdict::supported || result.verdict == Verdict::unsupported;
  return is_settled && result.has_spec() && result.target.kind == gpu::Kind::simulated;
}

class Asker {
 public:
  // `asked`: the version of the results, which is not a library's if it answered by rule.
  Asker(Libraries libraries, CudnnVersion asked, const PlanOptions& options, const Session& session)
      : libraries_(std::move(libraries)), options_(options), session_(session) {
    options_.walk.modes = {"A"};
    options_.walk.engines = probe::Engines::heuristic;
    options_.walk.sweep_where_none = false;
    while (older_ < libraries_.size() && libraries_[older_].version < asked) ++older_;
    const bool is_here = older_ < libraries_.size() && libraries_[older_].version == asked;
    newer_ = older_ + (is_here ? 1 : 0);
  }

  void advise(Answer& refused) {
    for (const size_t at : worth_asking()) {
      const auto other = ask(refused, at, probe::Plans::first);
      if (!other) return;
      if (other->verdict != Verdict::supported) {
        // The rules allow the config on that version, so they do not know the reason for the refusal.
        if (refused.from && refused.from->version <= libraries_[at].version) refused.from.reset();
        continue;
      }
      const std::string but = other->but.empty() ? "" : fmt::format(", but {}", other->but.front().text);
      refused.root_cause->advice.push_back(fmt::format("cuDNN {} (installed): supported on {}{}\n{}",
                                                       libraries_[at].version.text(), refused.target.id, but,
                                                       other->reproduce));
      // Between the version that refuses and the version that supports the config.
      if (at >= newer_ && is_here()) refused.from = edge(refused, older_, at);
      return;
    }
  }

  void date(Answer& taken) {
    if (older_ == 0 || !is_here() || taken.usable == Usable::no || !taken.requirements.empty()) return;
    const auto oldest = takes(taken, 0);
    if (!oldest) return;
    if (!*oldest)
      taken.from = edge(taken, 0, older_);
    else if (taken.from && taken.from->version <= libraries_[0].version)
      taken.from->asked_back_to = libraries_[0].version;
    else
      taken.from.reset();  // versions older than the rules allow also support it, so the first is unknown
  }

 private:
  bool is_here() const { return newer_ > older_; }

  // The newest, those between, and the nearest older ones.
  std::vector<size_t> worth_asking() const {
    std::vector<size_t> order;
    if (newer_ < libraries_.size()) order.push_back(libraries_.size() - 1);
    for (size_t at = newer_; at + 1 < libraries_.size(); ++at) order.push_back(at);
    for (size_t at = older_; at-- > 0;) order.push_back(at);
    if (order.size() > most_versions) order.resize(most_versions);
    return order;
  }

  // None if the run was stopped.
  std::optional<Answer> ask(const Answer& about, size_t at, probe::Plans plans) {
    if (session_.is_stopped()) return std::nullopt;
    options_.walk.plans = plans;
    const Plan plan{.groups = {{{about}, {about.target}, {libraries_[at].path}}}, .options = options_, .cached = true};
    auto results = ask_plainly(plan, session_).front().results;
    return results.empty() ? std::nullopt : std::optional(std::move(results.front()));
  }

  // Whether that version supports the config without contradicting a rule.
  std::optional<bool> takes(const Answer& about, size_t at) {
    const auto other = ask(about, at, probe::Plans::none);
    if (!other) return std::nullopt;
    return other->verdict == Verdict::supported && other->requirements.empty();
  }

  // Version `refusing` refuses the config, and `taking` supports it.
  std::optional<FirstVersion> edge(const Answer& about, size_t refusing, size_t taking) {
    while (taking - refusing > 1) {
      const size_t middle = refusing + (taking - refusing) / 2;
      const auto is_taken = takes(about, middle);
      if (!is_taken) return std::nullopt;
      (*is_taken ? taking : refusing) = middle;
    }
    return FirstVersion{libraries_[taking].version, true, libraries_[refusing].version, {}};
  }

  Libraries libraries_;
  PlanOptions options_;
  const Session& session_;
  size_t older_ = 0;  // number of versions older than the asked version
  size_t newer_ = 0;  // the first newer version
};

}  // namespace

void ask_other_versions(Answers& answers, const PlanOptions& options, const Session& session) {
  if (session.is_stopped()) return;
  auto& results = answers.results;
  const auto count = static_cast<size_t>(std::count_if(results.begin(), results.end(), is_asked_about));
  if (count == 0 || count > most_results) return;
  if (!answers.library && !results.front().by_rule) return;
  Asker asker(libraries_here(answers.library, options, session),
              answers.library ? answers.library->version : results.front().cudnn_version, options, session);
  for (Answer& result : results)
    if (is_asked_about(result)) result.verdict == Verdict::supported ? asker.date(result) : asker.advise(result);
}

}  // namespace attnprobe::asking
