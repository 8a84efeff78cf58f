// attnprobe matrix, merge, cache: axes, cells on disk, shards, earlier answers, the reports.
#include "attention/matrix_document.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "ask/ask.hpp"
#include "ask/walk_cache.hpp"
#include "browser.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"
#include "matrix_folder.hpp"
#include "report/model/cells.hpp"
#include "support.hpp"

namespace attnprobe::test::matrix_test {

namespace {

size_t lines_in(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("a matrix asks every config on every target and reports in every format", "[matrix]") {
  const MatrixFolder folder;
  const Run run = folder.run("out");
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("6 cells: 2 yes, 4 no; all as expected"));
  // Each cell has the same verdict and reason as the question asked separately.
  const Json report = Json::parse(folder.text("out/report.json"));
  REQUIRE(report["results"].size() == 6);
  CHECK(report["matrix"]["configs"] == Json{"plain", "causal", "odd, \"head\""});
  const Json& plain = report["results"][0];
  const auto alone = probe_one(R"({"name": "plain", "heads": 8, "seqlen": 256, "head_dim": 64})", "h200");
  CHECK(plain["verdict"] == "supported");
  CHECK(plain["graph"]["hash"] == hash(alone.graph.graph));
  CHECK(plain["modes"].size() == alone.findings.modes.size());
  CHECK(plain["engine_configs"].size() == alone.findings.engine_configs.size());
  const Json& on_t4 = report["results"][1];
  CHECK(on_t4["target"]["id"] == "t4");
  CHECK(on_t4["verdict"] == "unsupported");
  CHECK(on_t4["root_cause"]["category"] == "arch_mismatch");
  // RFC 4180: the name has a comma and quotes.
  CHECK_THAT(folder.text("out/report.csv"), ContainsSubstring("\r\n\"odd, \"\"head\"\"\",sdpa fprop b1 h8 s256 d60"));
  CHECK(lines_in(folder.text("out/report.csv")) == 7);
  CHECK_THAT(folder.text("out/report.md"), ContainsSubstring("| plain | yes | no |"));
  CHECK_THAT(folder.text("out/index.html"), ContainsSubstring("\"v\":\"yes\"") && ContainsSubstring("\"v\":\"no\""));
}

TEST_CASE("the reports of a matrix are valid JUnit XML and JSON", "[matrix]") {
  // Wrong expectations make failures that quote cuDNN.
  const MatrixFolder folder(
      R"({"targets": ["t4"], "configs": [{"name": "a <b> & \"c\"", "heads": 8, "seqlen": 256, "head_dim": 64}]})");
  const Run run = folder.run("out");
  CHECK(run.exit_code == 1);
  const Run parsed =
      shell(fmt::format("python3 -c 'import sys, xml.etree.ElementTree as t; s = t.parse(sys.argv[1]).getroot(); c = "
                        "s.find(\"testsuite/testcase\"); print(s.get(\"failures\"), c.get(\"name\"), "
                        "c.find(\"failure\").get(\"type\")); print(c.find(\"failure\").text)' {}",
                        folder.path("out/report.xml")));
  CHECK_THAT(parsed.out, StartsWith("1 a <b> & \"c\" arch_mismatch\n"));
  CHECK_THAT(parsed.out, ContainsSubstring("cuDNN says: CUDNN_STATUS_NOT_SUPPORTED"));
  CHECK_THAT(
      parsed.out,
      ContainsSubstring("reproduce: attnprobe --heads 8 --seqlen 256 --head-dim 64 --quick --target t4 --cudnn 9."));
  REQUIRE(shell(fmt::format("{} schema report > {}", program(), folder.path("schema.json"))).exit_code == 0);
  const Run valid = validate(folder.path("schema.json"), folder.path("out/report.json"));
  INFO(valid.err);
  CHECK(valid.exit_code == 0);
}

TEST_CASE("a killed matrix continues and ends with the same bytes", "[matrix]") {
  const MatrixFolder folder;
  REQUIRE(folder.run("whole").exit_code == 0);
  REQUIRE(folder.run("killed").exit_code == 0);
  // The state after a kill: the header, some lines in any order, and part of one.
  std::istringstream cells(folder.text("whole/cells.jsonl"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(cells, line);) lines.push_back(line);
  std::ofstream(folder.path("killed/cells.jsonl")) << lines[0] << "\n"
                                                   << lines[4] << "\n"
                                                   << lines[2] << "\n"
                                                   << lines[3].substr(0, 200);
  const Run run = folder.run("killed", "--resume --no-cache");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.err, ContainsSubstring("2 of 6 cells were already done"));
  folder.check_equal("whole", "killed");
  // A different matrix cannot be resumed.
  const Run other = folder.run("killed", "--resume --no-cache --mode A");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, ContainsSubstring("cells.jsonl: --resume: it is another matrix"));
}

