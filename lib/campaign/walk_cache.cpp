#include "campaign/walk_cache.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "base/trust.hpp"

namespace attnprobe::campaign {
namespace {

namespace fs = std::filesystem;

std::string digest(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Name, size, and what tells one build of a library from another: its ELF headers stand at both ends.
std::string look_of(const fs::path& file) {
  constexpr std::streamoff sample = 8192;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  std::string text = fmt::format("{} {} ", file.filename().string(), size);
  std::string bytes(static_cast<size_t>(std::clamp<std::streamoff>(size, 0, sample)), '\0');
  for (const std::streamoff at : {std::streamoff{0}, std::max<std::streamoff>(size - sample, 0)}) {
    in.seekg(at);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    text += bytes;
  }
  return text;
}

}  // namespace

std::string build_of_library(const std::string& cudnn) {
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::canonical(cudnn, ignored).parent_path(), ignored))
    // The links beside them differ between a wheel and a toolkit.
    if (!entry.is_symlink(ignored) && entry.path().filename().string().rfind("libcudnn", 0) == 0 &&
        entry.path().filename().string().find(".so") != std::string::npos)
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string text;
  for (const auto& file : files) text += look_of(file);
  return digest(text);
}

namespace {

std::string packed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string result(sizeof(uint64_t) + size, '\0');
  const uint64_t length = text.size();
  std::copy_n(reinterpret_cast<const char*>(&length), sizeof length, result.begin());
  compress2(reinterpret_cast<Bytef*>(result.data() + sizeof length), &size, reinterpret_cast<const Bytef*>(text.data()),
            text.size(), Z_BEST_SPEED);
  result.resize(sizeof length + size);
  return result;
}

// Empty for what packed() did not make.
std::string unpacked(const std::string& bytes) {
  constexpr uint64_t longest = uint64_t{1} << 31;
  uint64_t length = 0;
  if (bytes.size() < sizeof length) return "";
  std::copy_n(bytes.begin(), sizeof length, reinterpret_cast<char*>(&length));
  if (length > longest) return "";
  std::string text(length, '\0');
  uLongf size = length;
  const int status =
      uncompress(reinterpret_cast<Bytef*>(text.data()), &size,
                 reinterpret_cast<const Bytef*>(bytes.data() + sizeof length), bytes.size() - sizeof length);
  return status == Z_OK && size == length ? text : "";
}

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

}  // namespace

struct WalkCache::State {
  struct CloseDatabase {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  fs::path file;
  std::unique_ptr<sqlite3, CloseDatabase> database;
  std::mutex mutex;                               // a connection is one thread's at a time
  std::map<std::string, std::string> identities;  // of libraries, by path
  std::string program;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::environment, fmt::format("the cache {}: {}: {}; --no-cache goes without", file.string(),
                                                    what, database ? sqlite3_errmsg(database.get()) : "out of memory"));
  }

  void check(int status, const char* what) const {
    if (status != SQLITE_OK) fail(what);
  }

  Statement prepare(const char* sql) const {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(database.get(), sql, -1, &statement, nullptr), sql);
    return Statement(statement);
  }

  void execute(const char* sql) const { check(sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr), sql); }

  std::optional<std::string> value(const char* sql, const std::string& key) {
    const std::lock_guard lock(mutex);
    const Statement statement = prepare(sql);
    check(sqlite3_bind_text(statement.get(), 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC), sql);
    const int status = sqlite3_step(statement.get());
    if (status == SQLITE_DONE) return std::nullopt;
    if (status != SQLITE_ROW) fail(sql);
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement.get(), 0));
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement.get(), 0));
    return bytes == nullptr ? std::string() : std::string(bytes, size);
  }

  void put(const char* sql, const std::string& key, const std::string& bytes) {
    const std::lock_guard lock(mutex);
    const Statement statement = prepare(sql);
    check(sqlite3_bind_text(statement.get(), 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC), sql);
    check(sqlite3_bind_blob(statement.get(), 2, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC), sql);
    if (sqlite3_step(statement.get()) != SQLITE_DONE) fail(sql);
  }

  int64_t count(const char* sql) {
    const std::lock_guard lock(mutex);
    const Statement statement = prepare(sql);
    if (sqlite3_step(statement.get()) != SQLITE_ROW) fail(sql);
    return sqlite3_column_int64(statement.get(), 0);
  }

  const std::string& identity(const std::string& cudnn) {
    const std::lock_guard lock(mutex);
    auto& known = identities[cudnn];
    if (known.empty()) known = build_of_library(cudnn);
    return known;
  }
};

