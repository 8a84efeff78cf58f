// The program as a user runs it: output forms, exit codes, messages.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/text.hpp"
#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::cli_test {

namespace {

const std::string problem = "--heads 8 --seqlen 128 --head-dim 64";

const std::vector<std::string>& commands() {
  static const std::vector<std::string> all{
      "probe",        "matrix",     "limits",   "suggest",     "explain",      "replay",      "trace",
      "bugs",         "tune",       "plans",    "doctor",      "targets",      "cudnn",       "serve",
      "schema",       "completion", "dev",      "matrix diff", "matrix merge", "matrix site", "dev audit",
      "dev selftest", "dev reduce", "dev hunt", "dev cache",   "cudnn fetch"};
  return all;
}

// The examples of a help screen, without shell syntax, and with --help for the command that they run.
std::vector<std::string> examples_with_help(const std::string& help) {
  std::vector<std::string> examples;
  const std::string_view begin = "\nexamples\n";
  if (help.find(begin) == std::string::npos) return examples;
  for (auto& line : split(help.substr(help.find(begin) + begin.size()), '\n')) {
    if (!line.starts_with("  attnprobe")) break;
    std::string words = line.substr(std::string_view("  attnprobe").size());
    words.resize(std::min(words.find_first_of("|>"), words.size()));
    words.insert(std::min(words.find(" -- "), words.size()), " --help ");
    examples.push_back(std::move(words));
  }
  return examples;
}

}  // namespace

TEST_CASE("exit code 0: every result is as expected", "[cli]") {
  CHECK(run_attnprobe("--config configs/two-matmul-forum.json --target l40s,a100").exit_code == 0);
}

TEST_CASE("exit code 1: one result is not as expected", "[cli]") {
  CHECK(run_attnprobe(problem + " --target t4").exit_code == 1);
  CHECK(run_attnprobe(problem + " --target t4 --expect unsupported").exit_code == 0);
  CHECK(run_attnprobe(problem + " --target a100 --expect unsupported").exit_code == 1);
}

TEST_CASE("the option --cudnn accepts a version, even of a library without one in its name", "[cli]") {
  const Run run = run_attnprobe(problem + " --target a100 --quick --format json --cudnn 9.19.0");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.json()["results"][0]["cudnn"]["version"] == "9.19.0");
  const Run none = run_attnprobe(problem + " --target a100 --cudnn 9.99");
  CHECK(none.exit_code == 3);
  CHECK_THAT(none.err, ContainsSubstring("--cudnn 9.99: no cuDNN of that version is installed (there are "));
}

TEST_CASE("The option --cudnn latest is the newest installed one, and cudnn list describes each", "[cli]") {
  const Run latest =
      run_attnprobe("--heads 2 --seqlen 64 --head-dim 64 --target h100 --quick --format json --cudnn latest");
  CHECK(latest.exit_code == 0);
  const std::string version = latest.json()["results"][0]["cudnn"]["version"];
  CHECK(CudnnVersion::parse(version).value() >= CudnnVersion{91900});
  const Run list = run_attnprobe("cudnn list");
  CHECK(list.exit_code == 0);
  // Version, kind and size precede every path.
  std::istringstream lines(list.out);
  size_t rows = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.find("libcudnn.so.9") != std::string::npos) {
      ++rows;
      CHECK_THAT(line, Catch::Matchers::Matches(R"(9\.\d+\.\d+(\.\d+)? +(1[23])? +(full|small) +\d+ MB +/.*)"));
    }
  CHECK(rows > 0);
}

TEST_CASE("The caller's open files and a small stack do not stop the worker", "[cli]") {
  const std::string question = program() + " --heads 2 --seqlen 64 --head-dim 64 --target h100 --quick";
  for (const char* before : {"for i in {10..509}; do eval \"exec $i</dev/null\"; done; ", "ulimit -s 256; "}) {
    INFO(before);
    const Run run = shell("bash -c '" + std::string(before) + question + "'");
    INFO(run.out << run.err);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, ContainsSubstring("1 yes"));
  }
}

TEST_CASE("a seed is an integer", "[cli]") {
  const Run seed = run_attnprobe("--heads 2 --seqlen 64 --head-dim 64 --seed -1");
  CHECK(seed.exit_code == 2);
  CHECK_THAT(seed.err, ContainsSubstring("\"-1\" is not a seed; allowed: 0 to 18446744073709551615"));
}