TEST_CASE("shards are disjoint and complete, and merge to the result of one run", "[matrix]") {
  const MatrixFolder folder;
  REQUIRE(folder.run("whole").exit_code == 0);
  for (const char* shard : {"1", "2", "3", "4"})
    CHECK(folder.run(fmt::format("part{}", shard), fmt::format("--no-cache --shard {}/4", shard)).exit_code == 0);
  const auto parts = [&](const std::string& which) {
    std::string list;
    for (const char c : which) list += " " + folder.path(fmt::format("part{}", c));
    return list;
  };
  const Run merged = run_attnprobe(fmt::format("merge {} --out {}", parts("3142"), folder.path("merged")));
  CHECK(merged.exit_code == 0);
  folder.check_equal("whole", "merged");
  const Run missing = run_attnprobe(fmt::format("merge {} --out {}", parts("134"), folder.path("missing")));
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.err, ContainsSubstring("of the matrix's 6 cells are missing"));

  asking::QuestionGroup matrix;
  matrix.questions.resize(5);
  matrix.targets.resize(3);
  matrix.cudnns.resize(2);
  const auto places = places_of(matrix);
  std::vector<asking::CellPlace> joined;
  for (size_t i = 1; i <= 7; ++i)
    for (const auto& place : shard_of(places, i, 7)) joined.push_back(place);
  CHECK(joined == places);
}

TEST_CASE("reports of attnprobe can be merged too", "[matrix]") {
  const MatrixFolder folder;
  for (const char* target : {"h200", "t4"})
    run_attnprobe(fmt::format("--heads 8 --seqlen 256 --head-dim 64 --name one --target {} --quick --format json -o {}",
                              target, folder.path(std::string(target) + ".json")));
  const Run run = run_attnprobe(fmt::format("merge {} {} --out {} --title both", folder.path("h200.json"),
                                            folder.path("t4.json"), folder.path("both")));
  CHECK(run.exit_code == 1);  // the config does not expect that a T4 has no attention
  CHECK_THAT(run.out, ContainsSubstring("2 cells: 1 yes, 1 no\n"));
  CHECK_THAT(folder.text("both/index.html"), ContainsSubstring("\"title\":\"both\""));
}

TEST_CASE("a repeated question is answered from the cache, with the same answer", "[matrix][cache]") {
  const MatrixFolder folder;
  const std::string cache = "--cache " + folder.path("cache/answers.sqlite");
  REQUIRE(folder.run("first", cache).exit_code == 0);
  const auto statistics = [&] { return run_attnprobe(fmt::format("cache stats --format json {}", cache)).json(); };
  CHECK(statistics()["answers"] == 6);
  CHECK(statistics()["libraries"] == 1);
  // The worker that would crash is never started.
  const Run again =
      run_attnprobe(fmt::format("matrix {} --out {} {}", folder.path("matrix.json"), folder.path("second"), cache),
                    {{"ATTNPROBE_PROGRAM", "/bin/false"}});
  INFO(again.err);
  CHECK(again.exit_code == 0);
  folder.check_equal("first", "second");
  // Other options make other questions.
  REQUIRE(folder.run("third", cache + " --mode A").exit_code == 0);
  CHECK(statistics()["answers"] == 12);
  CHECK_THAT(run_attnprobe("cache clear " + cache).out, ContainsSubstring("0 answers from 0 cuDNN libraries"));
}

TEST_CASE("processes share a cache", "[matrix][cache]") {
  const MatrixFolder folder;
  const std::string cache = "--cache " + folder.path("answers.sqlite");
  std::vector<int> codes(4);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < codes.size(); ++i)
      threads.emplace_back([&, i] { codes[i] = folder.run(fmt::format("out{}", i), cache + " --jobs 1").exit_code; });
  }
  CHECK(codes == std::vector<int>(4, 0));
  for (const char* other : {"out1", "out2", "out3"}) folder.check_equal("out0", other);
  CHECK(run_attnprobe("cache stats --format json " + cache).json()["answers"] == 6);
}

TEST_CASE("a cache that cannot be used is an error that names it", "[matrix][cache]") {
  const MatrixFolder folder;
  std::ofstream(folder.path("text")) << "no database, and long enough that SQLite looks at it\n"
                                     << std::string(5000, 'x');
  const Run broken = folder.run("out", "--cache " + folder.path("text"));
  CHECK(broken.exit_code == 3);
  CHECK_THAT(broken.err, ContainsSubstring("the cache " + folder.path("text")));
  CHECK_THAT(broken.err, ContainsSubstring("remove it, or ask with --no-cache"));
  CHECK(folder.run("out", "--cache /proc/none/answers.sqlite").exit_code == 3);
}

