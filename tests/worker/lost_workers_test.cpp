// Plans that crash the process that builds or runs them, without a GPU: only the plan itself is lost.
#include <sstream>

#include "run_answers.hpp"

namespace attnprobe::test::lost_workers_test {

namespace {

const std::string two_plans = on_h200 + "--mode FALLBACK --plans ";

struct Loss {
  std::string fault, how, status, options;
};
const Loss losses[] = {{"segfault", "SIGSEGV", "crashed", ""},
                       {"abort", "SIGABRT", "crashed", ""},
                       {"exit", "exit status 7", "crashed", ""},
                       {"hang", "SIGKILL", "timeout", " --timeout 4"}};

// "signal 11 (SIGSEGV, Segmentation fault); it was at: run of engine 2 {}".
void check_words(const std::string& words, const std::string& how, const std::string& what, const Json& config) {
  INFO(words);
  CHECK(contains(words, how));
  CHECK(words.ends_with(
      fmt::format("; it was at: {} of engine {} {}", what, config["engine"].get<int64_t>(), config["knobs"].dump())));
}

// A crash or a hang while building engine 1's plan, the first one.
void check_lost_plan(const Answer& answer, const Loss& loss) {
  CHECK(answer.exit_code == 4);
  CHECK(answer.result["verdict"] == "supported");
  for (const Json& config : viable(answer, 2)) CHECK(config["plan"]["status"] == plan_built);
  for (const Json& config : viable(answer, 1)) {
    REQUIRE(config["plan"].is_object());
    CHECK(config["plan"]["status"] == loss.status);
    CHECK(config["run"].is_null());
    REQUIRE(config["plan"]["reasons"].size() == 1);
    check_words(config["plan"]["reasons"][0]["reason"], loss.how, "plan", config);
  }
}

// Asks configs on one target until the first report exists, then sends the signal. `to`: "$pid", or "-$pid" for the
// process and its workers, like a terminal.
Json interrupted(const std::string& plans, const std::string& to) {
  const TemporaryFolder folder;
  const std::string report = folder.path() / "json", errata = folder.path() / "errata";
  const Run run =
      shell(fmt::format("set -m; {} {} --batch 1,2,3,4,5,6,7,8 --mode A --plans {} --format json -o {} --errata {} & "
                        "pid=$!; while kill -0 $pid && ! [ -s {} ]; do sleep 0.05; done; kill -INT {}; wait $pid",
                        program(), on_h200, plans, report, errata, report, to),
            double_with("right"));
  INFO(run.err);
  CHECK(run.exit_code == 130);
  CHECK(contains(run.err, "stopped: "));
  CHECK(Json::parse(read_text(errata))["rules"].empty());
  check_schema(folder.path());
  return Json::parse(read_text(report))["results"];
}

}  // namespace

TEST_CASE("a worker lost during a run loses only that run, and a new one continues", "[run][slow]") {
  for (const Loss& loss : losses) {
    INFO(loss.fault);
    const Answer answer = ask(two_plans + "run" + loss.options, worker_fault(loss.fault + "@run of engine 1*"));
    CHECK(answer.exit_code == 4);
    check_ran(answer, 2);
    for (const Json& config : viable(answer, 1)) {
      REQUIRE(config["run"].is_object());
      CHECK(config["run"]["status"] == loss.status);
      check_words(config["run"]["message"], loss.how, "run", config);
    }
    REQUIRE(answer.errata["rules"].size() == 2);
    CHECK(answer.errata["rules"][0]["engine"] == 1);
    CHECK(answer.errata["rules"][0]["seen"][0]["status"] == loss.status);
  }
}

TEST_CASE("a worker lost while building a plan to run loses only that plan, and a new one continues", "[run][slow]") {
  for (const Loss& loss : losses) {
    INFO(loss.fault);
    const Answer answer = ask(two_plans + "run" + loss.options, worker_fault(loss.fault + "@plan of engine 1*"));
    check_lost_plan(answer, loss);
    check_ran(answer, 2);
  }
}

TEST_CASE("a worker lost while only building also loses only one plan, without a GPU or duplicates", "[run][slow]") {
  for (const Loss& loss : {losses[0], losses[3]}) {
    INFO(loss.fault);
    const Answer answer =
        ask(two_plans + "build" + loss.options, {{"ATTNPROBE_TEST_FAULT", loss.fault + "@plan of engine 1*"}});
    check_lost_plan(answer, loss);
    CHECK(answer.result["stages"] == Json({"check", "plan"}));
  }
}

TEST_CASE("if every plan crashes its process, the verdict is crashed, not unsupported", "[run]") {
  for (const std::string plans : {"run", "build"}) {
    INFO(plans);
    const Answer answer = ask(two_plans + plans, worker_fault("segfault@plan of engine *"));
    CHECK(answer.exit_code == 4);
    CHECK(answer.result["verdict"] == "crashed");
    CHECK(answer.result["root_cause"]["category"] == "crash");
    CHECK(contains(answer.result["root_cause"]["reason"], "SIGSEGV"));
  }
}

TEST_CASE("observed plan results are kept, even if the search for others fails", "[run]") {
  const Answer answer = ask(on_h200 + "--mode A --plans run", worker_fault("segfault@engines", "wrong"));
  CHECK(answer.exit_code == 5);
  CHECK(answer.result["verdict"] == "wrong_result");
  for (const Json& config : viable(answer, 2)) {
    REQUIRE(config["run"].is_object());
    CHECK(config["run"]["status"] == "wrong_result");
  }
}

TEST_CASE("a table row describes a lost worker's step completely", "[run]") {
  const Run run = run_attnprobe(small_problem + "--target h200,h100 --mode FALLBACK --quick --plans build -v",
                                {{"ATTNPROBE_TEST_FAULT", "segfault@plan of engine *"}});
  INFO(run.out << run.err);
  CHECK(run.exit_code == 4);
  size_t rows = 0;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);)
    if (contains(line, "(sm_90, simulated): ")) {
      ++rows;
      CHECK(contains(line, "no, signal 11 (SIGSEGV, Segmentation fault); it was at: plan of engine "));
    }
  CHECK(rows == 2);
}

