// Versions of libraries as values: to be read, printed and compared.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"

namespace attnprobe {

/// The numbers of "9.14.0.64", to be compared; a part that is empty counts as 0, and digits beyond six are cut off.
/// Precondition: digits and dots only.
std::vector<int> version_numbers(std::string_view version);

/// Whether a word is a version or the beginning of one ("9", "9.14", "9.14.0.64"), and not the name of a file or folder.
bool is_version(std::string_view word);

/// Whether such a word means a version: "9.14" is 9.14.0 and 9.14.1, but neither 9.1 nor 9.140.
bool is_of_version(std::string_view version, std::string_view word);

/// The version of a library, kept as the number that the library gives of itself: 91900 is 9.19.0. One that is
/// default-constructed is not known, and smaller than every other. `Library` only keeps the versions of two libraries
/// apart.
template <class Library>
class Version {
 public:
  constexpr Version() = default;
  /// Of a constant: 91900. A number that is known only when the program runs says what it is by from_number().
  consteval Version(int64_t number) : number_(number) {}
  /// 9, 19, 0. Before 9 the numbers of cuDNN were 8907 for 8.9.7.
  constexpr Version(int major, int minor, int patch)
      : number_(int64_t{major} * (major < 9 ? Library::step_below_9 : 10000) + int64_t{minor} * 100 + patch) {}

  /// As cudnnGetVersion or CUDNN_FRONTEND_VERSION gives it; 0 (or less) is "not known".
  static constexpr Version from_number(int64_t number) {
    Version version;
    version.number_ = number > 0 ? number : 0;
    return version;
  }

  /// "9.19.0", "9.19", the number 91900, or "9.19.0.56", whose build number is left out; none for any other text, and
  /// for a version whose number would not say it (a minor version or patch above 99).
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
  /// "9.19", but "9.13.1": as prose has it.
  std::string short_text() const { return patch() == 0 ? release() : text(); }

  // clang-tidy 14 takes the 0 in the comparison that this stands for as a null pointer.
  friend constexpr auto operator<=>(const Version&, const Version&) = default;  // NOLINT(modernize-use-nullptr)
  friend std::ostream& operator<<(std::ostream& out, const Version& version) { return out << version.text(); }

  // In JSON of attnprobe's own processes and caches it is the number; reports print the text.
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

/// As cudnnGetVersion gives it.
using CudnnVersion = Version<CudnnLibrary>;
/// As CUDNN_FRONTEND_VERSION has it: 12300 is 1.23.0.
using FrontendVersion = Version<FrontendLibrary>;

}  // namespace attnprobe
