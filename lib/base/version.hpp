// Versions of libraries as values that can be parsed, printed and compared.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace attnprobe {

/// The numbers of "9.14.0.64" for comparison. An empty part counts as 0; at most six digits of a part count.
/// Precondition: only digits and dots.
std::vector<int> version_numbers(std::string_view version);

/// Whether a word is a version or a prefix of one ("9", "9.14", "9.14.0.64"), not the name of a file or folder.
bool is_version(std::string_view word);

/// Whether such a word covers a version: "9.14" covers 9.14.0 and 9.14.1, but not 9.1 or 9.140.
bool is_of_version(std::string_view version, std::string_view word);

/// The version of a library, stored as the library reports it: 91900 is 9.19.0. A default-constructed version is
/// unknown and compares below all others. `Library` keeps the versions of two libraries apart.
template <class Library>
class Version {
 public:
  constexpr Version() = default;
  /// For a constant: 91900. Use from_number() for numbers known only at run time.
  consteval Version(int64_t number) : number_(number) {}
  /// 9, 19, 0. Before 9, cuDNN's numbers had another form: 8907 for 8.9.7.
  constexpr Version(int major, int minor, int patch)
      : number_(int64_t{major} * (major < 9 ? Library::step_below_9 : 10000) + int64_t{minor} * 100 + patch) {}

  /// From cudnnGetVersion or CUDNN_FRONTEND_VERSION; 0 or less is unknown.
  static constexpr Version from_number(int64_t number) {
    Version version;
    version.number_ = number > 0 ? number : 0;
    return version;
  }

  /// Parses "9.19.0", "9.19", "91900" or "9.19.0.56" (the build number is dropped). None for other text, and for a
  /// minor version or patch above 99, which the number cannot represent.
  static std::optional<Version> parse(std::string_view text) {
    const bool has_empty_part = text.starts_with('.') || text.ends_with('.') || text.find("..") != text.npos;
    if (!is_version(text) || has_empty_part) return std::nullopt;
    const std::vector<int> numbers = version_numbers(text);
    if (numbers.size() == 1 && numbers[0] >= 1000 && text.size() <= 6) return from_number(numbers[0]);
    if (numbers.size() < 2 || numbers.size() > 4) return std::nullopt;
    const int patch = numbers.size() > 2 ? numbers[2] : 0;
    if (std::max({numbers[0], numbers[1], patch}) > 99) return std::nullopt;
    return Version(numbers[0], numbers[1], patch);
  }

  constexpr bool is_known() const { return number_ != 0; }
  constexpr int64_t number() const { return number_; }
  constexpr int major() const { return static_cast<int>(number_ / step()); }
  constexpr int minor() const { return static_cast<int>(number_ % step() / 100); }
  constexpr int patch() const { return static_cast<int>(number_ % 100); }

  /// "9.19"
  std::string release() const { return std::to_string(major()) + "." + std::to_string(minor()); }
  /// "9.19.0"
  std::string text() const { return release() + "." + std::to_string(patch()); }
  /// "9.19", but "9.13.1": the form for prose.
  std::string short_text() const { return patch() == 0 ? release() : text(); }

  // clang-tidy 14 mistakes the 0 in the generated comparison for a null pointer.
  friend constexpr auto operator<=>(const Version&, const Version&) = default;  // NOLINT(modernize-use-nullptr)
  friend std::ostream& operator<<(std::ostream& out, const Version& version) { return out << version.text(); }

  // The number, for attnprobe's own processes and caches; reports print the text.
  friend void to_json(Json& json, const Version& version) { json = version.number_; }
  friend void from_json(const Json& json, Version& version) { version = from_number(json.get<int64_t>()); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number_);
  }

 private:
  constexpr int64_t step() const { return number_ < 10000 ? Library::step_below_9 : 10000; }
  int64_t number_ = 0;
};

struct CudnnLibrary {
  static constexpr int64_t step_below_9 = 1000;
};
struct FrontendLibrary {
  static constexpr int64_t step_below_9 = 10000;
};

/// As cudnnGetVersion returns it.
using CudnnVersion = Version<CudnnLibrary>;
/// As in CUDNN_FRONTEND_VERSION: 12300 is 1.23.0.
using FrontendVersion = Version<FrontendLibrary>;

}  // namespace attnprobe