// ---- several workers build

TEST_CASE("several workers build every plan that passes its check, and each built plan runs", "[run][slow]") {
  const Answer answer =
      ask(small_problem + "--target l40s --mode A --engines knobs --jobs 2 --plans run", double_with("right"));
  CHECK(answer.exit_code == 0);
  CHECK(answer.result["swept"] == true);
  for (const Json& engine : answer.result["engines"]) CHECK(engine["tried"] == engine["legal"]);
  size_t ran = 0;
  for (const Json& config : answer.result["engine_configs"]) {
    INFO(config.dump());
    CHECK(config["plan"].is_null() != config["check"]["supported"]);
    if (config["plan"].is_null()) continue;
    CHECK(config["plan"]["status"] != "crashed");
    // Kernels that NVRTC refuses (three in 9.19) have no plan to run.
    CHECK(config["run"].is_null() != (config["plan"]["status"] == plan_built));
    if (config["run"].is_null()) continue;
    check_ran(config);
    ++ran;
  }
  CHECK(ran >= 8);  // fewer would come from one worker
  CHECK(answer.errata["rules"].empty());
}

TEST_CASE("one of several building workers that crashes is replaced, and the build continues", "[run][slow]") {
  const Answer answer = ask(small_problem + "--target l40s --mode A --engines knobs --jobs 2 --plans run",
                            worker_fault(R"(abort@plan of engine 1 {"KERNEL_CFG":5})"));
  CHECK(answer.exit_code == 4);
  size_t lost = 0, ran = 0;
  for (const Json& config : viable(answer, 1)) {
    REQUIRE(config["plan"].is_object());
    if (config["knobs"] == Json{{"KERNEL_CFG", 5}}) {
      ++lost;
      CHECK(config["plan"]["status"] == "crashed");
      check_words(config["plan"]["reasons"][0]["reason"], "SIGABRT", "plan", config);
    } else if (config["plan"]["status"] == plan_built) {
      ++ran;
      check_ran(config);
    }
  }
  CHECK(lost == 1);
  CHECK(ran >= 8);
}

// ---- workers that do not start, and Ctrl-C

TEST_CASE("a worker that dies at start-up is a broken environment, and in a probe a crash", "[run]") {
  const Answer start = ask(two_plans + "run", worker_fault("segfault@open"));
  CHECK(start.exit_code == 3);
  CHECK(start.result["verdict"] == "error");
  CHECK(start.result["environment_broken"] == true);
  CHECK(start.result["root_cause"]["category"] == "environment");
  CHECK(contains(start.text, "died while it loaded cuDNN and opened the GPU (signal 11 (SIGSEGV"));
  CHECK(start.errata["rules"].empty());
  const Answer probe = ask(two_plans + "run", worker_fault("segfault@mode FALLBACK"));
  CHECK(probe.exit_code == 4);
  CHECK(probe.result["verdict"] == "crashed");
  CHECK(probe.result["environment_broken"] == false);
  CHECK(probe.result["crash"]["stage"] == "mode FALLBACK");
}

