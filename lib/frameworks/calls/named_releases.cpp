#include "frameworks/calls/named_releases.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace attnprobe::frameworks {

std::vector<NamedRelease> named_releases(std::string_view text) {
  static constexpr std::pair<const char*, const char*> forms[] = {
      {"torch", "\\b(?:py)?torch(?:[ _]version)?['\"]?[ :=v]{1,4}(\\d\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"jax", "\\bjax(?:lib)?(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"transformer-engine",
       "(?:transformer[ _-]?engine(?:[ _](?:torch|jax|version))?|\\bTE)['\"]?[ :=v]{1,4}(\\d\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"vllm", "\\bvllm(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"sglang", "\\bsglang(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"flashinfer", "\\bflashinfer(?:[-_]python)?(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"keras", "\\bkeras(?:[ _]version)?['\"]?[ :=v]{1,4}(3\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"diffusers", "\\bdiffusers(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"onnxruntime", "\\bonnx ?runtime(?:[-_]gpu)?(?:[ _]version)?['\"]?[ :=v]{1,4}(1\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"mlx", "\\bmlx(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)"},
      {"tensorrt", "\\btensorrt(?:[ _]version)?['\"]?[ :=v]{1,4}(\\d{1,2}\\.\\d{1,2}(?:\\.\\d+)?)"}};
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_case_sensitive(false);
  std::vector<NamedRelease> releases;
  for (const auto& [framework, form] : forms) {
    const RE2 pattern(form, options);
    re2::StringPiece found[2];
    const re2::StringPiece all(text.data(), text.size());
    for (size_t at = 0; at < text.size() && pattern.Match(all, at, text.size(), RE2::UNANCHORED, found, 2);) {
      const auto begin = static_cast<size_t>(found[0].data() - text.data());
      releases.push_back({framework, std::string(found[1].data(), found[1].size()), begin});
      at = begin + std::max<size_t>(found[0].size(), 1);
    }
  }
  return releases;
}

}  // namespace attnprobe::frameworks