WalkCache::WalkCache(const fs::path& file) : state_(std::make_unique<State>()) {
  state_->file = file;
  std::error_code failed;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), failed);
  if (failed)
    throw Error(ErrorKind::environment,
                fmt::format("the cache {}: its folder cannot be made: {}; --no-cache goes without", file.string(),
                            failed.message()));
  sqlite3* database = nullptr;
  const int status = sqlite3_open(file.c_str(), &database);
  state_->database.reset(database);
  state_->check(status, "cannot be opened");
  // Other processes write too; each write is a few milliseconds at most.
  constexpr int patience_ms = 30'000;
  sqlite3_busy_timeout(database, patience_ms);
  // What a power cut may cost is the last answers, never the file.
  state_->execute("PRAGMA journal_mode=WAL");
  state_->execute("PRAGMA synchronous=NORMAL");
  state_->execute("CREATE TABLE IF NOT EXISTS answers (name TEXT PRIMARY KEY, findings BLOB) WITHOUT ROWID");
  state_->execute("CREATE TABLE IF NOT EXISTS libraries (name TEXT PRIMARY KEY, info BLOB) WITHOUT ROWID");
  state_->program = digest(look_of(fs::canonical("/proc/self/exe", failed)));
}

WalkCache::~WalkCache() = default;

std::string WalkCache::key(const graph::OpGraph& graph, const gpu::Target& target, const std::string& cudnn,
                           const probe::WalkOptions& options) {
  return digest(fmt::format("{}\n{}\n{}\n{}\n{}", hash(graph), target.properties.dump(), state_->identity(cudnn),
                            Json(options).dump(), state_->program));
}

std::optional<probe::WalkFindings> WalkCache::find(const std::string& key) {
  const auto bytes = state_->value("SELECT findings FROM answers WHERE name = ?", key);
  if (!bytes) return std::nullopt;
  const Json json = Json::parse(unpacked(*bytes), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json.get<probe::WalkFindings>();
}

void WalkCache::store(const std::string& key, const probe::WalkFindings& findings) {
  state_->put("INSERT OR REPLACE INTO answers VALUES (?, ?)", key, packed(Json(findings).dump()));
}

std::optional<cudnn::LibraryInfo> WalkCache::library(const std::string& cudnn) {
  const auto text = state_->value("SELECT info FROM libraries WHERE name = ?", cudnn + "\n" + state_->identity(cudnn));
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json.get<cudnn::LibraryInfo>();
}

void WalkCache::store_library(const std::string& cudnn, const cudnn::LibraryInfo& library) {
  state_->put("INSERT OR REPLACE INTO libraries VALUES (?, ?)", cudnn + "\n" + state_->identity(cudnn),
              Json(library).dump());
}

CacheStatistics WalkCache::statistics() {
  CacheStatistics result;
  result.file = state_->file.string();
  result.answers = state_->count("SELECT count(*) FROM answers");
  result.libraries = state_->count("SELECT count(*) FROM libraries");
  std::error_code ignored;
  for (const char* suffix : {"", "-wal"})
    if (const auto size = fs::file_size(state_->file.string() + suffix, ignored); !ignored)
      result.bytes += static_cast<int64_t>(size);
  return result;
}

void WalkCache::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->execute("DELETE FROM answers");
  state_->execute("DELETE FROM libraries");
  state_->execute("VACUUM");
}

fs::path default_cache_file() {
  const auto folder = user_cache_folder();
  if (!folder) return {};
  fs::path file = *folder / "attnprobe/answers.sqlite";
  std::error_code ignored;
  return fs::exists(file, ignored) && why_not_believed(file) ? fs::path() : file;
}

}  // namespace attnprobe::campaign
