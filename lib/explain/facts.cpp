#include "explain/placed_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "explain/words.hpp"
#include "frameworks/calls/named_releases.hpp"
#include "gpu/catalogue.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::explain {
namespace {

// "H100, 9.20.": no other program of this world has such versions.
void add_bare_versions(PlacedFacts& place) {
  static const RE2 bare("(?:^|[\\s(,])(9\\.[12]\\d(?:\\.\\d{1,2})?)(?:[\\s,;:?)]|\\.\\s|\\.?$)", exact_case()),
      of_prose(
          "\\b(?:with|by|from|to|and|have|la|die|le|avec|mit|con) (9\\.\\d{1,2}(?:\\.\\d{1,2})?)(?:[\\s,;:?)]|\\.\\s|\\.?$)",
          any_case()),
      of_cudnn("cudnn|\\bsdpa\\b|fused (?:attention|backward|forward)|FusedAttention", any_case());
  if (!place.facts.versions.empty() || !has_words(place.text, of_cudnn)) return;
  const auto take = [&](const std::string* words, size_t at) {
    static const RE2 other(
        "(?:[<>]=?|release|version|driver|nccl|stack|python|gcc|glibc|loss|perplexity|ppl|diff|speed-?up|score|rhel|rocky|linux|debian|accuracy|bleu|norm|error|of|was)(?: is| of)?\\W?$",
        any_case());
    const size_t begin = at - std::min<size_t>(at, 16), end = place.text.find(words[1], at) + words[1].size();
    if (begins_with_unit(place.text.substr(end)) || has_words(place.text.substr(begin, at + 1 - begin), other)) return;
    if (!is_demanded(place.text, at) && !is_denied(place.text, place.text.find(words[1], at), words[1].size()))
      place.add(is_left_behind(place, at) ? place.versions : place.facts.versions, words[1], at);
  };
  each_match(bare, place.text, take);
  if (place.facts.versions.empty() && place.facts.speaks_of_cudnn) each_match(of_prose, place.text, take);
}

// Whether the text is about several cuDNNs, or has a number that may be one and was not read.
bool has_several_versions(const PlacedFacts& place) {
  static const RE2 number("(?:^|[^\\d.\\w])(9\\.\\d{1,2})(?:\\.\\d{1,2})?(?:[^\\d.\\w]|\\.\\s|\\.?$)", exact_case());
  std::set<std::string> minors;
  for (const auto& version : place.facts.versions)
    if (const auto parsed = CudnnVersion::parse(version))
      minors.insert(fmt::format("{}.{}", parsed->major(), parsed->minor()));
  each_match(number, place.text, [&](const std::string* words, size_t at) {
    const size_t begin = place.text.find(words[1], at);
    if (!begins_with_unit(place.text.substr(at + words[0].size() - 1)) && !is_left_behind(place, begin) &&
        !is_demanded(place.text, begin))
      minors.insert(words[1]);
  });
  return place.facts.speaks_of_cudnn && !place.facts.versions.empty() && minors.size() > 1;
}

// The one that the text is about comes first.
void put_first(PlacedFacts& place, std::vector<std::string>& list, const std::string& fact, size_t at) {
  std::erase(list, fact);
  list.insert(list.begin(), fact);
  place.facts.lines.emplace(fact, place.first_line - 1 + line_at(place.page, at));
}

// PyTorch's builds for another CUDA than the package index's have another cuDNN. Source: the requirements of these wheels.
void add_cudnn_of_build(PlacedFacts& place, const frameworks::NamedRelease& release) {
  static constexpr struct {
    std::string_view release, build, cudnn;
  } builds[] = {{"2.7.", "+cu128", "9.7.1"}, {"2.9.", "+cu130", "9.13.0"}, {"2.10.", "+cu130", "9.15.1"}};
  if (release.framework != std::string_view("torch") || !place.facts.versions.empty()) return;
  for (const auto& one : builds)
    if (release.version.starts_with(one.release) && release.build.starts_with(one.build))
      place.add(place.facts.versions, std::string(one.cudnn), release.at);
}

// "bumped jax to 0.6.2", but not "we cannot upgrade jax to 0.6.2"
bool is_moved_to(const PlacedFacts& place, const frameworks::NamedRelease& release, size_t number) {
  static const RE2 to_this("\\bto v?$", any_case()),
      planned("\\b(?:cannot|can't|could|plan\\w*|want|refuse|would|will|next|not|should)\\b[^.\\n]{0,32}$", any_case());
  return has_words(place.text.substr(release.at, number - release.at), to_this) &&
         !has_words(letters_before(place.text, release.at, 48), planned);
}

void add_versions(PlacedFacts& place) {
  static const RE2 of_files("libcudnn[a-z_]*\\.so\\.(\\d+\\.\\d+\\.\\d+)\\b", any_case());
  static const RE2 in_words(
      "(?:\\b|_)(?:lib)?cudnn(?:[-_](?:jit[-_])?cu\\d\\d)?(?:[-_ ]backend)?(?: version|_version| graph api| backend)?['\"*]{0,2}(?: is| at|:| (?:was |is |got )?(?:replaced (?:by|with)|swapped for|upgraded to|updated to|in version|is now))?[ :=v|(-]{0,24}[*'\"]{0,2}([7-9]\\.\\d{1,2}(?:\\.\\d{1,2})?)\\b",
      any_case());
  static const RE2 missing("(?:unable to load|could not load|cannot load|cannot find|not found)[^\\n]{0,200}$",
                           any_case());
  // "No matching distribution found for nvidia-cudnn-cu12==9.1.0.70", "since cuDNN 9.1 windows are supported".
  static const RE2 unfound(
      "No matching distribution|Could not find a version that satisfies|\\bsince cudnn [^\\n]{0,80}\\bsupported|\\bsupported[^.\\n]{0,24} (?:since|from) cudnn",
      any_case());
  static const RE2 or_newer("^(?: or| and) (?:newer|later|above)");
  for (const RE2* versions : {&of_files, &in_words})
    each_match(*versions, place.text, [&](const std::string* words, size_t at) {
      const std::string_view before = letters_before(place.text, at, 240);
      const size_t end = at + words[0].size();
      const bool is_least = end < place.text.size() && place.text[end] == '+';  // "9.13.1+"
      if (is_least || is_denied(place.text, at, words[0].size()) || has_words(sentence_at(place.text, at), unfound))
        return;
      if (versions == &of_files && has_words(before, missing)) return;
      // collect_env's search, which does not show what the process loads.
      static const RE2 candidates("Probably one of the following:[^\\[]*$", exact_case());
      if (versions == &of_files && has_words(before, candidates)) {
        place.add(place.versions, words[1], at);
        return;
      }
      if ((is_demanded(place.text, at) && !is_built_with(place.text, at)) ||
          has_words(place.text.substr(end, 10), or_newer))
        return;
      const bool is_left = is_left_behind(place, at) || is_built_with(place.text, at);
      place.add(is_left ? place.versions : place.facts.versions, words[1], at);
      static const RE2 still("\\b(?:still|too|as well|also|the same|both)\\b", any_case());
      const std::string_view sentence = sentence_at(place.text, at);
      if (!sentence.ends_with('?') && !is_left && has_words(sentence, still))
        add_fact(place.facts.failing_cudnns, words[1]);
    });
  // "cuDNN 9.25.0 and 9.27.0", "from cuDNN 9.25.1 to 9.27.0".
  static const RE2 others(
      "\\bcudnn [\\d.]{3,8}(?:,| and| to| ->| or|/) ?(?:cudnn )?(\\d\\.\\d{1,2}(?:\\.\\d{1,2})?)\\b", any_case());
  each_match(others, place.text,
             [&](const std::string* words, size_t at) { place.add(place.facts.versions, words[1], at); });
  // "CuDNN (v91900 ", "cuDNN version: 8907", "cudnn 90000".
  static const RE2 of_logs(
      "\\bcudnn(?: \\(v|(?:[-_. ]backend)?(?:[_. ]version)?['\"]?(?:\\(\\))?[`'\")]{0,2}[ :=>-]{1,4}(?:(?:prints?|says|returns?|gives?|reports?|shows?|is|\u8f93\u51fa|\u663e\u793a|\u662f) ?)?|\\bcudnn\\b[^\\n]{0,80}\\bcurrent version is |GetVersion\\(\\)[^\\n\\d]{0,40})(8\\d{3}|9\\d{4})\\b",
      any_case());
  each_match(of_logs, place.text, [&](const std::string* words, size_t at) {
    const std::string version = CudnnVersion::from_number(number_in(words[1])).text();
    place.add(place.facts.versions, version, at);
    // The process itself says so, whatever is installed.
    std::vector<std::string>& versions = place.facts.versions;
    if (words[0].find("GetVersion") != std::string::npos || words[0].starts_with("cudnn.version()"))
      std::stable_partition(versions.begin(), versions.end(), [&](const auto& one) { return one == version; });
  });
  add_bare_versions(place);
  // "after upgrading to 9.23.1"
  static const RE2 upgraded(
      "\\b(?:after|since) (?:the |we |i )?(?:upgrad|update|updating|switch|mov)\\w* (?:\\w+ ){0,2}to (?:cudnn )?v?(9\\.\\d{1,2}\\.\\d{1,2})\\b|"
      "\\bnow (?:we are |we're |we have |I am |I'm |I have )?(?:on |at |with |using )?(?:cudnn )?(9\\.\\d{1,2}(?:\\.\\d{1,2})?)\\b",
      any_case());
  each_match(upgraded, place.text, [&](const std::string* words, size_t at) {
    if (!place.facts.speaks_of_cudnn || sentence_at(place.text, at).ends_with('?')) return;
    put_first(place, place.facts.versions, first_group(words), at);
  });
  place.facts.has_several_cudnns = place.facts.has_several_cudnns || has_several_versions(place);
  static const RE2 frontends(
      "\\b(?:cudnn[-_ ]?frontend|FE)(?: C\\+\\+| version| at| @| Python)?[ :=v]{1,3}(1\\.\\d{1,2}(?:\\.\\d{1,2})?)\\b",
      any_case());
  each_match(frontends, place.text,
             [&](const std::string* words, size_t at) { place.add(place.facts.frontends, words[1], at); });
  // "FE 1.24.0, backend 9.24.0"
  static const RE2 of_frontend("\\bbackend (?:version )?(9\\.\\d{1,2}(?:\\.\\d{1,2})?)\\b", any_case());
  if (!place.facts.frontends.empty() && place.facts.versions.empty())
    each_match(of_frontend, place.text,
               [&](const std::string* words, size_t at) { place.add(place.facts.versions, words[1], at); });
  place.facts.speaks_of_cudnn = place.facts.speaks_of_cudnn || !place.facts.frontends.empty();
  static const RE2 moved_to("^[^\\s]* ?(?:to|->|=>|\xe2\x86\x92) ?v?(\\d{1,2}\\.\\d{1,2}(?:\\.\\d{1,2})?)\\b",
                            any_case());
  for (const frameworks::NamedRelease& release : frameworks::named_releases(place.text)) {
    static const RE2 required("^[^\\n]{0,24} (?:is|are) (?:required|needed)|^(?:ROCM|CUDA) used to build", any_case());
    static const RE2 build("\\bused to build $", any_case());
    if (is_demanded(place.text, release.at) || has_words(place.text.substr(release.at, 64), required) ||
        has_words(letters_before(place.text, release.at, 16), build))
      continue;
    if (release.build.starts_with("+rocm") || release.build.starts_with("+xpu") || release.build.starts_with("+cpu")) {
      place.add(place.facts.other_gpus, release.framework + release.build, release.at);
      place.facts.is_other_gpu_first = place.facts.is_other_gpu_first || release.build != "+cpu";
    }
    const size_t end = place.text.find(release.version, release.at) + release.version.size();
    std::string next;
    const bool is_moved = RE2::PartialMatch(piece(place.text.substr(end, 24)), moved_to, &next);
    if (is_moved) place.add(place.facts.frameworks, release.framework + "==" + next, end);
    const bool is_left = is_moved || is_left_behind(place, release.at);
    const std::string named = release.framework + "==" + release.version;
    // The release that the text is about comes first.
    if (!place.facts.frameworks.empty() && is_moved_to(place, release, end - release.version.size())) {
      put_first(place, place.facts.frameworks, named, release.at);
    }
    place.add(is_left ? place.frameworks : place.facts.frameworks, named, release.at);
    if (release.build.find(".nv") != std::string::npos) place.facts.nvidia_builds.insert(named);
    if (!is_left) add_cudnn_of_build(place, release);
  }
}

}  // namespace