TEST_CASE("a time limit that ends before cuDNN is loaded is not blamed on the driver", "[cli]") {
  const Run run =
      run_attnprobe("--heads 2 --seqlen 64 --head-dim 72 --target h100 --quick --timeout 0.001 --format json");
  CHECK(run.exit_code == 3);
  CHECK_THAT(run.json()["results"][0]["root_cause"]["explanation"].get<std::string>(),
             StartsWith("The time limit ended while the worker process loaded cuDNN"));
}

TEST_CASE("without an expectation, nothing is marked as expected", "[cli]") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& expect) {
    return folder
        .file("c.json",
              R"([{"name": "a", "heads": 2, "seqlen": 64, "head_dim": 64}, {"name": "b", "heads": 2, "seqlen": 64,
                           "head_dim": 60)" +
                  expect + "}]")
        .string();
  };
  const std::string ask = " --target h100 --quick --format ";
  const Run plain = run_attnprobe("--config " + file("") + ask + "md");
  CHECK(plain.exit_code == 1);
  CHECK_THAT(plain.out, StartsWith("## attnprobe: 2 cells: 1 yes, 1 no\n") &&
                            ContainsSubstring("\n### Does not work (1)\n") && !ContainsSubstring("expected") &&
                            !ContainsSubstring("``"));
  CHECK_THAT(run_attnprobe("--config " + file("") + ask + "junit").out,
             ContainsSubstring("message=\"no: ") && !ContainsSubstring("expected"));
  const Run missed = run_attnprobe("--config " + file(R"(, "expect": "yes")") + ask + "md");
  CHECK_THAT(missed.out, ContainsSubstring("; 1 not as expected\n") && ContainsSubstring("### Not as expected (1)") &&
                             ContainsSubstring("no, expected yes"));
}

TEST_CASE("The option --causal is added to the file's window", "[cli]") {
  const TemporaryFolder folder;
  const std::string file =
      folder
          .file("w.json", R"({"heads": 2, "seqlen": 64, "head_dim": 64, "mask": {"causal": true, "window_left": 15}})")
          .string();
  const Run causal = run_attnprobe("--config " + file + " --causal --target h100 --quick --format json");
  CHECK(causal.json()["results"][0]["config"]["mask"]["window_left"] == 15);
  const Run word = run_attnprobe("--config " + file + " --mask padding --target h100 --quick");
  CHECK(word.exit_code == 2);
  CHECK_THAT(word.err, ContainsSubstring("--mask: \"padding\" would drop {\"window_left\":15}"));
}

TEST_CASE("exit code 2: the error names the bad option or field", "[cli]") {
  const std::pair<const char*, const char*> cases[] = {
      {"--config /nowhere.json", "/nowhere.json: cannot be opened: No such file or directory"},
      {"--config app", "app: the folder contains no .json file"},
      {"--heads 8", "--seqlen"},
      {"--heads eight --seqlen 1 --head-dim 8", "--heads: \"eight\" is not an integer from 1 to"},
      {"--heads 8 --seqlen 128 --head-dim 64 --dtype f17",
       "--dtype: \"f17\" is not a known value; allowed: \"f16\", \"bf16\", \"f32\", \"fp8_e4m3\", \"fp8_e5m2\" (did "
       "you mean \"f16\"?)"},
      {"--heads 8 --seqlen 128 --head-dim 64 --target l40ss", "(did you mean \"l40s\"?)"},
      {"--heads 8 --seqlen 128 --head-dim 64 --mode C", "--mode: \"C\" is not a heuristic mode"},
      {"--heads 8 --seqlen 128 --head-dim 64 --target h200 -o /nowhere/r.json", "/nowhere/r.json: cannot be written"},
      {"--heads 8 --seqlen 128 --head-dim 64 --report xml=r.xml", "allowed formats"},
      {"probe", "nothing to probe"},
      {"--no-such-option", "--no-such-option is not an option of attnprobe probe; see attnprobe probe --help"},
      {"--heds 8", "--heds is not an option of attnprobe probe (did you mean \"--heads\"?)"},
      {"matrix configs/bert.json --targets h200 --out x",
       "--targets is not an option of attnprobe matrix (did you mean \"--target\"?)"},
      {"--head-dim 96", "\"heads\", \"seqlen\" are missing; for example 8 heads, seqlen 1024, head_dim 64"},
      {"frobnicate", "frobnicate"}};
  for (const auto& [arguments, message] : cases) {
    const Run run = run_attnprobe(arguments);
    INFO(arguments << "\n" << run.err << run.out);
    CHECK(run.exit_code == 2);
    CHECK(contains(run.err + run.out, message));
  }
}

