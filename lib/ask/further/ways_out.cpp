#include "ask/further/ways_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "answer/reasons.hpp"
#include "ask/plain.hpp"
#include "attention/fields.hpp"
#include "attention/flop.hpp"
#include "base/side_by_side.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::asking {
namespace {

using attention::AttentionSpec;

// One or two changes of a config.
struct Candidate {
  std::vector<const Change*> changes;
  AttentionSpec spec;
  double work = 1, memory = 1;  // see WayOut
  double distance = 0;          // ways out with another model's head dimensions
};

// Compares the kind of cost, then its amount. Two changes cost more than one change of the same kind.
std::tuple<int, double, double> price_of(const Candidate& candidate) {
  int cost = 0;
  for (const Change* change : candidate.changes) cost += 1 << static_cast<int>(change->cost);
  return {cost, candidate.distance, candidate.work + candidate.memory};
}

// The elements of Q, K, V, O and the bias: the minimum that a call moves.
double elements_of(const AttentionSpec& s) {
  const auto tensor = [&](int64_t heads, int64_t seqlen, int64_t head_dim) {
    return static_cast<double>(s.batch) * static_cast<double>(heads) * static_cast<double>(seqlen) *
           static_cast<double>(head_dim);
  };
  double bias = s.bias ? 1 : 0;
  if (s.bias)
    for (const int64_t extent : bias_dims(s)) bias *= static_cast<double>(extent);
  return tensor(s.heads_q, s.seqlen_q, s.head_dim_qk + s.head_dim_v) + tensor(s.heads_kv, s.seqlen_kv, s.head_dim_qk) +
         tensor(heads_v(s), s.seqlen_kv, s.head_dim_v) + bias;
}

bool asks_again(const Answer& result) {
  const bool is_refused = result.verdict == Verdict::unsupported || result.verdict == Verdict::invalid_graph ||
                          (result.verdict == Verdict::crashed && result.usable == Usable::no);
  const bool is_but = result.usable == Usable::but;
  return (is_refused || is_but) && result.has_spec() && !result.by_rule && result.cudnn_version.is_known();
}

// Whether the answer is yes, or has only obstacles that existed before and that no config changes. For example, some
// frameworks use cuDNN only if selected, for any config.
bool is_way_out(const Answer& result) {
  if (result.usable == Usable::yes) return true;
  if (result.usable != Usable::but) return false;
  return std::all_of(result.but.begin(), result.but.end(),
                     [](const auto& one) { return one.kind == ObstacleKind::framework; }) &&
         std::all_of(result.frameworks.begin(), result.frameworks.end(), [](const auto& one) {
           return one.takes == rules::Takes::yes || one.takes == rules::Takes::by_name;
         });
}

bool is_bound_by_name(const Answer& result) {
  return result.usable == Usable::but && is_way_out(result);
}

class Suggester {
 public:
  Suggester(Answer& result, const PlanOptions& options, const Session& session, const SuggestOptions& suggest)
      : result_(result),
        options_(options),
        session_(session),
        suggest_(suggest),
        changes_(changes_of(result.config.spec, options.constraints.deterministic)),
        models_(other_models(result.config.spec)),
        seen_{to_json(result.config.spec).dump()},
        work_(attention_flop(result.config.spec)),
        memory_(elements_of(result.config.spec)) {
    options_.walk.engines = probe::Engines::heuristic;
    options_.walk.sweep_where_none = false;
    options_.walk.until_works = true;
    options_.walk.plans = probe::Plans::none;
    std::erase_if(changes_, [&](const Change& change) { return suggest.keep.count(change.kind) != 0; });
    if (suggest.keep.count("model") + suggest.keep.count("head_dim") != 0) models_.clear();
    for (const auto& bug : result.warnings) {
      const auto* rule = result.verdict == Verdict::crashed ? rules::find_known_bug(bug.id) : nullptr;
      if (rule != nullptr && std::ranges::find(rule->shows, rules::BugShows::crash) != rule->shows.end())
        crashes_.insert(bug.id);
    }
    pairs_ = suggest.two_at_a_time && (result.verdict != Verdict::crashed || !crashes_.empty());
  }

  void run() {
    if (is_bound_by_name(result_)) return;
    const auto [same, others] = by_computation(singles(changes_));
    take(same);
    std::pair<std::vector<Candidate>, std::vector<Candidate>> two;
    if (result_.ways_out.empty() && pairs_) two = by_computation(pairs());
    take(two.first);
    take(others);
    if (result_.ways_out.empty()) take(two.second);
    // Another model is the last resort, so it is asked even beyond the limit of changes.
    asked_ = 0;
    if (result_.ways_out.empty()) take(singles(models_));
    if (result_.ways_out.empty() && pairs_) take(models_with_change());
  }

 private:
  std::vector<Candidate> singles(const std::vector<Change>& changes) {
    std::vector<Candidate> candidates;
    candidates.reserve(changes.size());
    for (const Change& change : changes) candidates.push_back(with({&change}));
    return worth_asking(std::move(candidates));
  }

