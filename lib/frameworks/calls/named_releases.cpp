#include "frameworks/calls/named_releases.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace attnprobe::frameworks {

namespace {

struct Form {
  const char* framework;
  RE2 pattern;
};

RE2::Options any_case() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_case_sensitive(false);
  return options;
}

// Compiled once, because compiling takes longer than reading a short text.
const auto& forms() {
  static const RE2::Options options = any_case();
  static const Form all[] = {
      {"torch", {"\\b(?:py)?torch(?:[ _]version)?['\"]?[ :=v]{1,4}(\\d\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"jax", {"\\bjax(?:lib)?(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"transformer-engine",
       {"(?:transformer[ _-]?engine(?:[ _](?:torch|jax|version))?|\\bTE)['\"]?[ :=v]{1,4}(\\d\\.\\d{1,2}(?:\\.\\d+)?)",
        options}},
      {"vllm", {"\\bvllm(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"sglang", {"\\bsglang(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"flashinfer",
       {"\\bflashinfer(?:[-_]python)?(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"keras", {"\\bkeras(?:[ _]version)?['\"]?[ :=v]{1,4}(3\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"diffusers", {"\\bdiffusers(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"onnxruntime",
       {"\\bonnx ?runtime(?:[-_]gpu)?(?:[ _]version)?['\"]?[ :=v]{1,4}(1\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"mlx", {"\\bmlx(?:[ _]version)?['\"]?[ :=v]{1,4}(0\\.\\d{1,2}(?:\\.\\d+)?)", options}},
      {"tensorrt", {"\\btensorrt(?:[ _]version)?['\"]?[ :=v]{1,4}(\\d{1,2}\\.\\d{1,2}(?:\\.\\d+)?)", options}}};
  return all;
}

}  // namespace

std::vector<NamedRelease> named_releases(std::string_view text) {
  std::vector<NamedRelease> releases;
  for (const auto& [framework, pattern] : forms()) {
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
