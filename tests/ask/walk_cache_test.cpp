// The cache of answers: it never causes a failure, and never returns answers of another library.
#include "ask/walk_cache.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>

#include "build/build.hpp"
#include "gpu/catalogue.hpp"
#include "matrix_folder.hpp"

namespace attnprobe::test::walk_cache_test {

using namespace attnprobe::asking;
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds short_patience{20};

// Another program's connection.
class Database {
 public:
  explicit Database(const fs::path& file) { REQUIRE(sqlite3_open(file.c_str(), &handle_) == SQLITE_OK); }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  void execute(const char* sql) const {
    INFO(sql);
    CHECK(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }

 private:
  sqlite3* handle_ = nullptr;
};

// A cache that records its messages.
struct Cache {
  explicit Cache(const fs::path& file)
      : cache(
            file, [this](const std::string& message) { messages.push_back(message); }, short_patience) {}

  // The cache stores nothing, finds nothing new, and reports the reason once.
  void check_gone_without(const fs::path& file) {
    probe::WalkFindings large;
    for (int i = 0; i < 4'000; ++i) large.log += std::to_string(i * 7919);  // 20 KB that compress poorly
    for (const char* key : {"one", "two"}) {
      cache.store(key, large);
      CHECK_FALSE(cache.find(key));
    }
    REQUIRE(messages.size() == 1);
    INFO(messages[0]);
    CHECK(messages[0].starts_with("the cache " + file.string() + ": "));
    CHECK(messages[0].ends_with("; continuing without it"));
  }

  std::vector<std::string> messages;
  WalkCache cache;
};

}  // namespace

TEST_CASE("a cache locked by another program is not used", "[cache]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "answers.sqlite";
  {
    Cache cache(file);
    const Database other(file);
    cache.cache.store("before", {});
    other.execute("BEGIN IMMEDIATE");
    cache.check_gone_without(file);
    CHECK(cache.cache.find("before"));
  }
  const Database other(file);
  other.execute("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE");
  Cache(file).check_gone_without(file);
}

TEST_CASE("a cache on a full disk is not used", "[cache]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "answers.sqlite";
  Cache cache(file);
  cache.cache.store("before", {});
  // No file of this process may grow beyond the cache's size.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  getrlimit(RLIMIT_FSIZE, &usual);
  rlimit full = usual;
  full.rlim_cur = std::max(fs::file_size(file), fs::file_size(file.string() + "-wal"));
  setrlimit(RLIMIT_FSIZE, &full);
  cache.check_gone_without(file);
  CHECK(cache.cache.find("before"));
  setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, before);
}

TEST_CASE("a cache in a read-only folder is not used", "[cache]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "answers.sqlite";
  Cache(file).cache.store("before", {});
  fs::permissions(file, fs::perms::owner_read | fs::perms::others_read);
  fs::permissions(folder.path(),
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  constexpr uid_t nobody = 65534;
  const bool is_root = geteuid() == 0;  // root ignores permissions
  if (is_root) REQUIRE(seteuid(nobody) == 0);
  {
    Cache cache(file);
    cache.check_gone_without(file);
  }
  if (is_root) REQUIRE(seteuid(0) == 0);
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST_CASE("a matrix that cannot create its cache says so once and continues", "[cache][matrix]") {
  const MatrixFolder folder(R"({"targets": "h200", "heads": 8, "seqlen": 256, "head_dim": 64})");
  const Run run = folder.run("out", "--cache /sys/attnprobe/answers.sqlite");
  INFO(run.err);
  CHECK(run.exit_code == 0);
  const size_t first = run.err.find("the cache /sys/attnprobe/answers.sqlite: cannot create its folder: ");
  CHECK(first != std::string::npos);
  CHECK(run.err.find("the cache", first + 1) == std::string::npos);
}

TEST_CASE("a database of another program is not changed", "[cache]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "quiz.sqlite";
  for (const char* mark : {"", "; PRAGMA application_id=7"}) {
    fs::remove(file);
    Database(file).execute(
        fmt::format("CREATE TABLE answers (name, findings); INSERT INTO answers VALUES (1, 2){}", mark).c_str());
    const std::string before = read_text(file);
    for (const char* what : {"clear", "stats"}) {
      const Run run = run_attnprobe(fmt::format("cache {} --cache {}", what, file.string()));
      CHECK(run.exit_code == 3);
      CHECK(contains(run.err,
                     "the cache " + file.string() +
                         ": it is a database of another program and stays unchanged; name another file with --cache"));
    }
    CHECK_THROWS_AS(WalkCache(file), Error);
    CHECK(read_text(file) == before);
    CHECK_FALSE(fs::exists(file.string() + "-wal"));
  }
}

TEST_CASE("the unmarked cache of an older attnprobe is accepted", "[cache]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "answers.sqlite";
  Database(file).execute(
      "CREATE TABLE IF NOT EXISTS answers (name TEXT PRIMARY KEY, findings BLOB) WITHOUT ROWID;"
      "CREATE TABLE IF NOT EXISTS libraries (name TEXT PRIMARY KEY, info BLOB) WITHOUT ROWID;"
      "INSERT INTO answers VALUES ('a', x'00')");
  CHECK(cache_statistics(file).answers == 1);
  CHECK_NOTHROW(WalkCache(file));
  clear_cache(file);
  CHECK(cache_statistics(file).answers == 0);
}

TEST_CASE("cache stats neither creates a cache nor writes to it", "[cache]") {
  const TemporaryFolder folder;
  const fs::path none = folder.path() / "none/answers.sqlite", file = folder.path() / "answers.sqlite";
  for (const char* what : {"stats", "clear"})
    CHECK(contains(run_attnprobe(fmt::format("cache {} --cache {}", what, none.string())).out, ": 0 answers from 0 "));
  CHECK_FALSE(fs::exists(none.parent_path()));
  { WalkCache(file).store("key", {}); }
  const std::string before = read_text(file);
  CHECK(cache_statistics(file).answers == 1);
  CHECK(read_text(file) == before);
}

TEST_CASE("a cuDNN patched in place is asked again", "[cache]") {
  const TemporaryFolder folder;
  const std::string library = folder.file("libcudnn.so.9", "loader");
  const fs::path engines = folder.file("libcudnn_engines_precompiled.so.9", std::string(40'000, 'x'));
  const auto written = fs::last_write_time(engines);
  const gpu::Target& target = *gpu::find("h200");
  const auto graph = build::build_graph(
      attention::parse_configs(R"({"heads": 8, "seqlen": 256, "head_dim": 64})", "test").at(0).spec, {{9, 19, 0}, 90});
  const auto key = [&] { return WalkCache(folder.path() / "answers.sqlite").key(graph.graph, target, library, {}); };
  const auto known = [&] { return WalkCache(folder.path() / "answers.sqlite").library(library).has_value(); };
  const std::string before = key();
  CHECK(key() == before);
  WalkCache(folder.path() / "answers.sqlite").store_library(library, {});
  CHECK(known());
  // Its size and both ends are unchanged.
  std::fstream(engines).seekp(20'000) << "patch";
  fs::last_write_time(engines, written + std::chrono::seconds(1));
  CHECK(key() != before);
  CHECK_FALSE(known());
}

TEST_CASE("a plan compiled for one question is not compiled again for the next", "[cache][plans]") {
  const TemporaryFolder folder;
  WalkCache cache(folder.path() / "answers.sqlite");
  const auto questions = questions_of(attention::parse_configs(
      R"({"name": "plan", "heads": 8, "seqlen": 256, "head_dim": 64, "pattern": "sdpa_composite"})", "test"));
  PlanOptions options;
  const Session session{.cache = &cache};
  options.walk.modes = {"A"};
  options.walk.sweep_where_none = false;
  const auto plans_of = [&](probe::Plans plans) {
    options.walk.plans = plans;
    std::vector<probe::PlanFindings> built;
    const auto answers = answers_to(questions, {*gpu::find("h200")}, cudnn_path(), options, session);
    for (const auto& config : answers.results.at(0).findings.engine_configs)
      if (config.plan) built.push_back(*config.plan);
    return built;
  };
  const auto first = plans_of(probe::Plans::first);
  REQUIRE(first.size() == 1);
  const auto all = plans_of(probe::Plans::build);
  REQUIRE(all.size() > 1);
  // The same build time to the last digit: the stored answer.
  CHECK(all[0].build_ms == first[0].build_ms);
  CHECK(all[1].build_ms != first[0].build_ms);
  CHECK(plans_of(probe::Plans::build)[1].build_ms == all[1].build_ms);
  CHECK(all[0].kernels.size() == 1);
}

}  // namespace attnprobe::test::walk_cache_test