TEST_CASE("a damaged cache only costs time", "[matrix][cache]") {
  const MatrixFolder folder;
  const auto ask = [&] {
    return run_attnprobe(
        fmt::format("matrix {} --out {} --overwrite --target h200", folder.path("matrix.json"), folder.path("out")),
        {{"XDG_CACHE_HOME", folder.path("cache")}});
  };
  REQUIRE(ask().exit_code == 0);
  const std::string file = folder.path("cache") + "/attnprobe/answers.sqlite";
  const std::string good = read_text(file);
  REQUIRE(good.size() > 4096);
  std::string header = good, middle = good;
  header.replace(0, 16, "no database here");
  for (size_t at = 100; at < middle.size(); at += 97) middle[at] = static_cast<char>(middle[at] ^ 0x10);
  for (const auto& damaged : {header, middle, good.substr(0, 3000), std::string("x")}) {
    for (const char* part : {"-wal", "-shm"}) std::filesystem::remove(file + part);
    std::ofstream(file, std::ios::binary) << damaged;
    const Run run = ask();
    INFO(run.err);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, ContainsSubstring("cells: "));
  }
}

TEST_CASE("a crash in a matrix loses only its cell", "[matrix]") {
  const MatrixFolder folder;
  const Run run = run_attnprobe(fmt::format("matrix {} --out {} --no-cache --target h200 --jobs 1",
                                            folder.path("matrix.json"), folder.path("out")),
                                {{"ATTNPROBE_TEST_FAULT", "segfault@mode B"}});
  INFO(run.err);
  CHECK(run.exit_code == 4);
  CHECK_THAT(run.out, ContainsSubstring("3 crashed"));
  const Json report = Json::parse(folder.text("out/report.json"));
  for (const auto& result : report["results"]) {
    CHECK(result["verdict"] == "crashed");
    CHECK(result["crash"]["stage"] == "mode B");
    CHECK(result["modes"][0]["mode"] == "A");  // earlier findings are kept
  }
}

TEST_CASE("a cell that cannot be written ends a matrix with that error", "[matrix]") {
  asking::PlanOptions options;
  options.walk.sweep_where_none = false;
  options.jobs = 2;
  asking::QuestionGroup matrix;
  matrix.questions = asking::questions_of(attention::parse_configs(
      R"({"heads": 8, "batch": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "seqlen": 256, "head_dim": 64})", "test"));
  matrix.targets = {*gpu::find("h200")};
  matrix.cudnns = {cudnn_path()};
  std::atomic<int> reported{0};
  const auto disk_full = [&](const answer::Answer&, size_t) {
    if (++reported == 3) throw Error(ErrorKind::usage, "the disk is full");
  };
  const asking::Plan plan{.groups = {matrix}, .options = options, .further = asking::Further::nothing, .keeps = false};
  CHECK_THROWS_WITH(asking::ask(plan, {}, disk_full), "the disk is full");
  CHECK(reported < 12);
}

TEST_CASE("out of GPU memory has the same exit code in a probe and a matrix", "[matrix][slow]") {
  const MatrixFolder folder(R"({"name": "a", "heads": 2, "seqlen": 64, "head_dim": 64})");
  const Environment too_small{{"ATTNPROBE_TEST_PLANS", "out_of_memory"}};
  const std::string options = " --target h200 --plans run --quick --timing none";
  CHECK(run_attnprobe("--config " + folder.path("matrix.json") + options, too_small).exit_code == 3);
  const Run matrix = run_attnprobe(
      "matrix " + folder.path("matrix.json") + " --no-cache --out " + folder.path("out") + options, too_small);
  INFO(matrix.err);
  CHECK(matrix.exit_code == 3);
}