TEST_CASE("common spellings of values are accepted", "[cli]") {
  const Run typed = run_attnprobe(
      "--heads 8 --seqlen 128 --head-dim 64 --dtype bfloat16 --pass Backward --causal --target \"RTX 4090\" --quick --format json");
  const Run named = run_attnprobe(
      "--heads 8 --seqlen 128 --head-dim 64 --dtype bf16 --pass bprop --mask causal --target rtx4090 --quick --format json");
  CHECK(typed.exit_code == 0);
  CHECK(typed.json()["results"][0]["graph"] == named.json()["results"][0]["graph"]);
  CHECK(typed.json()["results"][0]["target"] == named.json()["results"][0]["target"]);
}

TEST_CASE("files need no option, and -t, -f and -j are --target, --format and --jobs", "[cli]") {
  const TemporaryFolder folder;
  const std::string one = folder.file("one.json", R"({"name": "one", "heads": 8, "seqlen": 128, "head_dim": 64})"),
                    two = folder.file("two.json", R"({"name": "two", "heads": 8, "seqlen": 128, "head_dim": 100})");
  const Run run = run_attnprobe(one + " " + two + " -t h100 -f csv -j 1 --quick");
  INFO(run.out << run.err);
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.out, ContainsSubstring("\none,") && ContainsSubstring("\ntwo,"));
  CHECK(run_attnprobe("probe --quick -t h100 " + one).out.starts_with("one\nyes: engine "));
  // A folder with a command's name does not hide the command.
  std::filesystem::create_directory(folder.path() / "schema");
  CHECK_THAT(shell("cd " + folder.path().string() + " && " + program() + " schema config").out,
             ContainsSubstring("json-schema.org"));
  CHECK_THAT(run_attnprobe("nowhere.json").err, ContainsSubstring("nowhere.json: cannot be opened"));
}

TEST_CASE("targets and cudnn list by default, explain reads a pipe, and all errors have one form", "[cli]") {
  CHECK(run_attnprobe("targets").out == run_attnprobe("targets list").out);
  CHECK(run_attnprobe("cudnn").out == run_attnprobe("cudnn list").out);
  const std::string text =
      "RuntimeError: cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.";
  const Run piped = shell("echo '" + text + "' | " + program() + " explain");
  CHECK(piped.out == shell("echo '" + text + "' | " + program() + " explain -").out);
  CHECK_FALSE(piped.out.empty());
  CHECK(run_attnprobe("schema").err == "attnprobe: error: A subcommand is required; see attnprobe schema --help\n");
  CHECK(run_attnprobe("--target").err ==
        "attnprobe: error: --target: 1 required TEXT missing; see attnprobe probe --help\n");
}

TEST_CASE("an expectation of an unknown GPU is refused, not ignored", "[cli]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& expect) {
    const auto file =
        folder.file("c.json", R"({"name": "mine", "heads": 8, "seqlen": 128, "head_dim": 64, "expect": {")" + expect +
                                  R"(": "yes"}})");
    const Run run = run_attnprobe("--config " + file.string() + " --target h200 --quick");
    CHECK(run.exit_code == 2);
    return run.err;
  };
  CHECK_THAT(refusal("l40ss"),
             ContainsSubstring("config \"mine\": \"expect\": \"l40ss\" is not a target (did you mean \"l40s\"?)"));
  CHECK_THAT(refusal("l40s@new"), ContainsSubstring("the part after @ is not a cuDNN version"));
  const auto file = folder.file(
      "d.json", R"({"heads": 8, "seqlen": 128, "head_dim": 64, "expect": {"h200@9.8": "no", "default@9": "yes"}})");
  CHECK(run_attnprobe("--config " + file.string() + " --target h200 --quick").exit_code == 0);
}

