#include "ask/walk_cache.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "ask/cache_database.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "base/trust.hpp"
#include "cudnn/library_files.hpp"

namespace attnprobe::asking {
namespace {

namespace fs = std::filesystem;

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

// Empty for bytes not written by packed().
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

std::string plan_key(const std::string& about, int64_t engine, const probe::Knobs& knobs) {
  return digest(fmt::format("{}\nplan {} {}", about, engine, Json(knobs).dump()));
}

}  // namespace

struct WalkCache::State {
  Warn warn;
  std::optional<CacheDatabase> database;  // none if the file was out of reach from the start
  std::atomic<bool> reads = true, writes = true, warned = false;
  std::mutex mutex;
  std::map<std::string, std::string> identities;  // identities of libraries, by path
  std::string program;

  const std::string& identity(const std::string& cudnn) {
    const std::lock_guard lock(mutex);
    auto& known = identities[cudnn];
    if (known.empty()) known = cudnn::build_of_library(cudnn) + cudnn::times_of_library(cudnn);
    return known;
  }

  void give_up(const Error& why, std::atomic<bool>& what) {
    what = false;
    if (!warned.exchange(true) && warn) warn(fmt::format("{}; continuing without it", why.what()));
  }

  std::optional<std::string> value(const char* sql, const std::string& key) try {
    return reads && database ? database->value(sql, key) : std::nullopt;
  } catch (const Error& e) {
    give_up(e, reads);
    return std::nullopt;
  }

  std::string library_key(const std::string& cudnn);

  /// None if missing or damaged.
  template <class Findings>
  std::optional<Findings> findings(const std::string& key);
  void put_answer(const std::string& key, const Json& answer);

  void put(const char* sql, const std::string& key, const std::string& bytes) try {
    if (writes && database) database->put(sql, key, bytes);
  } catch (const Error& e) {
    give_up(e, writes);
  }
};

WalkCache::WalkCache(const fs::path& file, Warn warn, std::chrono::milliseconds patience)
    : state_(std::make_unique<State>()) {
  state_->warn = std::move(warn);
  try {
    state_->database.emplace(file, CacheDatabase::Access::write, patience);
  } catch (const CacheOutOfReach& e) {
    state_->give_up(e, state_->reads);
  }
  try {
    state_->program = digest(cudnn::look_of("/proc/self/exe"));
  } catch (const Error& e) {  // other programs' answers could have the same form
    state_->give_up(e, state_->reads);
    state_->writes = false;
  }
}

WalkCache::~WalkCache() = default;

std::string WalkCache::key(const graph::OpGraph& graph, const gpu::Target& target, const std::string& cudnn,
                           const probe::WalkOptions& options) {
  return digest(fmt::format("{}\n{}\n{}\n{}\n{}", hash(graph), target.properties.dump(), state_->identity(cudnn),
                            Json(options).dump(), state_->program));
}

template <class T>
std::optional<T> read_back(const std::string& text) try {
  const Json json = parse_json_leniently(text);
  return json.is_object() ? std::optional(json.get<T>()) : std::nullopt;
} catch (const std::exception&) {  // a member with another type or an unknown word
  return std::nullopt;
}

template <class Findings>
std::optional<Findings> WalkCache::State::findings(const std::string& key) {
  const auto bytes = value("SELECT findings FROM answers WHERE name = ?", key);
  return bytes ? read_back<Findings>(unpacked(*bytes)) : std::nullopt;
}

void WalkCache::State::put_answer(const std::string& key, const Json& answer) {
  put("INSERT OR REPLACE INTO answers VALUES (?, ?)", key, packed(json_text(answer)));
}

std::optional<probe::WalkFindings> WalkCache::find(const std::string& key) {
  return state_->findings<probe::WalkFindings>(key);
}

void WalkCache::store(const std::string& key, const probe::WalkFindings& findings) {
  state_->put_answer(key, findings);
}

std::optional<probe::PlanFindings> WalkCache::find_plan(const std::string& about, int64_t engine,
                                                        const probe::Knobs& knobs) {
  return state_->findings<probe::PlanFindings>(plan_key(about, engine, knobs));
}

void WalkCache::store_plan(const std::string& about, int64_t engine, const probe::Knobs& knobs,
                           const probe::PlanFindings& plan) {
  state_->put_answer(plan_key(about, engine, knobs), plan);
}

// Another build of this program may report more about a library.
std::string WalkCache::State::library_key(const std::string& cudnn) {
  return fmt::format("{}\n{}\n{}", cudnn, identity(cudnn), program);
}

std::optional<cudnn::LibraryInfo> WalkCache::library(const std::string& cudnn) {
  const auto text = state_->value("SELECT info FROM libraries WHERE name = ?", state_->library_key(cudnn));
  return text ? read_back<cudnn::LibraryInfo>(*text) : std::nullopt;
}

void WalkCache::store_library(const std::string& cudnn, const cudnn::LibraryInfo& library) {
  state_->put("INSERT OR REPLACE INTO libraries VALUES (?, ?)", state_->library_key(cudnn), Json(library).dump());
}

CacheStatistics cache_statistics(const fs::path& file) {
  CacheStatistics result;
  result.file = file.string();
  std::error_code absent;
  if (!fs::exists(file, absent)) return result;
  CacheDatabase database(file, CacheDatabase::Access::read, WalkCache::usual_patience);
  result.answers = database.count("SELECT count(*) FROM answers");
  result.libraries = database.count("SELECT count(*) FROM libraries");
  result.bytes = database.bytes();
  return result;
}

void clear_cache(const fs::path& file) {
  std::error_code absent;
  if (!fs::exists(file, absent)) return;
  CacheDatabase(file, CacheDatabase::Access::write, WalkCache::usual_patience).clear();
}

fs::path default_cache_file() {
  const auto folder = user_cache_folder();
  if (!folder) return {};
  fs::path file = *folder / "attnprobe/answers.sqlite";
  std::error_code ignored;
  return fs::exists(file, ignored) && why_not_believed(file) ? fs::path() : file;
}

}  // namespace attnprobe::asking