TEST_CASE("many configs on one target use all jobs, and results remain in order", "[matrix]") {
  std::atomic<size_t> done{0};
  asking::PlanOptions options;
  options.walk.sweep_where_none = false;
  options.jobs = 3;
  const auto questions = asking::questions_of(attention::parse_configs(
      R"({"heads": 8, "batch": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24],
          "seqlen": 256, "head_dim": 64})",
      "test"));
  const auto count = [&](const answer::Answer&, size_t) { ++done; };
  const auto answers = answers_to(questions, {*gpu::find("h200")}, cudnn_path(), options, {}, count);
  CHECK(done == 24);
  REQUIRE(answers.results.size() == 24);
  for (size_t i = 0; i < answers.results.size(); ++i)
    CHECK(answers.results[i].config.spec.batch == static_cast<int64_t>(i) + 1);
  CHECK(answers.library->path == answers.results[0].cudnn_path);
  // Without a callback, and with one that throws.
  CHECK(answers_to({questions[0]}, {*gpu::find("h200")}, cudnn_path(), options).results.size() == 1);
  const auto refuse = [](const answer::Answer&, size_t) { throw Error(ErrorKind::usage, "the disk is full"); };
  CHECK_THROWS_WITH(answers_to(questions, {*gpu::find("h200")}, cudnn_path(), options, {}, refuse), "the disk is full");
}

TEST_CASE("errors name the bad input of a matrix", "[matrix]") {
  const MatrixFolder folder(R"({"targets": ["h200", 7], "configs": [{"heads": 8, "seqlen": 256, "head_dim": 64}]})");
  const auto refusal = [&](const std::string& arguments) {
    const Run run = run_attnprobe(arguments);
    CHECK((run.exit_code == 2 || run.exit_code == 3));
    return run.err;
  };
  const std::string out = " --no-cache --out " + folder.path("out");
  CHECK_THAT(refusal("matrix " + folder.path("matrix.json") + out), ContainsSubstring("/targets/1: 7 is not text"));
  CHECK_THAT(refusal("matrix '/nowhere/*.json'" + out), ContainsSubstring("/nowhere/*.json: no file matches"));
  CHECK_THAT(refusal("matrix configs/bert.json configs/bert.json" + out),
             ContainsSubstring("configs/bert.json: two configs are called \"bert-base"));
  CHECK_THAT(refusal("matrix configs/bert.json --shard 3/2" + out),
             ContainsSubstring("--shard: \"3/2\" is not a shard"));
  CHECK_THAT(refusal("matrix configs/bert.json --cudnn 9.1.99" + out),
             ContainsSubstring("attnprobe cudnn fetch 9.1.99"));
  CHECK_THAT(refusal("matrix configs/bert.json --target h300" + out), ContainsSubstring("h300"));
  folder.write("targets.json", R"({"targets": "h300", "configs": [{"heads": 8, "seqlen": 256, "head_dim": 64}]})");
  CHECK_THAT(refusal("matrix " + folder.path("targets.json") + out),
             ContainsSubstring("targets.json: \"targets\": --target: \"h300\" is not a target"));
  CHECK_THAT(refusal("merge /nowhere --out " + folder.path("merged")), ContainsSubstring("/nowhere"));
  std::ofstream(folder.path("cells.jsonl")) << "{\"schema\":\"attnprobe/cells/1\",\"axes\":7}\n";
  CHECK_THAT(refusal("merge " + folder.path("cells.jsonl") + " --out " + folder.path("merged")),
             ContainsSubstring("cells.jsonl:1: /axes: 7 is not an object"));
}

TEST_CASE("a matrix file names further files by patterns from its own folder", "[matrix]") {
  const MatrixFolder folder(R"({"config_files": ["more-*.json"], "targets": "h200"})");
  std::ofstream(folder.path("more-1.json")) << R"({"name": "one", "heads": 8, "seqlen": 256, "head_dim": 64})";
  std::ofstream(folder.path("more-2.json")) << R"({"name": "two", "heads": 8, "seqlen": 512, "head_dim": 64})";
  CHECK_THAT(folder.run("out").out, ContainsSubstring("2 cells: 2 yes"));
  CHECK(Json::parse(folder.text("out/report.json"))["matrix"]["configs"] == Json{"one", "two"});
}

TEST_CASE("a matrix file that includes itself is refused with the chain", "[matrix]") {
  const MatrixFolder folder(R"({"config_files": "*.json", "targets": "h200"})");
  const auto refusal = [&] {
    return run_attnprobe("matrix " + folder.path("matrix.json") + " --no-cache --out " + folder.path("out"));
  };
  const std::string matrix = folder.path("matrix.json");
  Run run = refusal();
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err,
             ContainsSubstring(matrix + ": /config_files: \"*.json\" reads itself: " + matrix + " -> " + matrix));
  std::ofstream(folder.path("matrix.json")) << R"({"config_files": ["a.json"]})";
  std::ofstream(folder.path("a.json")) << R"({"config_files": ["./b.json"]})";
  std::ofstream(folder.path("b.json")) << R"({"config_files": ["a.json"]})";
  run = refusal();
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, ContainsSubstring(folder.path("b.json") +
                                        ": /config_files/0: \"a.json\" reads itself: " + folder.path("a.json") +
                                        " -> " + folder.path("b.json") + " -> " + folder.path("a.json")));
}

