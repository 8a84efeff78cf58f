// Unwritable standard output, standard error and report files, and signals.
#include <fmt/format.h>

#include "catch.hpp"
#include "support.hpp"

namespace attnprobe::test::output_test {

namespace fs = std::filesystem;

namespace {

const std::string problem = " --heads 8 --seqlen 128 --head-dim 64 --quick --mode A --target h200 ";

// Runs the program with its standard streams redirected by `redirections`; the same shell runs `before` first.
Run run_redirected(const std::string& arguments, const std::string& redirections, const std::string& before = "") {
  return shell(fmt::format("{}\nenv --default-signal=PIPE {} {} {}", before, program(), arguments, redirections));
}

// Descriptor 9 is a pipe without a reader.
const std::string broken_pipe = "d=$(mktemp -d); mkfifo $d/p; exec 8<>$d/p; exec 9>$d/p; exec 8<&-; rm -r $d";

std::vector<std::string> quick_commands() {
  return {"",
          "--help",
          "--version",
          "targets list",
          "targets show l40s",
          "schema config",
          "schema config --format md",
          "schema report",
          "explain tests/fixtures/forum-318288.txt",
          "explain tests/fixtures/forum-318288.txt --format json",
          "replay tests/fixtures/graph-pytorch-decode.json --list",
          "replay tests/fixtures/graph-pytorch-decode.json --to-config",
          "replay tests/fixtures/graph-pytorch-decode.json --dump-graph dot",
          "diff tests/fixtures/report.json tests/fixtures/report.json"};
}

// Files in the program's own folder.
size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("A failed write to standard output is an error in every command", "[output]") {
  const TemporaryFolder folder;
  const std::string report = folder.path() / "r.json", cache = folder.path() / "c";
  REQUIRE(run_attnprobe(problem + "--format json -o " + report).exit_code == 0);
  auto commands = quick_commands();
  commands.back() = fmt::format("diff {0} {0}", report);
  commands.push_back("cache stats --cache " + cache);
  commands.push_back(problem);
  commands.push_back(problem + "--format json");
  for (const auto& command : commands) {
    INFO(command);
    const Run full = run_redirected(command, ">/dev/full");
    CHECK(full.exit_code == 3);
    CHECK_THAT(full.err, EndsWith("attnprobe: error: standard output: cannot be written: No space left on device\n"));
  }
  for (const char* command : {"targets list", "schema report"}) {
    const Run closed = run_redirected(command, ">&-");
    CHECK(closed.exit_code == 3);
    CHECK(closed.err == "attnprobe: error: standard output: cannot be written: it is closed\n");
  }
  CHECK(run_redirected("explain tests/fixtures/forum-318288.txt -o " + report, ">&-").exit_code == 0);
}

TEST_CASE("Output of doctor and a matrix is not lost silently", "[output][slow]") {
  const TemporaryFolder folder;
  const std::string matrix =
      "matrix configs/sdpa-notebook.json --target h200 --no-cache --out " + folder.path().string();
  for (const std::string& command : {std::string("doctor"), matrix}) {
    INFO(command);
    const Run full = run_redirected(command, ">/dev/full");
    CHECK(full.exit_code == 3);
    CHECK_THAT(full.err, ContainsSubstring("standard output: cannot be written: No space left on device"));
  }
}

TEST_CASE("A reader that closes the pipe ends the program by SIGPIPE, or by an error if that is ignored", "[output]") {
  for (const char* command : {"schema report", "targets list"}) {
    const Run run = run_redirected(command, ">&9", broken_pipe);
    CHECK(run.exit_code == 141);
    CHECK(run.err.empty());
    const Run ignored = shell(fmt::format("{}; trap '' PIPE; {} {} >&9", broken_pipe, program(), command));
    CHECK(ignored.exit_code == 3);
    CHECK(ignored.err == "attnprobe: error: standard output: cannot be written: Broken pipe\n");
  }
}

TEST_CASE("A closed standard error changes no verdict", "[output]") {
  const TemporaryFolder folder;
  // A resumed matrix reports the number of existing cells; the second probe reports why it is refused.
  const std::string matrix =
      "matrix configs/sdpa-notebook.json --target h200 --mode A --no-cache --resume --out " + folder.path().string();
  REQUIRE(run_attnprobe(matrix).exit_code == 0);
  for (const char* streams : {"2>/dev/full", "2>&-", "2>&9"}) {
    INFO(streams);
    const Run run = run_redirected(matrix, streams, broken_pipe);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, ContainsSubstring("1 cell: 1 yes"));
    CHECK(run_redirected("--config /nowhere", streams, broken_pipe).exit_code == 2);
  }
}

TEST_CASE("Two reports in one file, or one that would replace an input, are refused at once", "[output]") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const std::string config = folder.file("c.json", R"({"heads": 8, "seqlen": 128, "head_dim": 64})");
  fs::create_symlink("c.json", folder.path() / "link.json");
  fs::create_hard_link(config, folder.path() / "hard.json");
  fs::create_symlink("new.json", folder.path() / "dangling");
  const std::string before = read_text(config), asked = "--target h200 --config " + config + " ";
  const std::pair<std::string, std::string> cases[] = {
      {"-o {0}/r --report csv={0}/r",
       "--report csv={0}/r: the same file as --output {0}/r; each output needs its own file"},
      {"-o {0}/r --report csv={0}/../$(basename {0})/./r", "the same file as"},
      {"-o {0}/dangling --report csv={0}/new.json", "the same file as"},
      {"--report csv={0}/r --report json={0}/r", "--report json={0}/r: the same file as --report csv={0}/r"},
      {"--errata {0}/r -o {0}/r", "--errata {0}/r: the same file as --output {0}/r"},
      {"-o {0}/c.json", "--output {0}/c.json: this file is the input --config {0}/c.json; name another output file"},
      {"-o {0}/link.json", "this file is the input --config"},
      {"--report json={0}/hard.json", "this file is the input --config"},
      {"--dump-graph json -o {0}/c.json", "this file is the input --config"}};
  for (const auto& [arguments, message] : cases) {
    const Run run = run_attnprobe(asked + fmt::format(fmt::runtime(arguments), path));
    INFO(arguments << run.err);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, ContainsSubstring(fmt::format(fmt::runtime(message), path)));
    CHECK(read_text(config) == before);
    CHECK(files_in(folder.path()) == 4);
  }
  const auto refused = [&](const std::string& arguments) {
    const Run run = run_attnprobe(arguments);
    INFO(arguments << run.err);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, ContainsSubstring("this file is the input "));
    CHECK(read_text(config) == before);
  };
  refused(fmt::format("explain {0} -o {0}", config));
  refused(fmt::format("replay {0} --list -o {0}", config));
  refused(fmt::format("diff {0} README.md -o {0}", config));
  refused(fmt::format("--te {0} -o {0}", config));
  refused(fmt::format("--target {0} -o {0} {1}", config, "--heads 8 --seqlen 128 --head-dim 64"));
  refused(fmt::format("--config - --target h200 -o {0} <{0}", config));
  // Devices may be written, because they are not a user's file.
  CHECK(run_attnprobe(problem + "-o /dev/null --report csv=/dev/null").exit_code == 0);
}

