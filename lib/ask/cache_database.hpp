// The SQLite file of the cache of answers. Not installed.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace attnprobe::asking {

/// Locked by another process, full, read-only, or on a failing disk: callers can continue without it.
struct CacheOutOfReach : Error {
  explicit CacheOutOfReach(const std::string& message) : Error(ErrorKind::environment, message) {}
};

/// Any number of processes and threads share the file. Every function throws CacheOutOfReach or, for a damaged file or
/// another program's, Error(environment) with the file and the reason.
class CacheDatabase {
 public:
  enum class Access {
    write,  ///< creates the file and its folder if they are missing
    read,   ///< opens only an existing file and writes nothing
  };
  /// `patience`: how long a call waits for other processes.
  CacheDatabase(std::filesystem::path file, Access access, std::chrono::milliseconds patience);

  std::optional<std::string> value(const char* sql, const std::string& key);
  void put(const char* sql, const std::string& key, const std::string& bytes);
  int64_t count(const char* sql);
  void clear();

  /// Size on disk.
  int64_t bytes() const;

 private:
  struct CloseDatabase {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

  [[noreturn]] void fail(const std::string& what) const;
  void check(int status, const char* what) const;
  Statement prepare(const char* sql) const;
  void execute(const std::string& sql) const;
  std::string text(const char* sql) const;
  int64_t number(const char* sql) const;
  bool is_of_attnprobe() const;

  std::filesystem::path file_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::mutex mutex_;  // a connection belongs to one thread at a time
};

}  // namespace attnprobe::asking
