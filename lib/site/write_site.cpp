// Writes the site's folder, complete or not at all.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <set>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "site/site.hpp"

namespace attnprobe::site {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& folder, const std::string& why, const std::string& what_to_do) {
  throw Error(ErrorKind::usage, fmt::format("--output {}: {}; {}", folder.string(), why, what_to_do));
}

[[noreturn]] void fail(const fs::path& path, int error) {
  throw Error(kind_of_output_error(error),
              fmt::format("{} cannot be written: {}", path.string(), std::strerror(error)));
}

Json index_of(const fs::path& folder) {
  std::ifstream in(folder / "index.json", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const Json json = parse_json_leniently(text);
  const bool is_site =
      json.is_object() && json.value("schema", Json()) == schema_name && json.value("kind", Json()) == "site";
  return is_site ? json : Json();
}

// The first entry in a folder that does not belong to a site, or "".
std::string foreign_in(const fs::path& folder, const std::set<std::string>& files) {
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    std::string name = it->path().lexically_relative(folder).generic_string();
    const fs::file_type type = it->symlink_status(error).type();
    const auto below = files.lower_bound(name + "/");
    const bool is_own_folder =
        type == fs::file_type::directory && below != files.end() && below->starts_with(name + "/");
    if (!is_own_folder && !(type == fs::file_type::regular && files.contains(name))) return name;
  }
  if (error) fail(folder, error.value());
  return "";
}

// Only a site's folder may be replaced.
void check_place(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(folder, error);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() != fs::file_type::directory) refuse(folder, "it is not a folder", "name a folder, existing or new");
  if (fs::is_empty(folder, error)) return;
  const Json index = index_of(folder);
  const std::string foreign = foreign_in(folder, index.is_null() ? std::set<std::string>() : files_of_site(index));
  if (!foreign.empty())
    refuse(folder, fmt::format("it contains {}, which `attnprobe site` did not write", foreign),
           "name another folder, or move it away");
}

// Keeping it open shows other processes that the folder is in use.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    is_held_ = descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool is_held() const { return is_held_; }

 private:
  int descriptor_ = -1;
  bool is_held_ = false;
};

constexpr std::string_view made_begin = ".attnprobe-", made_end = ".tmp";

// Removes folders of killed runs: folders with that name that no process has locked. A new folder may not be locked
// yet.
void remove_left_behind(const fs::path& beside) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const auto& entry : fs::directory_iterator(beside, error)) {
    const std::string name = entry.path().filename();
    const bool is_such = name.starts_with(made_begin) && name.ends_with(made_end) && name.size() == 31;
    if (!is_such || entry.is_symlink(error) || now - entry.last_write_time(error) < std::chrono::minutes(1)) continue;
    if (const FolderLock lock(entry.path()); lock.is_held()) fs::remove_all(entry.path(), error);
  }
}

// A folder next to the target, so that it can be renamed; removed at the end of the scope unless it was renamed.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& place) : place_(place) {
    std::random_device random;
    const fs::path beside = place.parent_path().empty() ? fs::path(".") : place.parent_path();
    std::error_code error;
    fs::create_directories(beside, error);
    if (error) fail(beside, error.value());
    remove_left_behind(beside);
    do path_ = beside / fmt::format("{}{:08x}{:08x}{}", made_begin, random(), random(), made_end);
    while (mkdir(path_.c_str(), 0777) != 0 && errno == EEXIST);
    if (!fs::is_directory(path_, error)) fail(path_, errno);
    lock_.emplace(path_);
  }
  ~NewFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const fs::path& path() const { return path_; }

  // The old folder then has this one's name and is removed with it.
  void put_in_place() {
    const bool is_there = fs::exists(fs::symlink_status(place_));
    int result = 0;
    if (!is_there) {
      result = std::rename(path_.c_str(), place_.c_str());
    } else {
      // Older C libraries have no wrapper for this call.
      constexpr unsigned exchange = 2;
      result = static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, path_.c_str(), AT_FDCWD, place_.c_str(), exchange));
      // On file systems that cannot exchange folders, the site is missing for a moment.
      if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
        std::error_code error;
        fs::remove_all(place_, error);
        result = std::rename(path_.c_str(), place_.c_str());
      }
    }
    if (result != 0) fail(place_, errno);
  }

 private:
  fs::path place_, path_;
  std::optional<FolderLock> lock_;
};

}  // namespace

SiteFigures write_site(const std::vector<fs::path>& inputs, const std::string& title, const fs::path& folder,
                       const std::function<void(const std::string& warning)>& warn, const std::atomic<bool>* stop) {
  // "site/" has no file name.
  const fs::path place = folder.has_filename() ? folder : folder.parent_path();
  check_place(place);
  NewFolder made(place);
  // A single cell log is read in place; several inputs, and reports, are joined first.
  std::optional<NewFolder> joined;
  std::optional<fs::path> cells = inputs.size() == 1 ? report::cell_log_of(inputs.front()) : std::nullopt;
  if (!cells) {
    joined.emplace(place);
    cells = joined->path() / "cells.jsonl";
    const report::Merged merged = report::merge_cells(inputs, *cells, title);
    if (merged.conflicts > 0)
      warn(fmt::format("{} cells are in several of these and differ; the last one is used", merged.conflicts));
    if (!merged.differing.empty())
      warn(fmt::format("{}{} differs between these", merged.differing.front(),
                       merged.differing.size() == 1 ? "" : fmt::format(" (and {} more)", merged.differing.size() - 1)));
  }
  const report::CellLog log(*cells);
  SiteFigures figures;
  figures.cells = make_site(log, title, [&](const std::string& name, const std::string& text) {
    if (stop != nullptr && *stop) throw Error(ErrorKind::environment, "stopped before the site was complete");
    const fs::path file = made.path() / name;
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    errno = 0;
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (error || !out) fail(folder / name, error ? error.value() : errno == 0 ? EIO : errno);
    ++figures.files;
    figures.bytes += text.size();
  });
  check_place(place);
  made.put_in_place();
  return figures;
}

}  // namespace attnprobe::site
