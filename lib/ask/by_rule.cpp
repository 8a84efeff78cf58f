#include "ask/by_rule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "answer/judge.hpp"
#include "ask/reproduce.hpp"
#include "base/error.hpp"
#include "fetch/releases.hpp"

namespace attnprobe::asking {
namespace {

// Releases before 9.8, which lib/fetch does not have, in NVIDIA's packages; of cuDNN 8 the newest of two minor versions.
constexpr CudnnVersion old_releases[] = {{8, 8, 1}, {8, 9, 7}, {9, 0, 0}, {9, 1, 0}, {9, 1, 1}, {9, 2, 0}, {9, 2, 1},
                                         {9, 3, 0}, {9, 4, 0}, {9, 5, 0}, {9, 5, 1}, {9, 6, 0}, {9, 7, 0}, {9, 7, 1}};

CudnnVersion version_of(const fetch::KnownRelease& release) {
  return CudnnVersion::parse(release.version).value();
}

Answer answer(const Question& question, const gpu::Target& target, CudnnVersion version, const PlanOptions& options) {
  Answer result;
  static_cast<Question&>(result) = question;
  result.target = target;
  result.cudnn_version = version;
  if (question.has_spec()) result.graph = build::build_graph(question.config.spec, {version, target.sm});
  judge_by_rule(result, options.frameworks, options.constraints.deterministic);
  result.reproduce = reproduce_command(question_command(question, options), target, version.text());
  return result;
}

}  // namespace

std::optional<CudnnVersion> named_version(const std::string& word) {
  const auto version = CudnnVersion::parse(word);
  if (!version || !version->is_known() || *version > newest_version()) return std::nullopt;
  const bool names_patch = std::count(word.begin(), word.end(), '.') != 1;
  if (names_patch) return version;
  if (const fetch::KnownRelease* release = fetch::known_release(word)) return version_of(*release);
  const auto newest = std::find_if(std::rbegin(old_releases), std::rend(old_releases),
                                   [&](CudnnVersion old) { return is_of_version(old.text(), word); });
  return newest != std::rend(old_releases) ? *newest : version;
}

std::vector<CudnnVersion> releases_of_cudnn_9() {
  std::vector<CudnnVersion> releases;
  std::copy_if(std::begin(old_releases), std::end(old_releases), std::back_inserter(releases),
               [](CudnnVersion old) { return old >= CudnnVersion(9, 0, 0); });
  for (const fetch::KnownRelease& release : fetch::known_releases()) releases.push_back(version_of(release));
  return releases;
}

CudnnVersion newest_version() {
  return version_of(fetch::known_releases().back());
}

std::optional<CudnnVersion> version_by_rule(const std::string& word, const std::vector<gpu::Target>& targets) {
  const auto version = named_version(word);
  const bool is_old = version && *version < first_that_simulates;
  const auto is_simulated = [](const gpu::Target& target) { return target.kind == gpu::Kind::simulated; };
  return is_old && std::all_of(targets.begin(), targets.end(), is_simulated) ? version : std::nullopt;
}

std::string why_by_rule(CudnnVersion version) {
  if (version < first_that_simulates)
    return fmt::format("cuDNN {} cannot simulate a GPU; {} is the first that can", version.text(),
                       first_that_simulates.short_text());
  return fmt::format("cuDNN {} is not installed; `attnprobe cudnn fetch {}` downloads it", version.text(),
                     version.text());
}

Answers answer_by_rule(const std::vector<Question>& questions, const std::vector<gpu::Target>& targets,
                       CudnnVersion version, const PlanOptions& options, const OnAnswer& on_answer, size_t before) {
  Answers answers;
  answers.results.reserve(questions.size() * targets.size());
  if (options.constraints.max_workspace_bytes || !options.constraints.notes.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "--cudnn {}: rules cannot check --max-workspace and --require-note; a cuDNN from {} on can be asked",
            version.text(), first_that_simulates.text()));
  for (const auto& question : questions) {
    if (!question.has_spec())
      throw Error(ErrorKind::usage,
                  fmt::format("--cudnn {}: {}. The rules cover attention configs, not graphs such as {}",
                              version.text(), why_by_rule(version), question.given->description));
    for (const auto& target : targets) {
      answers.results.push_back(answer(question, target, version, options));
      if (on_answer) on_answer(answers.results.back(), before + answers.results.size() - 1);
    }
  }
  return answers;
}

}  // namespace attnprobe::asking
