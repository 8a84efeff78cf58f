#include "unfinished.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "ask.hpp"
#include "base/error.hpp"

namespace attnprobe::app {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& file) {
  std::error_code unknown;
  return fs::exists(file, unknown);
}

}  // namespace

Unfinished::Unfinished(const std::string& output, bool resume) : file_(output + ".unfinished") {
  const bool was_there = is_there(file_);
  if (resume && !was_there) spdlog::info("--resume: {} does not exist; starting from the beginning", file_.string());
  try {
    if (was_there && !resume) asking::clear_cache(file_);
    cache_ = std::make_unique<asking::WalkCache>(file_, warn);
  } catch (const Error&) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: it is not the state of an interrupted run of attnprobe; move it away, or name another -o",
                    file_.string()));
  }
}

void Unfinished::remove() {
  cache_.reset();
  for (const char* part : {"", "-wal", "-shm"}) {  // the last two are SQLite's files of a killed run
    std::error_code ignored;
    fs::remove(file_.string() + part, ignored);
  }
}

}  // namespace attnprobe::app