std::vector<int> TextFacts::all_sms() const {
  std::vector<int> all = sms;
  for (const auto& id : gpus)
    if (const gpu::Target* target = gpu::find(id)) all.push_back(target->sm);
  return all;
}

bool TextFacts::is_of_other_makers() const {
  if (other_gpus.empty()) return false;
  return (is_other_gpu_first && !asks_on_nvidia) || (gpus.empty() && sms.empty());
}

std::string TextFacts::target() const {
  if (!gpus.empty()) return gpus.front();
  for (const int sm : sms)
    for (const gpu::Target& target : gpu::catalogue())
      if (target.sm == sm) return fmt::format("sm_{}", sm);
  return "";
}

void add_facts(TextFacts& facts, std::string_view text, int64_t first_line) {
  const std::string prose = as_prose(text);
  PlacedFacts place{facts, prose, text, first_line};
  add_gpus(place);
  add_sms(place);
  add_subject(place);
  add_versions(place);
  if (facts.all_sms().empty())
    for (const auto& id : place.gpus) add_fact(facts.gpus, id);
  for (const auto& version : place.versions) add_fact(facts.versions, version);
  for (const auto& release : place.frameworks) add_fact(facts.frameworks, release);
}

std::vector<std::string> told_in_words(const TextFacts& facts) {
  std::vector<std::string> told;
  const auto add = [&](const std::string& words, const std::string& value) {
    const auto line = facts.lines.find(value);
    told.push_back(line == facts.lines.end() ? words : fmt::format("{} (line {})", words, line->second));
  };
  for (const auto& version : facts.versions) add("cuDNN " + version, version);
  for (const auto& release : facts.frontends) add("cudnn-frontend " + release, release);
  for (const auto& framework : facts.frameworks) add(framework, framework);
  if (facts.versions.empty() && facts.other_gpus.empty())
    if (const auto brought = cudnns_brought(facts); brought.size() == 1)
      told.push_back(fmt::format("its release uses cuDNN {} (other builds may differ)", brought.front()));
  for (const auto& id : facts.gpus) add("GPU " + id, id);
  for (const auto& name : facts.other_gpus) add("not an NVIDIA GPU: " + name, name);
  for (const int sm : facts.sms) told.push_back(fmt::format("compute capability {}.{} (sm_{})", sm / 10, sm % 10, sm));
  if (!facts.engines.empty())
    told.push_back(fmt::format("engine{} {}", facts.engines.size() == 1 ? "" : "s", fmt::join(facts.engines, ", ")));
  for (const auto& graph : facts.graphs)
    if (const std::string words = graph_in_words(graph); !words.empty())
      add(fmt::format("the graph {} is {}", graph, words), graph);
  for (const auto& kernel : facts.kernels)
    add(fmt::format("the kernel {} is {}", kernel, kernel_in_words(kernel)), kernel);
  if (facts.is_about_others()) told.push_back("it is about " + facts.other_operations.front() + ", not attention");
  if (facts.raised.program != nullptr)
    told.push_back(fmt::format("{} raised line {} (by {})", facts.raised.name, facts.raised.line, facts.raised.how));
  if (facts.has_frames && !facts.has_error)
    told.emplace_back("the traceback is cut off before the error message; include the last line");
  return told;
}

bool is_failure(Trouble trouble) {
  return trouble == Trouble::wrong || trouble == Trouble::crash || trouble == Trouble::hang;
}

std::vector<std::string> cudnns_told(const TextFacts& facts) {
  return facts.versions.empty() ? cudnns_brought(facts) : facts.versions;
}

std::vector<std::string> cudnns_brought(const TextFacts& facts) {
  std::vector<std::string> versions;
  for (const auto& framework : facts.frameworks) try {
      if (facts.nvidia_builds.contains(framework)) continue;
      for (const auto& chosen : rules::choose_gates({framework}, "the text")) {
        if (chosen.release == nullptr || !chosen.asked.empty()) continue;
        const std::string& pinned = chosen.release->cudnn;
        if (const auto version = CudnnVersion::parse(pinned.substr(0, pinned.rfind('.'))); version)
          add_fact(versions, version->text());
        else if (const auto short_one = CudnnVersion::parse(pinned); short_one)
          add_fact(versions, short_one->text());
      }
    } catch (const Error&) {
      continue;  // a release without a known gate
    }
  return versions;
}

}  // namespace attnprobe::explain