TEST_CASE("a matrix file is read as strictly as a config file, compressed or not", "[matrix]") {
  const auto refusal = [](const std::string& text) {
    const TemporaryFolder folder;
    const auto file = folder.file("m.json", text).string();
    std::string message = usage_error([&] { attention::load_matrix_documents({file}); });
    return message.rfind(file, 0) == 0 ? message.substr(file.size()) : message;
  };
  CHECK(refusal(R"({"targets": "h200", "targets": "a100", "configs": []})") ==
        ": /targets: the key \"targets\" appears twice in one object");
  CHECK(refusal(R"({"targets": "h200", "configs": [{"heads": 1, "heads": 2}]})") ==
        ": /configs/0/heads: the key \"heads\" appears twice in one object");
  CHECK(refusal(R"({"targets": "h200", "defaults": {"heads": 1}})") == ": \"defaults\" without \"configs\"");
  CHECK(refusal(R"({"config_files": [], "target": "h200"})").rfind(": /target: unknown key \"target\"", 0) == 0);
  CHECK(refusal(R"({"config_files": "none-*.json"})").rfind(": /config_files: ", 0) == 0);
  CHECK(refusal(R"({"targets": ["h200"], "config_files": []})") == ": no config in it");
  CHECK_THAT(refusal(R"({"targets": ["h200"], "config_files": ["l40s"]})"),
             StartsWith(": /config_files/0: \"l40s\" refers to ") && EndsWith("/l40s, which does not exist"));
  CHECK_THAT(refusal(R"({"targets": ["h200"], "config_files": ""})"), EndsWith(", which is a folder"));
  // Documents that name each other: a chain that is too long, and ten that each name ten, four levels deep, which are
  // too many.
  const TemporaryFolder many;
  for (int i = 0; i < 40; ++i)
    many.file(fmt::format("chain{}.json", i), fmt::format(R"({{"config_files": "chain{}.json"}})", i + 1));
  for (int i = 0; i < 4; ++i)
    many.file(fmt::format("tree{}.json", i), fmt::format(R"({{"config_files": ["tree{0}.json"{1}]}})", i + 1, [&] {
                std::string more;
                for (int k = 0; k < 9; ++k) more += fmt::format(", \"tree{}.json\"", i + 1);
                return more;
              }()));
  many.file("tree4.json", R"({"heads": 1, "seqlen": 8, "head_dim": 8})");
  CHECK_THAT(usage_error([&] { attention::load_matrix_documents({(many.path() / "chain0.json").string()}); }),
             EndsWith("chain31.json: /config_files: \"chain32.json\" makes a chain of 33 documents; allowed: 32"));
  CHECK_THAT(usage_error([&] { attention::load_matrix_documents({(many.path() / "tree0.json").string()}); }),
             EndsWith(".json: \"config_files\" reads more than 10000 documents, counting repetitions"));
  const TemporaryFolder folder;
  const auto file = folder.file("m.json", R"({"targets": "h200", "heads": 1, "seqlen": 8, "head_dim": 8})").string();
  REQUIRE(shell("gzip -k " + file + " && xz -k " + file).exit_code == 0);
  for (const char* ending : {"", ".gz", ".xz"}) {
    const auto all = attention::load_matrix_documents({file + ending});
    CHECK(all.configs.size() == 1);
    CHECK(all.targets == std::vector<std::string>{"h200"});
  }
}

TEST_CASE("probe writes the same formats", "[matrix]") {
  const Run csv = run_attnprobe("--heads 8 --seqlen 256 --head-dim 64 --name one --target h200 --quick --format csv");
  CHECK_THAT(csv.out, ContainsSubstring("\r\none,sdpa fprop b1 h8 s256 d64 f16 "
                                        "bshd,sdpa,fprop,f16,h200,90,simulated,9.19.0,yes,,supported,,true,4,"));
  for (const char* format : {"junit", "md", "html"}) {
    const Run run =
        run_attnprobe(fmt::format("--heads 8 --seqlen 256 --head-dim 64 --target h200 --quick --format {}", format));
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, ContainsSubstring("h200"));
  }
}

TEST_CASE("the page of a matrix works in a browser", "[matrix][page][browser][slow]") {
  const MatrixFolder folder;
  REQUIRE(folder.run("out").exit_code == 0);
  check_in_browser("scripts/check page " + folder.path("out/index.html"));
}

}  // namespace attnprobe::test::matrix_test