  std::vector<Candidate> pairs() {
    std::vector<Candidate> candidates;
    for (size_t a = 0; a < changes_.size(); ++a) {
      for (size_t b = a + 1; b < changes_.size(); ++b) candidates.push_back(with({&changes_[a], &changes_[b]}));
      for (const Change& change : enabled_by(changes_[a])) candidates.push_back(with({&changes_[a], &change}));
    }
    return worth_asking(std::move(candidates));
  }

  // The changes that are possible only after `first`: a mask as a bias is not possible in fp8, but in bf16.
  const std::vector<Change>& enabled_by(const Change& first) {
    AttentionSpec spec = result_.config.spec;
    first.make(spec);
    auto& enabled = enabled_.emplace_back(changes_of(spec, options_.constraints.deterministic));
    std::erase_if(enabled, [&](const Change& change) {
      return suggest_.keep.count(change.kind) != 0 ||
             std::ranges::find(changes_, change.text, &Change::text) != changes_.end();
    });
    return enabled;
  }

  std::vector<Candidate> models_with_change() {
    std::vector<Candidate> candidates;
    for (const Change& model : models_)
      for (const Change& change : changes_)
        if (change.kind != "head_dim") candidates.push_back(with({&model, &change}));
    return worth_asking(std::move(candidates));
  }

  // Two changes that keep the computation come before one that does not.
  static std::pair<std::vector<Candidate>, std::vector<Candidate>> by_computation(std::vector<Candidate> candidates) {
    const auto keeps = [](const Candidate& candidate) {
      return std::ranges::all_of(candidate.changes,
                                 [](const Change* one) { return one->cost < ChangeCost::computation; });
    };
    const auto others = std::stable_partition(candidates.begin(), candidates.end(), keeps);
    std::vector<Candidate> rest(others, candidates.end());
    candidates.erase(others, candidates.end());
    return {std::move(candidates), std::move(rest)};
  }

  Candidate with(std::vector<const Change*> changes) const {
    const AttentionSpec& asked = result_.config.spec;
    Candidate candidate{.changes = std::move(changes), .spec = asked};
    for (const Change* change : candidate.changes) change->make(candidate.spec);
    const AttentionSpec& spec = candidate.spec;
    const double calls = calls_of(candidate);
    if (work_ > 0) candidate.work = calls * attention_flop(spec) / work_;
    candidate.memory = calls * elements_of(spec) / memory_;
    if (candidate.changes.front()->cost == ChangeCost::model)
      candidate.distance = static_cast<double>(std::abs(spec.head_dim_qk - asked.head_dim_qk) +
                                               std::abs(spec.head_dim_v - asked.head_dim_v));
    return candidate;
  }

  // Cheapest first, each config once.
  std::vector<Candidate> worth_asking(std::vector<Candidate> candidates) {
    std::ranges::stable_sort(candidates, {}, price_of);
    std::erase_if(candidates, [&](const Candidate& candidate) {
      return !contradictions(candidate.spec).empty() || !seen_.insert(to_json(candidate.spec).dump()).second ||
             crashes(candidate.spec);
    });
    return candidates;
  }

  // Whether a known bug of the crashed question remains: each crash costs a worker.
  bool crashes(const AttentionSpec& spec) const {
    if (crashes_.empty()) return false;
    const auto bugs = rules::known_bugs(spec, result_.cudnn_version, result_.target.sm);
    return std::ranges::any_of(bugs, [&](const auto& bug) { return crashes_.contains(bug.id); });
  }

  // Keeps the candidates, cheapest first, that work and whose first choice compiles.
  void take(const std::vector<Candidate>& candidates) {
    constexpr size_t portion = 24;
    for (size_t begin = 0; begin < candidates.size() && result_.ways_out.size() < suggest_.most; begin += portion) {
      const size_t end = std::min(candidates.size(), begin + portion);
      if (asked_ + (end - begin) > suggest_.most_asked) {
        result_.ways_out_unasked += candidates.size() - begin;
        return;
      }
      const std::vector<Candidate> some(candidates.begin() + static_cast<std::ptrdiff_t>(begin),
                                        candidates.begin() + static_cast<std::ptrdiff_t>(end));
      keep_working(some);
    }
  }

  // Among changes of the same kinds, the cheapest is enough: padding to 256 is useless if 104 works.
  bool has_cheaper(const Candidate& candidate, const std::vector<Candidate>& working) const {
    const auto kinds = kinds_of(candidate);
    return std::any_of(working.begin(), working.end(), [&](const auto& other) { return kinds_of(other) == kinds; }) ||
           std::any_of(result_.ways_out.begin(), result_.ways_out.end(),
                       [&](const auto& way) { return way.kinds == kinds; });
  }

  static std::vector<std::string> kinds_of(const Candidate& candidate) {
    std::vector<std::string> kinds;
    for (const Change* change : candidate.changes) kinds.push_back(change->kind);
    return kinds;
  }