TEST_CASE("a worker killed from outside is not blamed on cuDNN, in any step", "[run][slow]") {
  const std::pair<const char*, const char*> signals[] = {
      {"kill", "SIGKILL"}, {"terminate", "SIGTERM"}, {"hangup", "SIGHUP"}, {"interrupt", "SIGINT"}};
  const auto check = [](const Answer& answer, const std::string& signal, const std::string& stage) {
    INFO(signal << " " << stage);
    CHECK(answer.exit_code == 3);
    CHECK(answer.result["verdict"] == "error");
    CHECK(answer.result["environment_broken"] == true);
    CHECK(answer.result["root_cause"]["category"] == "environment");
    const std::string words = answer.result["root_cause"]["explanation"];
    INFO(words);
    CHECK(words.starts_with("Something outside cuDNN killed the worker process (signal "));
    CHECK(contains(words, signal));
    CHECK(contains(words, "in this step: " + stage));
    CHECK(contains(words, "no memory left") == (signal == "SIGKILL"));
    CHECK_FALSE(contains(words, "cuDNN crashed its process"));
    CHECK(answer.errata["rules"].empty());
  };
  for (const auto& [fault, signal] : signals)
    check(ask(two_plans + "run", worker_fault(std::string(fault) + "@mode FALLBACK")), signal, "mode FALLBACK");
  check(ask(two_plans + "run", worker_fault("kill@open")), "SIGKILL", "start");
  check(ask(two_plans + "build", worker_fault("kill@plan of engine 1*")), "SIGKILL", "plan of engine 1");
  // Earlier runs are kept.
  const Answer late = ask(two_plans + "run", worker_fault("kill@run of engine 2*"));
  check(late, "SIGKILL", "run of engine 2");
  for (const Json& config : viable(late, 1)) check_ran(config);
}

TEST_CASE("killing one of several building workers from outside ends the answer", "[run][slow]") {
  const Answer answer = ask(small_problem + "--target l40s --mode A --engines knobs --jobs 2 --plans run",
                            worker_fault(R"(kill@plan of engine 1 {"KERNEL_CFG":5})"));
  CHECK(answer.exit_code == 3);
  CHECK(answer.result["environment_broken"] == true);
}

TEST_CASE("if no new worker starts, the next plan is not blamed", "[run]") {
  // The second start fails.
  const TemporaryFolder folder;
  const std::string script =
      folder.file("program", fmt::format("#!/bin/bash\nmkdir {0}/started || kill -SEGV $$\nexec {1} \"$@\"\n",
                                         folder.path().string(), program()));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  Environment environment = double_with("cuda_error");
  environment["ATTNPROBE_PROGRAM"] = script;
  const Answer answer = ask(two_plans + "run", environment);
  CHECK(answer.exit_code == 3);
  CHECK(answer.result["environment_broken"] == true);
  CHECK(contains(answer.result["root_cause"]["explanation"], "SIGSEGV"));
  // Finished runs are kept.
  std::string statuses;
  for (const Json& config : answer.result["engine_configs"])
    if (!config["run"].is_null()) statuses += config["run"]["status"].get<std::string>() + " ";
  CHECK(statuses == "cuda_error ");
  CHECK(answer.errata["rules"].size() == 2);
}

TEST_CASE("Ctrl-C between plans leaves a valid report of the finished plans", "[run][slow]") {
  const std::pair<std::string, std::string> cases[] = {{"run", "$pid"}, {"run", "-$pid"}, {"build", "-$pid"}};
  for (const auto& [plans, to] : cases) {
    INFO(plans << " " << to);
    const Json results = interrupted(plans, to);
    CHECK_FALSE(results.empty());
    CHECK(results.size() < 8);
    for (const Json& result : results) {
      CHECK(result["verdict"] == "supported");
      for (const Json& config : result["engine_configs"]) {
        if (config["check"]["supported"] == false) continue;
        REQUIRE(config["plan"].is_object());
        CHECK(config["plan"]["status"] == plan_built);
        if (plans == "run") check_ran(config);
      }
    }
  }
}

}  // namespace attnprobe::test::lost_workers_test
