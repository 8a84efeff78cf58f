// `attnprobe trace` for a user: the program is unaffected, and the report is correct.
#include <fmt/format.h>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::trace_test {

namespace {

// A folder with programs that write cuDNN's log as cuDNN would: real logs of PyTorch and JAX on an H200.
class Programs {
 public:
  /// Shell words that write one of the frameworks' logs to the path of cuDNN's log.
  std::string log(const std::string& name) {
    const auto file = folder_.file(name, unpacked_fixture("logs/frameworks/" + name + ".log.xz"));
    return fmt::format("cat {} > \"$(printf %s \"$CUDNN_LOGDEST_DBG\" | sed s/%i/$$/)\";", file.string());
  }
  /// Writes a shell script; returns the words that run it.
  std::string script(const std::string& name, const std::string& text) {
    return "sh " + folder_.file(name, text).string();
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  TemporaryFolder folder_;
};

std::string traced(const std::string& options, const std::string& program) {
  return fmt::format("trace {} -- {}", options, program);
}

}  // namespace

TEST_CASE("trace: forwards output and exit status, and reports on standard error", "[trace]") {
  const Run run = run_attnprobe(traced("", "sh -c 'cat; echo out; echo err >&2; exit 3'"), {}, "in\n");
  CHECK(run.exit_code == 3);
  CHECK(run.out == "in\nout\n");
  CHECK_THAT(run.err, StartsWith("err\nattnprobe trace: sh -c "));
  CHECK_THAT(run.err, ContainsSubstring("exit status 3 after "));
  CHECK_THAT(run.err, ContainsSubstring("no process wrote a cuDNN log"));
}

TEST_CASE("trace: a signal that ends the program ends the trace", "[trace]") {
  const Run run = shell(fmt::format("{} trace -- sh -c 'kill -ABRT $$'; echo $?", program()));
  CHECK(run.out == "134\n");
  CHECK_THAT(run.err, ContainsSubstring("signal 6 (SIGABRT, Aborted)"));
}

TEST_CASE("trace: a program that cannot start gives the exit code of a shell", "[trace]") {
  const Run missing = run_attnprobe(traced("", "no-such-program"));
  CHECK(missing.exit_code == 127);
  CHECK_THAT(
      missing.err,
      ContainsSubstring("\"no-such-program\" cannot be started: No such file or directory in the folders of PATH"));
  const Run denied = run_attnprobe(traced("", "./README.md"));
  CHECK(denied.exit_code == 126);
  CHECK_THAT(denied.err, ContainsSubstring("\"./README.md\" cannot be started: Permission denied"));
}

TEST_CASE("trace: open files, signals, limits and variables are the same as without it", "[trace]") {
  Programs programs;
  const std::string look = programs.script(
      "p.sh",
      "ls /proc/self/fd\ngrep -E '^Sig(Blk|Ign|Cgt)|^NoNewPrivs|^Seccomp:' /proc/self/status\nulimit -a\numask\n"
      "test $(cut -d' ' -f5 /proc/$$/stat) -eq $(cut -d' ' -f5 /proc/$PPID/stat) && echo group of its parent\n"
      "env | grep -v '^CUDNN_\\|^_=' | sort\n");
  for (const char* before : {"", "exec 7< /dev/null; ", "exec 0<&-; ", "trap '' PIPE; trap '' XFSZ; "}) {
    const Run alone = shell(before + look);
    const Run traced = shell(fmt::format("{}{} trace --report /dev/null -- {}", before, program(), look));
    INFO(before);
    CHECK_THAT(alone.out, ContainsSubstring("group of its parent"));
    CHECK(traced.out == alone.out);
  }
}

TEST_CASE("trace: words after -- belong to the program", "[trace]") {
  const Run words = run_attnprobe(traced("", "printf '<%s>' '[1,2]' --format '%%' --"));
  CHECK(words.out == "<[1,2]><--format><%%><-->");
  const Run none = run_attnprobe("trace");
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, ContainsSubstring("trace: no program is given; put the program after --"));
  const Run before = run_attnprobe("trace true");
  CHECK(before.exit_code == 2);
  CHECK_THAT(before.err, ContainsSubstring("trace: \"true\" is not an option; put the program after --"));
  CHECK(run_attnprobe("trace -o /nowhere/c.json -- true").exit_code == 2);
}

