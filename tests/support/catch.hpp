// Catch2, version 2 (Debian 12) or 3, and helpers that tests share.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_ENABLE_OPTIONAL_STRINGMAKER
#include <catch2/catch.hpp>
#endif

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/input.hpp"

namespace attnprobe::test {

#if __has_include(<catch2/catch_all.hpp>)
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
#else
inline auto ContainsSubstring(const std::string& part) {
  return Catch::Matchers::Contains(part);
}
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
#endif

/// The root of the source tree.
inline std::filesystem::path source_dir() {
  if (const char* elsewhere = std::getenv("ATTNPROBE_SOURCE_DIR")) return elsewhere;
#ifdef ATTNPROBE_SOURCE_DIR
  return ATTNPROBE_SOURCE_DIR;
#else
  return std::filesystem::absolute(__FILE__).parent_path().parent_path();
#endif
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string fixture(const std::string& name) {
  return read_text(source_dir() / "tests" / "fixtures" / name);
}

/// A compressed fixture, unpacked by attnprobe's own code, so tests need no other program.
inline std::string unpacked_fixture(const std::string& name) {
  std::string text;
  read_input((source_dir() / "tests" / "fixtures" / name).string(), [&](std::string_view piece) { text += piece; });
  return text;
}

/// A temporary folder, removed at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attnprobe-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  /// Writes a file with this content in the folder.
  std::filesystem::path file(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// The message of the usage error that `body` throws; otherwise a description of the outcome.
template <class F>
std::string usage_error(F&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.kind() == ErrorKind::usage ? e.what() : std::string("not a usage error: ") + e.what();
  } catch (const std::exception& e) {
    return std::string("not an attnprobe::Error: ") + e.what();
  }
  return "no error";
}

}  // namespace attnprobe::test