TEST_CASE("exit code 4: a probe crashed or timed out, and the rest is reported", "[cli]") {
  const Run run =
      run_attnprobe(problem + " --target h200,l40s --format json", {{"ATTNPROBE_TEST_FAULT", "segfault@mode A"}});
  CHECK(run.exit_code == 4);
  CHECK(run.json()["results"].size() == 2);
  CHECK(run.json()["results"][0]["verdict"] == "crashed");
  CHECK(contains(run.json()["results"][0]["crash"]["how"], "SIGSEGV"));
}

TEST_CASE("reports validate against the schema, for any verdict", "[cli]") {
  const TemporaryFolder folder;
  const std::string schema = folder.path() / "schema.json", report = folder.path() / "report.json";
  REQUIRE(shell(program() + " schema report > " + schema).exit_code == 0);
  const std::pair<std::string, Environment> cases[] = {
      {"--config configs/bert.json --target h200,t4", {}},
      {"--config configs/two-matmul-forum.json --target l40s --engines knobs --raw-log", {}},
      {"--config configs/two-matmul-forum.json --target a100 --plans build --mode A", {}},
      {"--heads-q 8 --heads-kv 3 --seqlen 128 --head-dim 64 --target h200", {}},
      {problem + " --target h200", {{"ATTNPROBE_TEST_FAULT", "abort@mode FALLBACK"}}},
      {problem + " --target h200", {{"ATTNPROBE_NULL_DRIVER", "/nowhere"}}}};
  for (const auto& [arguments, environment] : cases) {
    const Run run = run_attnprobe(arguments + " --format json -o " + report, environment);
    INFO(arguments << run.err);
    CHECK(run.out.empty());
    const Run valid = validate(schema, report);
    INFO(valid.err);
    CHECK(valid.exit_code == 0);
  }
}

TEST_CASE("the schema refuses a report that lacks its verdict", "[cli]") {
  const TemporaryFolder folder;
  const std::string schema = folder.path() / "schema.json", report = folder.path() / "report.json";
  REQUIRE(shell(program() + " schema report > " + schema).exit_code == 0);
  Json json = run_attnprobe(problem + " --target h200 --format json").json();
  json["results"][0].erase("verdict");
  std::ofstream(report) << json;
  CHECK(validate(schema, report).exit_code != 0);
}

TEST_CASE("the report has the question, the answer and the command that repeats it", "[cli]") {
  const Json report = run_attnprobe("--config configs/two-matmul-forum.json --target l40s --format json").json();
  CHECK(report["schema"] == "attnprobe/report/1");
  CHECK(report["results"].size() == 1);
  const Json& result = report["results"][0];
  CHECK(result["target"]["kind"] == "simulated");
  CHECK(result["expect"] == "unsupported");
  CHECK(result["met"] == true);
  CHECK(result["modes"][0]["mode"] == "A");
  CHECK(result["modes"][0]["candidates"] == 1);
  CHECK(result["modes"][0]["viable"] == 0);
  CHECK(result["modes"][2]["candidates"] == 8);
  CHECK(result["modes"][2]["viable"] == 0);
  int mismatches = 0;
  for (const Json& config : result["engine_configs"])
    for (const Json& reason : config["reasons"])
      mismatches += reason["status"] == "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH" ? 1 : 0;
  CHECK(mismatches >= 5);
  // The printed command gives the same answer.
  const std::string command = result["reproduce"].get<std::string>().substr(std::string("attnprobe ").size());
  const Json again = run_attnprobe(command + " --format json").json()["results"][0];
  CHECK(again["graph"]["hash"] == result["graph"]["hash"]);
  CHECK(again["engine_configs"] == result["engine_configs"]);
}

TEST_CASE("JSON lines: one result per line", "[cli]") {
  const Run run = run_attnprobe("--config configs/bert.json --target h200,l40s --format jsonl");
  size_t lines = 0, begin = 0;
  for (size_t end; (end = run.out.find('\n', begin)) != std::string::npos; begin = end + 1, ++lines)
    CHECK(Json::parse(run.out.substr(begin, end - begin)).contains("verdict"));
  CHECK(lines == 8);
}

