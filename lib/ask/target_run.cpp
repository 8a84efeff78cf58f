#include "ask/target_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <new>
#include <numeric>
#include <system_error>
#include <thread>

#include "answer/judge.hpp"
#include "ask/named_targets.hpp"
#include "ask/reproduce.hpp"
#include "ask/walk_cache.hpp"
#include "attention/fields.hpp"
#include "attention/flop.hpp"
#include "base/digest.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "log/log_parse.hpp"
#include "probe/determinism.hpp"
#include "run/data.hpp"
#include "run/work.hpp"
#include "worker/pool.hpp"
#include "worker/run_plans.hpp"

namespace attnprobe::asking {

using answer::Category;

namespace {

// Computation and data movement for the actual lengths.
void add_work(run::RunOptions& options, const attention::AttentionSpec& spec, const graph::OpGraph& graph) {
  const run::Lengths lengths = run::plan_data(graph, options).lengths;
  const std::vector<int64_t> q(lengths.q.begin(), lengths.q.end()), kv(lengths.kv.begin(), lengths.kv.end());
  auto share = [](const std::vector<int64_t>& tokens, int64_t longest) {
    return static_cast<double>(std::accumulate(tokens.begin(), tokens.end(), int64_t{0})) /
           static_cast<double>(static_cast<int64_t>(tokens.size()) * longest);
  };
  options.flop = attention::attention_flop(spec, q, kv);
  options.bytes =
      run::least_bytes(graph, {spec.seqlen_q, spec.seqlen_kv, share(q, spec.seqlen_q), share(kv, spec.seqlen_kv)});
}

// Also asks the engine config that cudnn-frontend builds without a heuristic.
probe::WalkOptions walk_of(const build::BuiltGraph& graph, probe::WalkOptions options) {
  if (graph.forced) options.named = {{"FRONTEND", graph.forced->engine, graph.forced->knobs}};
  return options;
}

// NVRTC may be installed later.
bool lacks_compiler(const probe::WalkFindings& findings) {
  return std::ranges::any_of(findings.engine_configs, [](const auto& config) {
    return config.plan && outcome_of(*config.plan) == probe::PlanOutcome::needs_compiler;
  });
}

}  // namespace

TargetRun::TargetRun(const gpu::Target& target, const std::string& cudnn, const PlanOptions& options,
                     const Session& session, const TargetShare& share)
    : target_(target),
      cudnn_(cudnn),
      options_(options),
      session_(session),
      share_(share),
      walk_(options.walk),
      cudnn_word_(cudnn) {
  const bool runs = can_run(target);
  if (walk_.plans == probe::Plans::automatic)
    walk_.plans = target.kind == gpu::Kind::device ? probe::Plans::run : probe::Plans::none;
  if (probe::executes(walk_.plans)) {
    runs_ = runs;
    runs_first_ = walk_.plans == probe::Plans::run_first;
    walk_.plans = runs ? probe::Plans::none : runs_first_ ? probe::Plans::first : probe::Plans::build;
  }
  // Plans and the user's constraints may need another mode.
  walk_.until_works = walk_.until_works && walk_.plans == probe::Plans::none && !runs_ && options.constraints.empty();
  if (target.kind == gpu::Kind::simulated && !runs_) cache_ = session.cache;
}

TargetRun::~TargetRun() {
  if (session_.pool == nullptr || !client_ || stopped()) return;
  try {
    session_.pool->give(cudnn_, target_, {std::move(client_), *library_});
  } catch (const std::exception&) {
    client_.reset();  // not enough memory to keep it
  }
}

Answer TargetRun::run(const Question& question, const Question* next) {
  // Call it only if no other step may follow on the same worker.
  const bool only_walks = !runs_ && !walk_.sweep_where_none && walk_.plans == probe::Plans::none;
  next_ = only_walks ? next : nullptr;
  Answer result;
  static_cast<Question&>(result) = question;
  result.target = target_;
  result.cudnn_path = cudnn_;
  try {
    know_library();
    result.cudnn_version = library_->version;
    result.graph = build_graph(question);
    find_out(result);
    judge(result, options_.constraints.deterministic);
  } catch (const worker::Stopped& stop) {
    client_.reset();
    result.crash = answer::Crash{stop.what(), "", ""};  // this answer is not reported (schedule.cpp)
  } catch (const worker::WorkerLost& lost) {
    client_.reset();
    if (lost.findings) result.findings = *lost.findings;
    judge_lost(result, {{lost.end.text(), lost.stage, lost.output},
                        lost.what(),
                        lost.how(),
                        lost.timed_out,
                        lost.is_from_outside(),
                        lost.end.code == SIGKILL});
  } catch (const Error& e) {
    judge_open(result, e.kind() == ErrorKind::environment ? Category::environment : Category::internal_error, e.what(),
               e.what());
  } catch (const std::bad_alloc&) {
    client_.reset();
    judge_open(result, Category::environment, "out of memory", "Out of memory: free some, and ask again.");
  } catch (const std::system_error& e) {  // no thread can be started
    client_.reset();
    judge_open(result, Category::environment, e.what(),
               fmt::format("This machine does not let attnprobe start more threads: {}.", e.what()));
  } catch (const std::exception& e) {  // an unexpected error also loses only one answer
    judge_open(result, Category::internal_error, e.what(), e.what());
  }
  result.reproduce = command(question_command(question, options_));
  return result;
}

build::BuiltGraph TargetRun::build_graph(const Question& question) const {
  if (!question.given) return build::build_graph(question.config.spec, {library_->version, target_.sm});
  build::BuiltGraph built;
  built.graph = question.given->graph;
  built.pattern = question.config.spec.pattern;
  return built;
}

void TargetRun::open() {
  if (!client_) client_ = start(&has_waited_);
}

// A half-open worker (cuDNN loaded, no device) is never used. Builders start their workers in parallel.
std::unique_ptr<worker::Client> TargetRun::start(bool* waited) {
  const worker::Client::Seconds timeout(options_.timeout_seconds);
  if (waited != nullptr) *waited = false;
  if (session_.pool != nullptr)
    if (auto waiting = session_.pool->take(cudnn_, target_, timeout, session_.stop); waiting.client) {
      const std::lock_guard lock(mutex_);
      library_ = waiting.library;
      if (waited != nullptr) *waited = true;
      return std::move(waiting.client);
    }
  auto client = std::make_unique<worker::Client>(target_, timeout, session_.program, session_.stop);
  const bool takes_turns = share_.gpu != nullptr && target_.kind == gpu::Kind::device;
  const auto opening = takes_turns ? share_.gpu->open() : worker::GpuTurns::Held();
  const cudnn::LibraryInfo library = client->open(cudnn_, target_);
  const std::lock_guard lock(mutex_);
  library_ = library;
  return client;
}

std::unique_ptr<worker::Client> TargetRun::start_under(const std::vector<std::string>& under) const {
  const worker::Client::Seconds timeout(options_.timeout_seconds);
  auto client = std::make_unique<worker::Client>(target_, timeout, session_.program, session_.stop, under);
  client->open(cudnn_, target_);
  return client;
}

// A cuDNN that answered before is known without loading it.
void TargetRun::know_library() {
  if (library_ && is_named_) return;
  if (!library_ && cache_ != nullptr) library_ = cache_->library(cudnn_);
  if (!library_) {
    open();
    if (cache_ != nullptr) cache_->store_library(cudnn_, *library_);
  }
  is_named_ = true;
  LibraryWords* words = session_.words;
  if (auto known = words != nullptr ? words->known(cudnn_, library_->version) : std::nullopt) {
    cudnn_word_ = std::move(*known);
    return;
  }
  // Searches for libraries while the worker walks.
  naming_ = std::async(std::launch::async, [words, path = cudnn_, version = library_->version] {
    return words != nullptr ? words->word(path, version) : cudnn_word(path, version);
  });
}

std::string TargetRun::command(const std::string& question) {
  if (naming_.valid()) cudnn_word_ = naming_.get();
  return reproduce_command(question, target_, cudnn_word_);
}

// Only now is it noticed that a worker was killed while idle in the pool; the next worker is then asked.
probe::WalkFindings TargetRun::ask(const graph::OpGraph& graph, const probe::WalkOptions& options) {
  const std::string key = cache_ != nullptr ? cache_->key(graph, target_, cudnn_, options) : "";
  // The worker is already working on its request, even if another process has stored the answer meanwhile.
  if (cache_ != nullptr && std::exchange(announced_key_, "") != key)
    if (auto known = cache_->find(key)) return std::move(*known);
  const auto next = [this] { return announcement(); };
  while (true) {
    open();
    const bool has_waited = std::exchange(has_waited_, false);
    try {
      probe::WalkFindings findings = client_->walk(graph, options, next);
      if (cache_ != nullptr && !lacks_compiler(findings)) cache_->store(key, findings);
      return findings;
    } catch (const worker::WorkerLost& lost) {
      if (!has_waited || !lost.is_from_outside() || stopped()) throw;
      client_.reset();
    }
  }
}

// The request of the next question's walk; "" if none is needed.
std::string TargetRun::announcement() try {
  if (next_ == nullptr) return "";
  const build::BuiltGraph built = build_graph(*next_);
  const probe::WalkOptions options = walk_of(built, walk_);
  std::string key;
  if (cache_ != nullptr) {
    key = cache_->key(built.graph, target_, cudnn_, options);
    if (cache_->find(key)) return "";
  }
  announced_key_ = std::move(key);
  return worker::Client::walk_request(built.graph, options);
} catch (const Error&) {
  return "";  // reported in its turn
}

// Everything that the findings depend on, except time and other load on the GPU. The lengths are only in the config.
std::string TargetRun::name_finished(const Answer& result) const {
  const auto& [workspace, notes, deterministic] = options_.constraints;
  const std::string walk = session_.finished->key(result.graph.graph, target_, cudnn_, walk_of(result.graph, walk_));
  return digest(fmt::format("{}\n{}\n{}\n{}\n{} {} {}", walk, target_.uuid,
                            result.has_spec() ? to_json(result.config.spec).dump() : "", Json(options_.run).dump(),
                            workspace.value_or(-1), Json(notes).dump(), deterministic));
}

// Finished results of an interrupted run are not asked again.
void TargetRun::find_out(Answer& result) {
  const std::string name = session_.finished != nullptr ? name_finished(result) : "";
  if (!name.empty())
    if (auto known = session_.finished->find(name)) {
      result.findings = std::move(*known);
      return;
    }
  walk(result);
  if (runs_ && result.has_spec() && !result.findings.failure) {
    run_plans(result);
    keep_to_constraints(result, true);
  }
  if (!name.empty() && !stopped()) session_.finished->store(name, result.findings);
}

void TargetRun::walk(Answer& result) {
  probe::WalkOptions options = walk_of(result.graph, walk_);
  // The meaning of an unrecognised graph's inputs is unknown, so its plans are built but not run.
  if (runs_ && !result.has_spec()) options.plans = probe::Plans::build;
  // Raw messages must come from one process, in order.
  const bool builds_itself = options.plans == probe::Plans::none || options.keep_log;
  probe::WalkOptions first = options;
  if (!builds_itself) first.plans = probe::Plans::none;
  try {
    result.findings = ask(result.graph.graph, first);
    if (!builds_itself && !result.findings.failure) build_plans(result, options);
  } catch (const worker::WorkerLost& lost) {
    // If a plan crashes its process, only that plan is lost; the walk before it is complete. A Ctrl-C says nothing
    // about the plan.
    if (lost.stage.step != probe::Step::plan || !lost.findings || stopped() || lost.is_from_outside()) throw;
    client_.reset();
    result.findings = *lost.findings;
    probe::sort_engine_configs(result.findings, options);
    for (auto& config : result.findings.engine_configs)
      if (lost.stage.is_at(probe::Step::plan, config)) config.plan = lost_plan(lost);
    worker::build_plans(plan_work(result), options.plans);
  }
  keep_to_constraints(result, false);
}

// A walk's answer does not depend on later builds, and a plan's does not depend on earlier requests. So each has its
// own cache entry, and several processes can build plans.
void TargetRun::build_plans(Answer& result, const probe::WalkOptions& options) {
  keep_to_constraints(result, false);
  worker::build_plans(plan_work(result), options.plans);
  // If no plan compiles, the same worker sweeps beyond the heuristics.
  if (options.sweep_where_none && !result.findings.swept && !probe::has_working_config(result.findings) && !stopped())
    result.findings = ask(result.graph.graph, options);
}

// Running a plan shows whether it is deterministic.
void TargetRun::keep_to_constraints(Answer& result, bool has_run) const {
  probe::Varies varies;
  const bool will_run = runs_ && result.has_spec() && !has_run;
  if (options_.constraints.deterministic && !will_run)
    varies = [&, context =
                     build::BuildContext{result.cudnn_version, result.target.sm}](const auto& config) -> std::string {
      if (!result.has_spec()) return "attnprobe does not know what the graph computes or in which order it sums";
      return probe::varying_sums(result.config.spec, context, &config);
    };
  probe::leave_out(result.findings, options_.constraints, varies);
}

worker::PlanWork TargetRun::plan_work(Answer& result) {
  worker::PlanWork work{result.findings, result.graph.graph,          client_, [this] { return start(); }, share_.gpu,
                        share_.builders, [this] { return stopped(); }};
  work.start_under = [this](const std::vector<std::string>& under) { return start_under(under); };
  if (cache_ == nullptr) return work;
  const std::string about = cache_->key(result.graph.graph, target_, cudnn_, {});
  work.look_up = [this, about](probe::EngineConfigFindings& config) {
    config.plan = cache_->find_plan(about, config.engine, config.knobs);
  };
  work.remember = [this, about](const probe::EngineConfigFindings& config) {
    cache_->store_plan(about, config.engine, config.knobs, *config.plan);
  };
  return work;
}

void TargetRun::prepare_gpu() try {
  const auto client = start();
  const worker::GpuTurns::Held building =
      share_.gpu != nullptr ? share_.gpu->build_kernels() : worker::GpuTurns::Held();
  client->prepare();
} catch (const std::exception&) {
}

void TargetRun::run_plans(Answer& result) {
  const probe::Plans plans = runs_first_ ? probe::Plans::run_first : probe::Plans::run;
  run::RunOptions options = options_.run;
  const auto& spec = result.config.spec;
  options.seqlens_q = spec.mask.seqlens_q;
  options.seqlens_kv = spec.mask.seqlens_kv;
  add_work(options, spec, result.graph.graph);
  options.data_type = name_of(spec.dtype);
  worker::run_plans(plan_work(result), options, plans);
  if (probe::has_working_config(result.findings) || !walk_.sweep_where_none || result.findings.swept || stopped())
    return;
  // All proposals of the heuristics fail, so the other engines are asked. Earlier findings are kept, even if this
  // fails.
  try {
    search_further(result);
  } catch (const worker::WorkerLost& lost) {
    client_.reset();
    if (lost.is_from_outside()) throw;
    return;
  }
  worker::run_plans(plan_work(result), options, plans);
}

void TargetRun::search_further(Answer& result) {
  probe::WalkOptions wider = walk_of(result.graph, walk_);
  wider.engines = probe::Engines::all;
  const auto found = ask(result.graph.graph, wider);
  auto& known = result.findings.engine_configs;
  for (const auto& config : found.engine_configs)
    if (!log::has_config(known, config)) known.push_back(config);
  result.findings.engines = found.engines;
  keep_to_constraints(result, false);
}

}  // namespace attnprobe::asking