TEST_CASE("trace: reports attention of several processes, forward and backward, with engines and counts", "[trace]") {
  Programs programs;
  const std::string gqa = programs.script("gqa.sh", programs.log("pytorch-train-gqa-bf16"));
  const std::string all =
      programs.script("all.sh", gqa + "\n" + gqa + "\n" + programs.log("pytorch-train-dropout-bf16") + "\necho done");
  const std::string report = programs.path("report.json"), configs = programs.path("configs.json");
  const Run run = run_attnprobe(traced(fmt::format("--format json --report {} -o {}", report, configs), all));
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK(run.out == "done\n");
  CHECK(run.err == "");
  const Json found = Json::parse(read_text(report));
  CHECK(found["schema"] == "attnprobe/trace/1");
  CHECK(found["end"]["exit_status"] == 0);
  CHECK(found["processes"].size() == 3);
  REQUIRE(found["graphs"].size() == 4);
  for (const Json& graph : found["graphs"]) {
    const bool is_gqa = graph["description"].get<std::string>().find("h16/4") != std::string::npos;
    CHECK(graph["attention"] == true);
    CHECK(graph["verdict"] == "works");
    CHECK(graph["device"] == "NVIDIA H200");
    CHECK(graph["finalized"] == (is_gqa ? 2 : 1));
    CHECK(graph["executions"] == (is_gqa ? 2 : 1));
    CHECK(graph["processes"].size() == (is_gqa ? 2 : 1));
    CHECK(graph["executed"][0]["engine"] == (graph["direction"] == "backward" ? 6 : 2));
    CHECK(graph["plans"] == (is_gqa ? 2 : 1));
  }
  CHECK(found["plans"]["built"] == 6);
  CHECK(found["plans"]["seconds"] > 0.5);
  CHECK(found["plans"]["bill"].is_null());  // few plans need no bill
  CHECK(found["plans"]["no_bill"] == "");
  // The configs ask the same questions for other targets.
  const Run asked = run_attnprobe(fmt::format("--config {} --target a100 --quick --plans none --format json", configs));
  REQUIRE(asked.exit_code == 0);
  CHECK(asked.json()["results"].size() == 4);
  const Run matrix = run_attnprobe(
      fmt::format("matrix {} --target h200 --quick --plans none --out {}", configs, programs.path("matrix")));
  CHECK(matrix.exit_code == 0);
  // The report can be read like a log.
  const Run listed = run_attnprobe("replay --list -f json " + report);
  REQUIRE(listed.exit_code == 0);
  const Json graphs = listed.json()["graphs"];
  REQUIRE(graphs.size() == 4);
  for (size_t i = 0; i < 4; ++i)
    for (const char* key : {"hash", "config", "device", "finalized", "plans", "plan_seconds", "executed"}) {
      INFO(i << " " << key);
      CHECK(graphs[i][key] == found["graphs"][i][key]);
    }
}

TEST_CASE("trace: writes the text report", "[trace]") {
  Programs programs;
  const std::string script = programs.script("p.sh", programs.log("pytorch-train-dropout-bf16") + "\nexit 1");
  const Run run = run_attnprobe(traced("--follow", script));
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.err, ContainsSubstring("2 distinct attention graphs reached cuDNN, 0 refused"));
  CHECK_THAT(run.err, ContainsSubstring("\n2. sdpa_composite bprop b2 h8 s512 d128 bf16 bshd dropout\n"
                                        "   backward; built once, executed once; cuDNN 9.19.0 on NVIDIA H200\n"
                                        "   engine 6 KERNEL_CFG=26: executed once\n"));
  CHECK_THAT(run.err, ContainsSubstring("\nplans: 2 attention plans built in "));
  CHECK_THAT(run.err,
             ContainsSubstring("known bug, by rule: cuDNN rounds the dropout probability to a multiple of 1/16"));
  CHECK_THAT(run.err, ContainsSubstring("sdpa_composite fprop_train b2 h8 s512 d128 bf16 bshd dropout: "));  // --follow
}

