#include "studies/bugs/concerning_bugs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "machine/pinned_packages.hpp"

namespace attnprobe::studies {

using rules::KnownBugRule;

namespace {

CudnnVersion version_of_word(const std::string& word, const std::string& place) {
  // A framework pins a version of four numbers, or a minimum: ">=9.12.0.46".
  std::string text = word.substr(std::min(word.find_first_of("0123456789"), word.size()));
  const auto parts = split(text, '.');
  if (parts.size() > 3) text = fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
  if (const auto version = CudnnVersion::parse(text)) return *version;
  throw Error(ErrorKind::usage, fmt::format("{} {}: not a version of cuDNN; allowed: 9.19, 9.19.0", place, word));
}

// The gate for a package: "torch", "transformer-engine-cu12", "flashinfer-python".
std::optional<std::string> gate_of_package(const std::string& package) {
  for (const auto& gate : rules::framework_gates()) {
    const auto is = [&](const std::string& name) {
      return package == name || package == name + "-python" || package.starts_with(name + "-cu1");
    };
    if (is(gate.framework) || std::any_of(gate.names.begin(), gate.names.end(), is)) return gate.framework;
  }
  return std::nullopt;
}

bool is_cudnn(const std::string& package) {
  return package == "cudnn" || package.starts_with("nvidia-cudnn-cu") || package.starts_with("nvidia-cudnn-jit");
}

}  // namespace

PinnedWords pinned_words(const std::string& path) {
  PinnedWords words;
  for (const auto& [name, version] : machine::pinned_packages(path)) {
    if (is_cudnn(name)) words.cudnn = version;
    if (const auto gate = gate_of_package(name)) words.frameworks.push_back(fmt::format("{}=={}", *gate, version));
  }
  std::sort(words.frameworks.begin(), words.frameworks.end());
  words.frameworks.erase(std::unique(words.frameworks.begin(), words.frameworks.end()), words.frameworks.end());
  if (words.frameworks.empty() && words.cudnn.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: it pins neither cuDNN nor a framework that attnprobe knows", path));
  return words;
}

std::vector<CudnnVersion> versions_of(const BugWords& words) {
  std::vector<CudnnVersion> versions;
  for (const auto& word : words.cudnns) versions.push_back(version_of_word(word, words.cudnn_place));
  if (!versions.empty()) return versions;
  const auto chosen = rules::choose_gates(words.frameworks, words.framework_place);
  for (const auto& one : chosen)
    if (one.release != nullptr && !one.release->cudnn.empty())
      versions.push_back(version_of_word(one.release->cudnn, words.framework_place));
  if (versions.empty() && !chosen.empty())
    throw Error(ErrorKind::usage, fmt::format("{} {}: its cuDNN version is not known; name it with --cudnn",
                                              words.framework_place, rules::words_of(chosen)));
  return versions;
}

// Frameworks' calls have no separate types for O, the gradients or the statistics, and no strides for dense statistics.
// They have as many heads for V as for K, and neither a block mask nor a constant seed or a caller's mask for dropout.
// Nor do they use the patterns from before SDPA.
bool is_of_no_framework(const attention::AttentionSpec& spec) {
  const bool is_old = spec.pattern != attention::Pattern::sdpa && spec.pattern != attention::Pattern::sdpa_composite;
  const bool has_own_types =
      !is_fp8(spec.dtype) && (attention::output_type(spec) != spec.dtype ||
                              (is_bprop(spec) && (attention::d_output_type(spec) != spec.dtype ||
                                                  attention::gradient_type(spec) != spec.dtype)));
  const bool has_own_dropout = spec.dropout && (spec.dropout->form == attention::DropoutForm::mask ||
                                                spec.dropout->seed == attention::SeedForm::constant);
  return is_old || has_own_types || (spec.stats_dtype && *spec.stats_dtype != DataType::f32) || has_own_dropout ||
         (spec.stats_layout && !attention::is_ragged(spec)) || attention::heads_v(spec) != spec.heads_kv ||
         spec.block_mask;
}

std::vector<Reach> reach_of(const attention::AttentionSpec& spec, const std::vector<rules::ChosenGate>& frameworks,
                            CudnnVersion cudnn, int sm) {
  std::vector<Reach> reached;
  if (is_of_no_framework(spec)) return reached;
  for (const auto& chosen : frameworks) {
    const Json call = rules::describe_gate_call(*chosen.gate, spec, cudnn, sm, Json::object());
    const auto answer = rules::answer_of_gate(chosen, call, cudnn);
    if (answer.takes == rules::Takes::yes || answer.takes == rules::Takes::by_name)
      reached.push_back({rules::title_of(chosen), answer.takes == rules::Takes::by_name});
  }
  return reached;
}

std::vector<const KnownBugRule*> named_bugs(const std::vector<std::string>& ids) {
  std::vector<const KnownBugRule*> bugs;
  std::vector<std::string> known;
  for (const auto& bug : rules::known_bug_rules()) {
    known.push_back(bug.entry.id);
    if (ids.empty() || std::find(ids.begin(), ids.end(), bug.entry.id) != ids.end()) bugs.push_back(&bug);
  }
  for (const auto& id : ids)
    if (std::find(known.begin(), known.end(), id) == known.end())
      throw Error(ErrorKind::usage, fmt::format("\"{}\" is not the name of a known bug{}; `attnprobe bugs` lists them",
                                                id, did_you_mean(id, known)));
  return bugs;
}

std::vector<const KnownBugRule*> bugs_concerning(const BugWords& words) {
  const auto versions = versions_of(words);
  std::vector<const KnownBugRule*> concerning;
  for (const auto* bug : named_bugs(words.ids)) {
    const auto concerns_version = [&](std::optional<int> sm) {
      if (versions.empty()) return rules::may_apply(bug->when, std::nullopt, sm);
      return std::any_of(versions.begin(), versions.end(),
                         [&](CudnnVersion version) { return rules::may_apply(bug->when, version, sm); });
    };
    const bool concerns = words.targets.empty()
                              ? concerns_version(std::nullopt)
                              : std::any_of(words.targets.begin(), words.targets.end(),
                                            [&](const gpu::Target& target) { return concerns_version(target.sm); });
    if (concerns) concerning.push_back(bug);
  }
  return concerning;
}

}  // namespace attnprobe::studies