TEST_CASE("several reports at once: a bad path stops the run before it starts and leaves no files", "[cli]") {
  const TemporaryFolder folder;
  const std::string good = folder.path() / "good.json";
  CHECK(run_attnprobe(problem + " --target h200 --report json=" + good + " --report jsonl=/nowhere/x").exit_code == 2);
  CHECK(std::filesystem::is_empty(folder.path()));
  const Run run = run_attnprobe(problem + " --target h200 --report json=" + good);
  CHECK(run.exit_code == 0);
  CHECK(run.out.starts_with("yes: engine "));
  CHECK(std::filesystem::exists(good));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // no temporary file remains
}

TEST_CASE("config from standard input, fields overridden by options", "[cli]") {
  const Run run = run_attnprobe("--config - --seqlen 256,512 --target h200 --format jsonl", {},
                                R"({"heads": 4, "seqlen": 64, "head_dim": 64})");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "\"seqlen_q\":256"));
  CHECK(contains(run.out, "\"seqlen_q\":512"));
  CHECK_FALSE(contains(run.out, "\"seqlen_q\":64,"));
}

TEST_CASE("a custom target file, and a broken one", "[cli]") {
  const TemporaryFolder folder;
  const std::string mine = folder.path() / "mine.json";
  Json target = run_attnprobe("targets show l40s").json();
  target["id"] = "my-gpu";
  target["properties"]["maxSharedMemoryPerBlockOptin"] = 232448;
  std::ofstream(mine) << target;
  // With Hopper's shared memory, the forum's graph would run on Ada: only the number decides.
  const Run run = run_attnprobe("--config configs/two-matmul-forum.json --format json --target " + mine);
  CHECK(run.json()["results"][0]["verdict"] == "supported");
  CHECK(run.json()["results"][0]["target"]["id"] == "my-gpu");
  target["properties"].erase("deviceVer");
  std::ofstream(mine) << target;
  const Run broken = run_attnprobe(problem + " --target " + mine);
  CHECK(broken.exit_code == 2);
  CHECK(contains(broken.err, mine + ": /properties: the key \"deviceVer\" is missing"));
}

TEST_CASE("graphs are written as JSON and as dot", "[cli]") {
  const Run json = run_attnprobe("--pattern sdpa_composite --mask causal " + problem + " --dump-graph json");
  CHECK(json.exit_code == 0);
  CHECK(json.json()["operations"].size() == 14);
  CHECK(json.json()["hash"].get<std::string>().size() == 32);
  const Run dot = run_attnprobe("--pattern sdpa_composite --mask causal " + problem + " --dump-graph dot");
  CHECK(dot.exit_code == 0);
  const Run drawn = shell("dot -Tsvg", {}, dot.out);
  CHECK(drawn.exit_code == 0);
  CHECK(drawn.err.empty());
  CHECK(contains(drawn.out, "</svg>"));
  CHECK(contains(drawn.out, "gen_index"));
}

TEST_CASE("the table has no colour codes outside a terminal", "[cli]") {
  CHECK_FALSE(contains(run_attnprobe(problem + " --target h200", {{"TERM", "xterm-256color"}}).out, "\x1b["));
}

TEST_CASE("without arguments, attnprobe shows this machine, one answer and three commands", "[cli]") {
  const Run run = run_attnprobe("");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, StartsWith("attnprobe 0.") && ContainsSubstring("\n  cuDNN  9.") &&
                          ContainsSubstring("llama3-8b-prefill") && ContainsSubstring("\nattnprobe -h  "));
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') <= 24);
}

TEST_CASE("Short help fits one screen, full help is wrapped", "[cli][help]") {
  const auto check_width = [](const std::string& text) {
    for (const auto& line : split(text, '\n')) {
      INFO(line);
      CHECK(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }) <= 80);
    }
  };
  const auto check_screen = [&](const std::string& text) {
    INFO(text);
    CHECK(std::count(text.begin(), text.end(), '\n') <= 24);
    check_width(text);
  };
  const std::string all = run_attnprobe("-h").out;
  check_screen(all);
  CHECK_THAT(all, ContainsSubstring("\nask         probe ") && ContainsSubstring("\nunderstand  explain ") &&
                      ContainsSubstring("\ndevelop     dev "));
  for (const auto& command : commands()) {
    INFO(command);
    const std::string brief = run_attnprobe(command + " -h").out;
    check_screen(brief);
    CHECK_THAT(brief, ContainsSubstring("attnprobe " + command));
    check_width(run_attnprobe(command + " --help").out);
  }
  CHECK(run_attnprobe("help matrix diff").out == run_attnprobe("diff --help").out);
  CHECK_THAT(run_attnprobe("help fields").out, ContainsSubstring("--sliding-window, --window"));
  CHECK(run_attnprobe("version").out == run_attnprobe("--version").out);
  CHECK_THAT(run_attnprobe("help modle").err, ContainsSubstring("\"modle\" is not a command"));
}