TEST_CASE("Reports go once to standard output or a device, never to a named pipe", "[output]") {
  const TemporaryFolder folder;
  const std::string pipe = folder.path() / "pipe";
  CHECK(run_attnprobe(problem + "--format json -o /dev/stdout").json()["results"].size() == 1);
  CHECK(Json::parse(shell(fmt::format("{} {} --format json -o /dev/stdout | cat", program(), problem)).out)
            .contains("results"));
  const Run run = shell(fmt::format("mkfifo {0}; timeout 5 {1} {2} -o {0}", pipe, program(), problem));
  CHECK(run.exit_code == 2);
  CHECK(run.err == "attnprobe: error: " + pipe +
                       ": cannot be written: it is a named pipe; allowed: a regular file, /dev/stdout, /dev/null\n");
}

TEST_CASE("If a report cannot be written, the others are still written", "[output]") {
  const TemporaryFolder folder;
  const std::string csv = folder.path() / "r.csv";
  const Run run = run_attnprobe(problem + "--report json=/dev/full --report csv=" + csv);
  CHECK(run.exit_code == 3);
  CHECK(run.err == "attnprobe: error: /dev/full: cannot be written: No space left on device\n");
  CHECK_THAT(run.out, ContainsSubstring("yes: engine "));
  CHECK_THAT(read_text(csv), ContainsSubstring("h200"));
}

TEST_CASE("If a folder is removed during the run, only its report is lost, and the error names it", "[output][slow]") {
  const TemporaryFolder folder;
  // Two workers hang until their timeout; the reports are rewritten after the first.
  const Run run = shell(
      fmt::format("mkdir {0}/gone; {1} {2} --target h200,a100 --jobs 1 --timeout 1.5 --report json={0}/gone/r.json "
                  "--report csv={0}/r.csv & pid=$!; sleep 0.7; rm -r {0}/gone; wait $pid",
                  folder.path().string(), program(), "--heads 8 --seqlen 128 --head-dim 64 --quick --mode A"),
      {{"ATTNPROBE_TEST_FAULT", "hang@mode A"}});
  INFO(run.err);
  CHECK(run.exit_code == 3);
  const std::string error = (folder.path() / "gone/r.json").string() + ": cannot be written: No such file or directory";
  CHECK_THAT(run.err, ContainsSubstring("attnprobe: warning: " + error + "; attnprobe tries again at the end\n"));
  CHECK_THAT(run.err, ContainsSubstring("attnprobe: error: " + error + "\n"));
  CHECK_THAT(run.out, ContainsSubstring("the worker process hung") && ContainsSubstring("\n2 no."));
  CHECK_THAT(read_text(folder.path() / "r.csv"), ContainsSubstring("a100"));
}

TEST_CASE("After a signal, a run with a hanging worker ends soon and keeps its partial reports", "[output][slow]") {
  for (const char* signal : {"TERM", "INT"}) {
    const TemporaryFolder folder;
    // The T4 does not support it; the attempted changes then hang.
    const Run run =
        shell(fmt::format(
                  "{1} --heads 8 --seqlen 128 --head-dim 64 --sweep --target h200,t4 --jobs 1 --report json={0}/r.json "
                  "-o {0}/r.txt & pid=$!; sleep 4; kill -{2} $pid; SECONDS=0; wait $pid; code=$?; "
                  "echo took $SECONDS; exit $code",
                  folder.path().string(), program(), signal),
              {{"ATTNPROBE_TEST_FAULT", "hang@engines"}});
    INFO(signal << run.err << run.out);
    CHECK(run.exit_code == 130);
    CHECK((run.out == "took 0\n" || run.out == "took 1\n"));
    CHECK_THAT(run.err, ContainsSubstring("stopped: 1 of 2 results"));
    const Json results = Json::parse(read_text(folder.path() / "r.json"))["results"];
    REQUIRE(results.size() == 1);
    CHECK(results[0]["target"]["id"] == "h200");
    CHECK(files_in(folder.path()) == 2);
  }
}

}  // namespace attnprobe::test::output_test
