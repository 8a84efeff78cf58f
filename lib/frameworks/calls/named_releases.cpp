#include "frameworks/calls/named_releases.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace attnprobe::frameworks {

namespace {

struct Form {
  Form(const char* name, const std::string& words, const char* major, const char* build = "((?:a0)?\\+[\\w.]*)?")
      : framework(name),
        pattern(
            "(?:" + words +
                ")(?:[ _-](?:version|nightly|release|wheels?|build|diffusion)|\\.__version__|\\nVersion)?['\"`)]{0,2}"
                "(?: (?:is|at|to|from|==))?[ :=v|(@]{0,4}['\"]?(" +
                major + "\\.\\d{1,2}(?:\\.\\d+)?)" + build,
            any_case()) {}

  static RE2::Options any_case() {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_case_sensitive(false);
    return options;
  }

  const char* framework;
  RE2 pattern;
};

// Compiled once, because compiling takes longer than reading a short text.
const auto& forms() {
  static const Form all[] = {
      {"torch", "\\b(?:py)?torch", "\\d"},
      {"jax", "\\bjax(?:lib)?", "0"},
      {"transformer-engine", "transformer[ _-]?engine(?:[ _](?:torch|jax))?|\\bTE(?:[ -](?:torch|jax))?", "\\d"},
      {"vllm", "\\bvllm", "0"},
      {"sglang", "\\bsglang", "0"},
      {"flashinfer", "\\bflashinfer(?:[-_]python)?", "0"},
      {"keras", "\\bkeras", "3"},
      {"diffusers", "\\bdiffusers", "0"},
      {"onnxruntime", "\\bonnx ?runtime(?:[-_ ]gpu)?|\\bORT", "1"},
      {"mlx", "\\bmlx", "0"},
      {"tensorrt", "\\btensorrt", "\\d{1,2}"},
      // "2.13.0+cu130" is a build of PyTorch.
      {"torch", "(?:^|[\\s(,])", "2", "(\\+cu\\d{3}[\\w.]*)"}};
  return all;
}

}  // namespace

std::vector<NamedRelease> named_releases(std::string_view text) {
  std::vector<NamedRelease> releases;
  for (const auto& [framework, pattern] : forms()) {
    re2::StringPiece found[3];
    const re2::StringPiece all(text.data(), text.size());
    for (size_t at = 0; at < text.size() && pattern.Match(all, at, text.size(), RE2::UNANCHORED, found, 3);) {
      const auto begin = static_cast<size_t>(found[0].data() - text.data());
      releases.push_back({framework, std::string(found[1].data(), found[1].size()),
                          std::string(found[2].data() == nullptr ? "" : found[2].data(), found[2].size()), begin});
      at = begin + std::max<size_t>(found[0].size(), 1);
    }
  }
  return releases;
}

}  // namespace attnprobe::frameworks