TEST_CASE("The examples of a help screen use its command with existing options", "[cli][help]") {
  const std::string fields = run_attnprobe("help fields").out;
  size_t seen = 0;
  for (const auto& command : commands()) {
    const std::string help = run_attnprobe(command + " --help").out;
    for (const auto& example : examples_with_help(help)) {
      INFO(command << ": attnprobe" << example);
      ++seen;
      CHECK_THAT(run_attnprobe(example).out, ContainsSubstring("\nusage: attnprobe " + command));
      for (const auto& word : split(example.substr(0, example.find(" -- ")), ' '))
        if (word.starts_with("--") && word != "--help") CHECK(contains(help + fields, word));
    }
  }
  CHECK(seen > commands().size());
}

TEST_CASE("the version is printed", "[cli]") {
  CHECK(contains(run_attnprobe("--version").out, "attnprobe 0."));
}

TEST_CASE("Ctrl-C while cuDNN is loading gives exit code 130 and no error about cuDNN", "[cli]") {
  for (const char* seconds : {"0.1", "0.3", "0.6"}) {
    const Run run = shell(program() + " selftest --target h100 --configs 5000 & pid=$!; sleep " + seconds +
                          "; kill -INT $pid; wait $pid");
    INFO(seconds << run.err);
    CHECK(run.exit_code == 130);
    CHECK_THAT(run.err, !ContainsSubstring("libcudnn"));
  }
}

TEST_CASE("Ctrl-C leaves a valid report of the finished results and no temporary file", "[cli][slow]") {
  const TemporaryFolder folder;
  const std::string report = folder.path() / "r.json";
  // Enough work for many seconds. The signal is sent when a report exists, even on a busy machine.
  const Run run =
      shell(program() + " " + problem +
            " --batch 1,2,3,4,5,6,7,8 --pattern sdpa_composite,sdpa_unified --engines knobs --target all --report "
            "json=" +
            report + " & pid=$!; for i in $(seq 300); do [ -s " + report +
            " ] && break; sleep 0.2; done; kill -INT $pid; wait $pid");
  CHECK(run.exit_code == 130);
  CHECK(contains(run.err, "stopped: "));
  const Json json = Json::parse(read_text(report));
  CHECK(!json["results"].empty());
  CHECK(json["results"].size() < 8 * 2 * 24);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a boolean field's option without a value means true", "[cli]") {
  const std::string asked = "--heads 8 --seqlen 512 --head-dim 64 --target h200 --format json ";
  for (const char* alibi : {"--alibi", "--alibi true", "--alibi --mask causal"}) {
    INFO(alibi);
    CHECK(run_attnprobe(asked + alibi).json()["results"][0]["config"]["alibi"] == true);
  }
  const Json without = run_attnprobe(asked + "--alibi false").json();
  CHECK_FALSE(without["results"][0]["config"].contains("alibi"));
}

TEST_CASE("the option --quick stops if nothing works", "[cli]") {
  const std::string arguments = "--heads 8 --seqlen 512 --head-dim 68 --target l40s --mode A --format json";
  const Json quick = run_attnprobe(arguments + " --quick").json()["results"][0];
  const Json thorough = run_attnprobe(arguments).json()["results"][0];
  CHECK(quick["verdict"] == "unsupported");
  CHECK(quick["root_cause"]["reason"] == thorough["root_cause"]["reason"]);
  CHECK(quick["root_cause"]["advice"].empty());
  CHECK(quick["engines"].empty());
  CHECK_FALSE(thorough["root_cause"]["advice"].empty());
  CHECK_FALSE(thorough["engines"].empty());
}

}  // namespace attnprobe::test::cli_test