TEST_CASE("trace: reads the real cuDNN's log of a simulated GPU, with refusals and the library's file", "[trace]") {
  Programs programs;
  const std::string report = programs.path("report.json");
  const std::string config = programs.path("c.json");
  std::ofstream(config)
      << R"([{"heads": 8, "seqlen": 128, "head_dim": 64}, {"heads": 8, "seqlen": 128, "head_dim": 192, "pass": "bprop"}])";
  const std::string program = fmt::format("{} --target a100 --plans {} {} {}", ATTNPROBE_TEST_LOG_WRITER, cudnn_path(),
                                          programs.path("out.jsonl"), config);
  const Run run = run_attnprobe(traced("--format json --report " + report, program));
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json found = Json::parse(read_text(report));
  REQUIRE(found["processes"].size() == 1);
  const auto& libraries = found["processes"][0]["libraries"];
  CHECK(std::any_of(libraries.begin(), libraries.end(), [](const Json& library) {
    return library["path"].get<std::string>().find("libcudnn.so.9") != std::string::npos;
  }));
  REQUIRE(found["graphs"].size() == 2);
  CHECK(found["graphs"][0]["verdict"] == "works");
  CHECK(found["graphs"][0]["config"]["head_dim_qk"] == 64);
  CHECK(found["graphs"][1]["verdict"] == "refused");
  CHECK(found["graphs"][1]["root_cause"]["category"] == "head_dim");
  CHECK(found["notes"].empty());
}

TEST_CASE("trace: ends with the bill of the executed plans, for the log's GPU and cuDNN", "[trace][slow]") {
  Programs programs;
  const std::string report = programs.path("report.json"), config = programs.path("c.json");
  std::ofstream(config) << R"({"heads": 8, "head_dim": 64, "dtype": "bf16", "seqlen_q": 1, "seqlen_kv": "100:105"})";
  const std::string program = fmt::format("{} --target a100 --plans {} {} {}", ATTNPROBE_TEST_LOG_WRITER, cudnn_path(),
                                          programs.path("out.jsonl"), config);
  const Run run = run_attnprobe(traced("--format json --report " + report, program));
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const Json plans = Json::parse(read_text(report))["plans"];
  CHECK(plans["seconds"] > 0.1);
  if (plans["bill"].is_null()) {  // a busy machine
    CHECK_THAT(plans["no_bill"].get<std::string>(), ContainsSubstring("it takes more than 20 s"));
    return;
  }
  CHECK(plans["bill"]["bill"]["plans"] == 6);
  CHECK(plans["bill"]["target"] == "a100");
  CHECK(plans["bill"]["bill"]["compiled"] == 6);
  CHECK(plans["bill"]["bucketed"][0]["bill"]["plans"] == 1);
  // `plans` gives the same result for the report.
  const Run asked = run_attnprobe("plans -t a100 -f json --cudnn " + cudnn_path() + " " + report);
  REQUIRE(asked.exit_code == 0);
  CHECK(asked.json()["results"][0]["bill"]["kernels"] == plans["bill"]["bill"]["kernels"]);
  CHECK(asked.json()["results"][0]["built"]["plans"] == plans["built"]);
}

TEST_CASE("trace: shows only some of very many graphs, but writes all configs", "[trace][slow]") {
  Programs programs;
  std::string lengths;
  for (int length = 8; length <= 8 * 130; length += 8) lengths += (lengths.empty() ? "" : ",") + std::to_string(length);
  const std::string config = programs.path("c.json"), configs = programs.path("configs.json");
  std::ofstream(config) << R"({"heads": 8, "head_dim": 64, "mask": "causal", "seqlen": [)" << lengths << "]}";
  const Run run =
      run_attnprobe(traced("-o " + configs, fmt::format("{} --no-heuristics {} {} {}", ATTNPROBE_TEST_LOG_WRITER,
                                                        cudnn_path(), programs.path("out.jsonl"), config)));
  CHECK_THAT(run.err, ContainsSubstring("130 distinct attention graphs reached cuDNN, 0 refused"));
  CHECK_THAT(run.err, ContainsSubstring("and 30 more that work; --format json has all"));
  CHECK(Json::parse(read_text(configs))["configs"].size() == 130);
}

TEST_CASE("trace: a program interrupted with its group ends by that signal and is reported", "[trace]") {
  Programs programs;
  const std::string script = programs.script(
      "p.sh", programs.log("pytorch-train-gqa-bf16") + "\ntouch " + programs.path("ready") + "\nsleep 20\n");
  // A shell without job control makes background jobs ignore SIGINT; setsid makes a separate group with its leader's
  // number.
  const Run run = shell(fmt::format(
      "env --default-signal=INT setsid {} trace -- {} & until test -e {}; do sleep 0.05; done; sleep 0.3; kill -INT -$!; wait $!; echo $?",
      program(), script, programs.path("ready")));
  CHECK(run.out == "130\n");
  CHECK_THAT(run.err, ContainsSubstring("signal 2 (SIGINT, Interrupt)"));
  CHECK_THAT(run.err, ContainsSubstring("2 distinct attention graphs reached cuDNN"));
}

