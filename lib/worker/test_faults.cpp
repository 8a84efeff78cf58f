#include "worker/test_faults.hpp"

#include "base/error.hpp"

#ifdef ATTNPROBE_TEST_FAULTS

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/text.hpp"
#include "build/expand.hpp"
#include "run/problem.hpp"
#include "run/runner.hpp"

namespace attnprobe::worker {
namespace {

class TestRunner : public run::Runner {
 public:
  TestRunner() : cpu_(run::cpu_device()) {
    const auto words = split(std::getenv("ATTNPROBE_TEST_PLANS"), '@');
    fault_ = words[0];
    if (words.size() > 1) faulty_engine_ = std::atoll(words[1].c_str());
  }

  run::Outcome run(run::PlanKeeper& plans, const graph::OpGraph& graph, int64_t engine, const probe::Knobs& knobs,
                   const run::RunOptions& options, const run::Stage& stage) override {
    run::Outcome outcome;
    outcome.plan = plans.plan(graph, engine, knobs, stage).findings;
    if (outcome_of(outcome.plan) != probe::PlanOutcome::built) return outcome;
    outcome.run.emplace();
    run::guarded(*outcome.run, [&] {
      stage({probe::Step::run, "run", engine, knobs});
      const std::string fault = engine == faulty_engine_.value_or(engine) ? fault_ : "";
      if (fault == "cuda_error")
        throw Error(ErrorKind::cuda, "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (injected by a test)");
      if (fault == "out_of_memory")
        throw Error(ErrorKind::environment, "the GPU is too small for this (injected by a test)");
      run::Problem problem(*cpu_, graph, options, plans.device().library().version());
      int runs = 0;
      outcome.run = problem.verify([&] { execute(graph, problem, fault, runs++); }, options.repeat);
      if (!probe::ran(*outcome.run) || options.timing == run::Timing::none) return;
      // Plans that did not run on a GPU have no times.
      outcome.time.emplace();
      outcome.time->status = probe::TimeStatus::no_accepted_samples;
      outcome.time->method = "none: a test's stand-in for a plan";
    });
    return outcome;
  }

  void rest() override {}  // a run's problem is freed at its end

 private:
  void execute(const graph::OpGraph& graph, const run::Problem& problem, const std::string& fault, int runs) {
    const auto results = run::evaluate(*cpu_, build::expand(graph), problem.inputs(), size_t{8} << 30);
    for (const auto& [uid, value] : results) {
      const run::View& out = problem.views().at(uid);
      for (int64_t i = 0; i < run::kernels::elements(out); ++i) {
        const run::kernels::Place p = run::kernels::place(out, i);
        double x = run::kernels::load(value.view, p);
        if (i == 1 && fault == "wrong") x += 3;
        if (i == 1 && fault == "nan") x = std::nan("");
        if (i == 1 && fault == "unwritten") continue;
        if (i == 1 && fault == "changing") x *= 1 + 0.001 * runs;
        run::kernels::store(out, p, x);
      }
      if (fault == "outside") out.data[-2] = 0;
    }
  }

  std::unique_ptr<run::Device> cpu_;
  std::string fault_;
  std::optional<int64_t> faulty_engine_;  // none: every engine
};

}  // namespace

void inject_fault(const std::string& stage) {
  const char* fault = std::getenv("ATTNPROBE_TEST_FAULT");
  if (fault == nullptr) return;
  const std::string text = fault;
  const size_t at = text.find('@');
  if (at == std::string::npos) return;
  const std::string kind = text.substr(0, at), place = text.substr(at + 1);
  const bool meant = !place.empty() && place.back() == '*'
                         ? stage.compare(0, place.size() - 1, place, 0, place.size() - 1) == 0
                         : stage == place;
  if (!meant) return;
  if (kind == "segfault") ::raise(SIGSEGV);
  if (kind == "abort") std::abort();
  if (kind == "kill") ::raise(SIGKILL);
  if (kind == "terminate") ::raise(SIGTERM);
  if (kind == "hangup") ::raise(SIGHUP);
  if (kind == "interrupt") {
    std::signal(SIGINT, SIG_DFL);
    ::raise(SIGINT);
  }
  if (kind == "exit") std::_Exit(7);
  if (kind == "hang")
    while (true) pause();
}

bool test_plans_asked() {
  return std::getenv("ATTNPROBE_TEST_PLANS") != nullptr;
}

std::unique_ptr<run::Runner> test_runner() {
  return std::make_unique<TestRunner>();
}

}  // namespace attnprobe::worker

#else

namespace attnprobe::worker {

void inject_fault(const std::string&) {}

bool test_plans_asked() {
  return false;
}

std::unique_ptr<run::Runner> test_runner() {
  throw Error(ErrorKind::internal, "this attnprobe was built without the doubles that tests use");
}

}  // namespace attnprobe::worker

#endif
