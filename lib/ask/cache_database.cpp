#include "ask/cache_database.hpp"

#include <fmt/format.h>

namespace attnprobe::asking {
namespace {

namespace fs = std::filesystem;

// "attn" in SQLite's header (PRAGMA application_id) marks attnprobe's database.
constexpr int64_t application_id = 0x6174746e;
constexpr const char* tables =
    "CREATE TABLE answers (name TEXT PRIMARY KEY, findings BLOB) WITHOUT ROWID;"
    "CREATE TABLE libraries (name TEXT PRIMARY KEY, info BLOB) WITHOUT ROWID;";

std::string message(const fs::path& file, const std::string& why) {
  return fmt::format("the cache {}: {}", file.string(), why);
}

// An error that persists until the user acts.
Error damage(const fs::path& file, const std::string& why) {
  return {ErrorKind::environment, message(file, why) + "; remove it, or ask with --no-cache"};
}

bool is_damage(int status) {
  const int primary = status & 0xff;
  return primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT || primary == SQLITE_SCHEMA || primary == SQLITE_ERROR;
}

}  // namespace

void CacheDatabase::fail(const std::string& what) const {
  const std::string why = fmt::format("{}: {}", what, database_ ? sqlite3_errmsg(database_.get()) : "out of memory");
  if (database_ && is_damage(sqlite3_errcode(database_.get()))) throw damage(file_, why);
  throw CacheOutOfReach(message(file_, why));
}

void CacheDatabase::check(int status, const char* what) const {
  if (status != SQLITE_OK) fail(what);
}

CacheDatabase::Statement CacheDatabase::prepare(const char* sql) const {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr), sql);
  return Statement(statement);
}

void CacheDatabase::execute(const std::string& sql) const {
  check(sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr), sql.c_str());
}

std::string CacheDatabase::text(const char* sql) const {
  const Statement statement = prepare(sql);
  if (sqlite3_step(statement.get()) != SQLITE_ROW) fail(sql);
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
  return bytes == nullptr ? "" : bytes;
}

int64_t CacheDatabase::number(const char* sql) const {
  const Statement statement = prepare(sql);
  if (sqlite3_step(statement.get()) != SQLITE_ROW) fail(sql);
  return sqlite3_column_int64(statement.get(), 0);
}

// Identified by the mark, or by the tables for a file from an older attnprobe without the mark.
bool CacheDatabase::is_of_attnprobe() const {
  const int64_t mark = number("PRAGMA application_id");
  return mark == application_id ||
         (mark == 0 &&
          text("SELECT group_concat(sql || ';', '') FROM (SELECT sql FROM sqlite_master ORDER BY name)") == tables);
}

CacheDatabase::CacheDatabase(fs::path file, Access access, std::chrono::milliseconds patience)
    : file_(std::move(file)) {
  const bool writes = access == Access::write;
  std::error_code failed;
  if (writes && file_.has_parent_path()) fs::create_directories(file_.parent_path(), failed);
  if (failed) {
    const std::string why = "cannot create its folder: " + failed.message();
    // An impossible path is an error, unlike a full or read-only disk.
    if (failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory ||
        failed == std::errc::file_exists)
      throw damage(file_, why);
    throw CacheOutOfReach(message(file_, why));
  }
  sqlite3* database = nullptr;
  const int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int status = sqlite3_open_v2(file_.c_str(), &database, flags, nullptr);
  database_.reset(database);
  check(status, "cannot be opened");
  sqlite3_busy_timeout(database, static_cast<int>(patience.count()));
  if (!writes || number("SELECT count(*) FROM sqlite_master") != 0) {
    if (!is_of_attnprobe())
      throw damage(file_, "it is a database of another program and stays unchanged; name another file with --cache");
    if (!writes) return;
  }
  // A power cut may lose the last answers, but never the file.
  execute("PRAGMA journal_mode=WAL");
  execute("PRAGMA synchronous=NORMAL");
  if (number("PRAGMA application_id") == application_id) return;
  // Two processes may find the file empty; the second then waits for the first and finds the tables.
  execute("BEGIN IMMEDIATE");
  if (number("SELECT count(*) FROM sqlite_master") == 0) execute(tables);
  execute(fmt::format("PRAGMA application_id={}; COMMIT", application_id));
}

std::optional<std::string> CacheDatabase::value(const char* sql, const std::string& key) {
  const std::lock_guard lock(mutex_);
  const Statement statement = prepare(sql);
  check(sqlite3_bind_text(statement.get(), 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC), sql);
  const int status = sqlite3_step(statement.get());
  if (status == SQLITE_DONE) return std::nullopt;
  if (status != SQLITE_ROW) fail(sql);
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement.get(), 0));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement.get(), 0));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

void CacheDatabase::put(const char* sql, const std::string& key, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  const Statement statement = prepare(sql);
  check(sqlite3_bind_text(statement.get(), 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC), sql);
  check(sqlite3_bind_blob(statement.get(), 2, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC), sql);
  if (sqlite3_step(statement.get()) != SQLITE_DONE) fail(sql);
}

int64_t CacheDatabase::count(const char* sql) {
  const std::lock_guard lock(mutex_);
  return number(sql);
}

void CacheDatabase::clear() {
  const std::lock_guard lock(mutex_);
  execute("DELETE FROM answers");
  execute("DELETE FROM libraries");
  execute("VACUUM");
}

int64_t CacheDatabase::bytes() const {
  int64_t sum = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code absent;
    if (const auto size = fs::file_size(file_.string() + suffix, absent); !absent) sum += static_cast<int64_t>(size);
  }
  return sum;
}

}  // namespace attnprobe::asking
