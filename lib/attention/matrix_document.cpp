#include "attention/matrix_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "attention/read_configs.hpp"
#include "base/error.hpp"
#include "base/input.hpp"
#include "base/json_reader.hpp"
#include "base/limits.hpp"

namespace attnprobe::attention {
namespace {

namespace fs = std::filesystem;

// Limits on documents that name documents: ten files that each name ten others would make ten billion reads.
constexpr size_t most_documents = 10'000, longest_chain = 32;

constexpr const char* axis_keys[] = {"targets", "cudnn", "framework", "config_files"};

// Matching files, by name; `pattern` itself if it has no wildcard. `where` begins the error.
std::vector<std::string> matching_files(const std::string& pattern, const std::string& where) {
  if (pattern.find_first_of("*?[") == std::string::npos) return {pattern};
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  if (files.empty()) throw Error(ErrorKind::usage, fmt::format("{}{}: no file matches", where, pattern));
  return files;
}

std::vector<JsonView> words_of(const JsonView& document, const char* key) {
  const auto given = document.find(key);
  if (!given) return {};
  return given->json().is_array() ? given->values() : std::vector<JsonView>{*given};
}

class Reader {
 public:
  explicit Reader(const std::vector<Override>& overrides) : overrides_(overrides) {}

  void read(const std::string& file) {
    const JsonSource source{input_name(file)};
    if (++documents_ > most_documents)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: \"config_files\" reads more than {} documents, counting repetitions", source.name,
                              most_documents));
    const Json json = load_json(file);
    const JsonView document(json, source);
    const bool names_axes =
        std::any_of(std::begin(axis_keys), std::end(axis_keys), [&](const char* axis) { return document.has(axis); });
    if (!names_axes) return add_configs(document);
    for (const auto& word : words_of(document, "targets")) all_.targets.push_back(word.text());
    for (const auto& word : words_of(document, "cudnn")) all_.cudnns.push_back(word.text());
    for (const auto& word : words_of(document, "framework")) all_.frameworks.push_back(word.text());
    open_.push_back(file);
    for (const auto& pattern : words_of(document, "config_files")) read_further(file, pattern);
    open_.pop_back();
    Json rest = json;
    for (const char* axis : axis_keys) rest.erase(axis);
    rest.erase("$schema");
    if (!rest.empty() || !document.has("config_files")) add_configs({rest, source});
  }

  MatrixDocument take() { return std::move(all_); }

 private:
  void add_configs(const JsonView& document) {
    auto configs = read_configs(document, overrides_);
    check_limit(limits::configs, all_.configs.size() + configs.size(), document.source().name,
                "configs with those of the documents before it");
    for (auto& config : configs) all_.configs.push_back(std::move(config));
  }

  void read_further(const std::string& file, const JsonView& pattern) {
    const std::string path = (fs::path(file).parent_path() / pattern.text()).lexically_normal().string();
    for (const auto& other : matching_files(path, pattern.where() + ": ")) {
      std::error_code ignored;
      const fs::file_status status = fs::status(other, ignored);
      if (!fs::exists(status))
        pattern.fail(fmt::format("{} refers to {}, which does not exist", pattern.shown(), other));
      if (fs::is_directory(status))
        pattern.fail(fmt::format("{} refers to {}, which is a folder", pattern.shown(), other));
      const auto same = std::find_if(open_.begin(), open_.end(), [&](const std::string& open) {
        std::error_code none;
        return fs::equivalent(open, other, none);
      });
      if (same != open_.end()) {
        std::vector<std::string> chain(same, open_.end());
        chain.push_back(other);
        pattern.fail(fmt::format("{} reads itself: {}", pattern.shown(), fmt::join(chain, " -> ")));
      }
      if (open_.size() >= longest_chain)
        pattern.fail(fmt::format("{} makes a chain of {} documents; allowed: {}", pattern.shown(), open_.size() + 1,
                                 longest_chain));
      read(other);
    }
  }

  const std::vector<Override>& overrides_;
  MatrixDocument all_;
  size_t documents_ = 0;
  std::vector<std::string> open_;  // documents being read, each named by the previous one
};

}  // namespace

MatrixDocument load_matrix_documents(const std::vector<std::string>& patterns, const std::vector<Override>& overrides) {
  if (patterns.empty()) return {configs_from_options(overrides), {}, {}, {}};
  Reader reader(overrides);
  for (const auto& pattern : patterns)
    for (const auto& file : matching_files(pattern, "")) reader.read(file);
  MatrixDocument all = reader.take();
  if (all.configs.empty()) throw Error(ErrorKind::usage, fmt::format("{}: no config in it", fmt::join(patterns, ", ")));
  return all;
}

}  // namespace attnprobe::attention