  void keep_working(const std::vector<Candidate>& candidates) {
    std::vector<Candidate> working;
    std::vector<Answer> answers;
    auto asked = ask_about(candidates, probe::Plans::none);
    for (size_t i = 0; i < candidates.size(); ++i)
      if (asked[i] && is_way_out(*asked[i]) && !has_cheaper(candidates[i], working)) {
        working.push_back(candidates[i]);
        answers.push_back(std::move(*asked[i]));
      }
    // Compiles only as many at a time as needed; if a candidate does not compile, the next one replaces it.
    for (size_t begin = 0; begin < working.size() && result_.ways_out.size() < suggest_.most;) {
      const size_t end = std::min(working.size(), begin + suggest_.most - result_.ways_out.size());
      const std::vector<Candidate> next(working.begin() + static_cast<std::ptrdiff_t>(begin),
                                        working.begin() + static_cast<std::ptrdiff_t>(end));
      auto compiled = suggest_.compile ? ask_about(next, probe::Plans::first) : std::vector<std::optional<Answer>>();
      for (size_t i = 0; i < next.size(); ++i)
        if (!suggest_.compile)
          add(next[i], answers[begin + i]);
        else if (compiled[i] && is_way_out(*compiled[i]))
          add(next[i], *compiled[i]);
      begin = end;
    }
  }

  // None if the run was stopped.
  std::vector<std::optional<Answer>> ask_about(const std::vector<Candidate>& candidates, probe::Plans plans) {
    QuestionGroup group{{}, {result_.target}, {result_.cudnn_path}};
    for (const auto& candidate : candidates) group.questions.push_back(question_of(candidate.spec));
    options_.walk.plans = plans;
    std::vector<std::optional<Answer>> answers(candidates.size());
    const Plan plan{.groups = {std::move(group)}, .options = options_, .cached = true};
    auto asked = ask_plainly(plan, session_).front().results;
    if (asked.size() == answers.size()) std::ranges::move(asked, answers.begin());
    asked_ += candidates.size();
    return answers;
  }

  Question question_of(const AttentionSpec& spec) const {
    Question question = result_;
    question.given.reset();
    question.config.spec = spec;
    question.command.clear();
    return question;
  }

  void add(const Candidate& candidate, const Answer& answer) {
    WayOut way;
    for (const Change* change : candidate.changes) way.changes.push_back(change->text);
    way.kinds = kinds_of(candidate);
    if (const auto* taken = probe::first_working(answer.findings)) way.engine = taken->engine;
    way.work = candidate.work;
    way.memory = candidate.memory;
    way.spec = candidate.spec;
    way.compiled = suggest_.compile;
    way.reproduce = answer.reproduce;
    result_.ways_out.push_back(std::move(way));
  }

  static double calls_of(const Candidate& candidate) {
    double calls = 1;
    for (const Change* change : candidate.changes)
      if (change->cost == ChangeCost::splitting && change->kind != "rope") calls *= 2;
    return calls;
  }

  Answer& result_;
  PlanOptions options_;
  const Session& session_;
  const SuggestOptions& suggest_;
  std::vector<Change> changes_, models_;
  std::deque<std::vector<Change>> enabled_;  // candidates point into it
  std::set<std::string> seen_;               // the configs that were asked
  double work_, memory_;                     // cost of the original config
  std::set<std::string> crashes_;            // known bugs of a question that crashed
  bool pairs_ = true;
  size_t asked_ = 0;
};

}  // namespace

void advise(Answer& result, const PlanOptions& options, const Session& session, const SuggestOptions& suggest) {
  if (session.is_stopped() || !asks_again(result)) return;
  Suggester(result, options, session, suggest).run();
  if (!result.root_cause) return;
  // The usual workaround was tried here: it is a way out, or it does not work.
  const auto* known = answer::find_reason({result.root_cause->status, result.root_cause->reason});
  if (known != nullptr && !known->changes.empty() && result.ways_out_unasked == 0)
    result.root_cause->in_general.clear();
  // Fixes follow the reason, before the answers of other GPUs and versions; another model comes last.
  auto& advice = result.root_cause->advice;
  std::vector<std::string> texts;
  for (const auto& way : result.ways_out)
    (is_other_model(way) ? advice : texts).push_back(fmt::format("{}\n{}", text_of(way), way.reproduce));
  advice.insert(advice.begin(), texts.begin(), texts.end());
}

void advise(std::vector<Answer>& results, const PlanOptions& options, const Session& session,
            const SuggestOptions& suggest) {
  std::vector<Answer*> refused;
  for (auto& result : results)
    if (asks_again(result)) refused.push_back(&result);
  const size_t jobs = jobs_of(options), threads = std::clamp<size_t>(refused.size(), 1, jobs);
  PlanOptions each = options;
  each.jobs = static_cast<int>(jobs / threads);
  side_by_side(threads, refused.size(), [&](size_t i) { advise(*refused[i], each, session, suggest); });
}

}  // namespace attnprobe::asking
