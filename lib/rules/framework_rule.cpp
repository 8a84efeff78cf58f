#include "rules/framework_rule.hpp"

#include <algorithm>

#include "attention/frontends.hpp"
#include "base/text.hpp"

namespace attnprobe::rules {
namespace {

constexpr size_t release_parts = 4;  // JAX 0.12.0.1

}  // namespace

std::optional<std::vector<int>> release_numbers(std::string_view release) {
  // "0.7.2.post1": after 0.7.2 and before 0.7.3.
  const size_t post = release.find(".post");
  const std::string_view version = release.substr(0, post);
  const std::string_view after = post == std::string_view::npos ? "0" : release.substr(post + 5);
  const bool is_good = is_version(version) && !version.starts_with('.') && !version.ends_with('.') &&
                       version.find("..") == std::string_view::npos && is_version(after) &&
                       after.find('.') == std::string_view::npos;
  if (!is_good) return std::nullopt;
  std::vector<int> numbers = version_numbers(version);
  if (numbers.size() > release_parts) return std::nullopt;
  numbers.resize(release_parts);
  numbers.push_back(version_numbers(after).front());
  return numbers;
}

bool is_in_force(const ReleaseSpan& span, const std::string& release) {
  // Without known releases, the current rules.
  const std::vector<int> numbers = release.empty() ? std::vector{1'000'000} : *release_numbers(release);
  return span.first <= numbers && (span.end.empty() || numbers < span.end);  // empty numbers come before all others
}

std::string last_frontend_of(const ReleaseSpan& span) {
  const auto& all = attention::frontend_releases;
  const auto below = std::find(all.begin(), all.end(), span.below);
  return below == all.end() || below == all.begin() ? "" : *std::prev(below);
}

std::vector<std::string> placeholders_of(std::string_view text) {
  std::vector<std::string> names;
  for (size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", open + 1);
    if (end != std::string_view::npos && end > open + 1 && text[end] == '}')
      names.emplace_back(text.substr(open + 1, end - open - 1));
  }
  return names;
}

std::string filled(const std::string& text, const std::function<std::string(const std::string& key)>& value_of) {
  std::string out = text;
  for (const std::string& name : placeholders_of(text)) {
    const std::string place = "{" + name + "}";
    out.replace(out.find(place), place.size(), value_of(name));
  }
  return out;
}

std::string filled(const std::string& text, const Json& values, CudnnVersionAs cudnn) {
  return filled(text, [&](const std::string& name) {
    const Json& value = values.at(name);
    if (cudnn == CudnnVersionAs::text && name == "cudnn") return CudnnVersion::from_number(value.get<int64_t>()).text();
    return value.is_string() ? value.get<std::string>() : value.is_null() ? "none" : json_text(value);
  });
}

}  // namespace attnprobe::rules