TEST_CASE("trace: a signal to the trace or its group reaches the program once", "[trace]") {
  Programs programs;
  const std::string counter = programs.script("count.sh", "trap 'echo term' TERM\ntouch " + programs.path("ready") +
                                                              "\nfor i in 1 2 3 4 5 6 7 8; do sleep 0.2; done\n");
  for (const char* whom : {"$!", "-$!"}) {
    std::filesystem::remove(programs.path("ready"));
    const Run run = shell(
        fmt::format("setsid {} trace -- {} & until test -e {}; do sleep 0.05; done; kill -TERM {}; wait $!; echo $?",
                    program(), counter, programs.path("ready"), whom));
    INFO(whom << "\n" << run.err);
    CHECK(run.out == "term\n0\n");
  }
}

TEST_CASE("trace: an endless log stays bounded on disk and leaves no files", "[trace]") {
  Programs programs;
  const std::string once = programs.log("pytorch-train-gqa-bf16");
  // 20 times 4 MB, in one file that stays open.
  const std::string script = programs.script(
      "p.sh",
      fmt::format("exec 9> \"$(printf %s \"$CUDNN_LOGDEST_DBG\" | sed s/%i/$$/)\"\n"
                  "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat {} >&9; sleep 0.15; done\n"
                  "folder=$(dirname \"$CUDNN_LOGDEST_DBG\")\n"
                  "for i in $(seq 200); do test $(du -k $folder | cut -f 1) -lt 40000 && break; sleep 0.1; done\n"
                  "du -k $folder | cut -f 1\necho $folder",
                  programs.path("pytorch-train-gqa-bf16")));
  const std::string report = programs.path("report.json");
  const Run run = run_attnprobe(traced("--format json --report " + report, script));
  REQUIRE(run.exit_code == 0);
  const size_t end = run.out.find('\n');
  CHECK(std::stoi(run.out) < 40'000);  // of 85,000
  CHECK(!std::filesystem::exists(run.out.substr(end + 1, run.out.size() - end - 2)));
  const Json found = Json::parse(read_text(report));
  CHECK(found["logs"]["bytes_read"] > 80'000'000);
  CHECK(found["logs"]["bytes_not_read"] == 0);
  REQUIRE(found["graphs"].size() == 2);
  CHECK(found["graphs"][0]["executions"] == 20);
}

TEST_CASE("trace: a surviving process keeps the folder, because cuDNN crashes if it cannot open its log", "[trace]") {
  Programs programs;
  const std::string script = programs.script(
      "p.sh", fmt::format("(sleep 1; test -d \"$(dirname \"$CUDNN_LOGDEST_DBG\")\" && touch {}) > /dev/null 2>&1 &\n"
                          "printf %s \"$(dirname \"$CUDNN_LOGDEST_DBG\")\"",
                          programs.path("there")));
  const Run run = run_attnprobe(traced("", script));
  const auto wait_for = [](const auto& condition) {
    for (int tenths = 0; tenths < 150 && !condition(); ++tenths) usleep(100'000);
    return condition();
  };
  REQUIRE_THAT(run.out, ContainsSubstring("attnprobe-trace-"));
  CHECK(std::filesystem::exists(run.out));
  CHECK(wait_for([&] { return std::filesystem::exists(programs.path("there")); }));
  CHECK(wait_for([&] { return !std::filesystem::exists(run.out); }));  // by the guard
}

TEST_CASE("trace: the program outlives a killed trace, and the folder is removed later", "[trace]") {
  Programs programs;
  const std::string script = programs.script(
      "p.sh", fmt::format("dirname \"$CUDNN_LOGDEST_DBG\" > {0}.tmp; mv {0}.tmp {0}; sleep 1; echo went on",
                          programs.path("ready")));
  const Run run = shell(fmt::format(
      "{0} trace -- {1} & until test -e {2}; do sleep 0.05; done; kill -KILL $!; wait $!; echo $?; "
      "for i in $(seq 150); do test -e $(cat {2}) || break; sleep 0.1; done; test -e $(cat {2}) || echo gone",
      program(), script, programs.path("ready")));
  CHECK(run.out == "137\nwent on\ngone\n");
}

TEST_CASE("trace: keeps the user's variables and reports the missing information", "[trace]") {
  Programs programs;
  const std::string own = programs.path("own.log");
  const Run run = run_attnprobe(traced("", "sh -c 'echo $CUDNN_LOGDEST_DBG'"), {{"CUDNN_LOGDEST_DBG", own}});
  CHECK(run.out == own + "\n");
  CHECK_THAT(run.err, ContainsSubstring(fmt::format("CUDNN_LOGDEST_DBG={} is already set and stays", own)));
}

TEST_CASE("trace: reads standard error if requested, and forwards it unchanged", "[trace]") {
  Programs programs;
  const std::string script = programs.script(
      "p.sh",
      "echo before >&2\n"
      "echo NVTE_DEBUG=$NVTE_DEBUG\n"
      "echo '[DEBUG    | DotProductAttention]: Disabling FusedAttention as it does not support softcap' >&2\n"
      "printf 'no end of line' >&2\n");
  const std::string report = programs.path("report.json");
  const Run run = run_attnprobe(traced("--stderr --format json --report " + report, script));
  CHECK(run.exit_code == 0);
  CHECK(run.out == "NVTE_DEBUG=1\n");
  CHECK(run.err == "before\nno end of line");
  const Json found = Json::parse(read_text(report));
  REQUIRE(!found["stderr"]["refusals"].empty());
  CHECK(found["stderr"]["refusals"][0]["who"] == "Transformer Engine");
  CHECK_THAT(found["stderr"]["refusals"][0]["line"].get<std::string>(), ContainsSubstring("does not support softcap"));
  // Without the option, only the program writes to standard error.
  CHECK(run_attnprobe(traced("--report " + report, script)).err.find("softcap") != std::string::npos);
}

TEST_CASE("trace: reports refusals from cudnn-frontend's log, with the attention", "[trace]") {
  Programs programs;
  const std::string log = (source_dir() / "tests/fixtures/logs/cudnn-frontend-1.23-validate.log").string();
  // Two processes that use the same file name.
  const std::string script =
      programs.script("p.sh", fmt::format("sh -c 'cat {0} > \"$CUDNN_FRONTEND_LOG_FILE\"; sleep 0.3'\n"
                                          "sh -c 'cat {0} > \"$CUDNN_FRONTEND_LOG_FILE\"; sleep 0.3'\n",
                                          log));
  const std::string configs = programs.path("c.json");
  const Run run = run_attnprobe(traced("-o " + configs, script));
  CHECK_THAT(run.err, ContainsSubstring(
                          "0 distinct attention graphs reached cuDNN, 0 refused; 1 refused by cudnn-frontend before"));
  CHECK_THAT(run.err, ContainsSubstring("- sdpa_unified fprop b2 h8 s128 d20 f16 bhsd, 2 times\n"
                                        "    [cudnn_frontend] ERROR: hidden_dim should be multiple of 8."));
  CHECK_THAT(run.err, !ContainsSubstring("d64"));  // the logged one
  CHECK_THAT(run.err, !ContainsSubstring("cudnn-frontend's log says"));
  const Run asked = run_attnprobe(fmt::format("--config {} --target h200 --quick --format json", configs));
  REQUIRE(asked.exit_code == 1);
  CHECK(asked.json()["results"][0]["config"]["head_dim_qk"] == 20);
}

TEST_CASE("trace: an error in cudnn-frontend's log outside its own checks names no attention", "[trace]") {
  Programs programs;
  const std::string script = programs.script(
      "p.sh",
      "echo '[cudnn_frontend] ERROR: cuda_get_device(&device) failed with CUDA driver version is insufficient for CUDA "
      "runtime version at context.h:116' > \"$CUDNN_FRONTEND_LOG_FILE\"\nsleep 0.3\n");
  const Run run = run_attnprobe(traced("", script));
  CHECK_THAT(run.err, ContainsSubstring("cudnn-frontend's log says"));
  CHECK_THAT(run.err, ContainsSubstring("The NVIDIA driver is missing or older than the CUDA runtime."));
  CHECK_THAT(run.err, !ContainsSubstring("refused by cudnn-frontend"));
}

TEST_CASE("trace: keeps logs in the requested folder", "[trace]") {
  Programs programs;
  const std::string script = programs.script("p.sh", programs.log("pytorch-train-gqa-bf16"));
  const std::string kept = programs.path("kept");
  REQUIRE(run_attnprobe(traced("--keep-logs " + kept, script)).exit_code == 0);
  int logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kept))
    logs += entry.file_size() > 4'000'000 && entry.path().extension() == ".log" ? 1 : 0;
  CHECK(logs == 1);
}

}  // namespace attnprobe::test::trace_test
