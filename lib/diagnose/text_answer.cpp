#include "diagnose/text_answer.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <compare>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>

#include "diagnose/candidates.hpp"
#include "diagnose/conflicts.hpp"
#include "diagnose/error_lines.hpp"
#include "diagnose/gpu_families.hpp"
#include "diagnose/named_programs.hpp"
#include "diagnose/next_steps.hpp"
#include "diagnose/other_failures.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"
#include "diagnose/stated.hpp"
#include "diagnose/text_lines.hpp"
#include "diagnose/text_reading.hpp"
#include "diagnose/torch_kernels.hpp"

namespace attnprobe::diagnose {
namespace {

void set_place(Refusal& refusal, const Place& place) {
  refusal.said = place.said;
  refusal.line = place.line;
  refusal.first_line = place.first_line;
  refusal.times = place.times;
  refusal.in_log = place.in_log;
}

std::vector<std::string> told_in_words(const TextFacts& facts) {
  std::vector<std::string> told;
  const auto list = [&](const std::string& what, const std::vector<std::string>& names) {
    std::string all;
    for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
    if (!all.empty()) told.push_back(what.empty() ? all : what + " " + all);
  };
  list("it names", facts.programs);
  list("cuDNN", facts.versions);
  list("", facts.frameworks);
  if (facts.versions.empty())
    if (const auto brought = cudnns_brought(facts); brought.size() == 1)
      told.push_back(fmt::format("whose wheels bring cuDNN {}, another CUDA's perhaps another", brought.front()));
  for (const auto& id : facts.gpus) told.push_back("GPU " + id);
  for (const auto& family : facts.families) told.push_back("a GPU of " + family);
  for (const int sm : facts.sms) told.push_back(fmt::format("compute capability {}.{} (sm_{})", sm / 10, sm % 10, sm));
  std::string engines;
  for (const int64_t engine : facts.engines) engines += fmt::format("{}{}", engines.empty() ? "" : ", ", engine);
  if (!engines.empty()) told.push_back(fmt::format("engine{} {}", facts.engines.size() == 1 ? "" : "s", engines));
  for (const auto& graph : facts.graphs)
    if (const std::string words = graph_in_words(graph); !words.empty())
      told.push_back(fmt::format("the graph {} is {}", graph, words));
  for (const auto& shape : facts.shapes) told.push_back("Q has the sizes " + shape);
  for (const auto& dtype : facts.dtypes) told.push_back("data type " + dtype);
  for (const auto& kernel : facts.kernels)
    told.push_back(fmt::format("the kernel {} is {}", kernel, kernel_in_words(kernel)));
  if (facts.is_about_others())
    told.push_back("it speaks of " + facts.other_operations.front() + ", and of no attention");
  if (facts.has_frames && !facts.has_error)
    told.push_back("it is a traceback without its last line, which is the error itself: give that line, too");
  return told;
}

// cuDNN's statuses and cudnn-frontend's sentences are the same for every operation; what they mean for attention does
// not hold then.
bool may_be_another_operations(const Refusal& refusal) {
  return refusal.layer == Layer::execution || refusal.layer == Layer::plan_compilation ||
         refusal.layer == Layer::cudnn_engine || refusal.layer == Layer::cudnn_heuristics ||
         refusal.kind == SentenceKind::general || refusal.who == "cuDNN";
}

void say_it_is_no_attention(std::vector<Refusal>& refusals, const std::string& operation) {
  std::erase_if(refusals, [](const Refusal& refusal) {
    return refusal.kind == SentenceKind::general && refusal.layer == Layer::framework;
  });
  for (Refusal& refusal : refusals) {
    if (refusal.layer == Layer::environment || !may_be_another_operations(refusal)) continue;
    refusal.headline =
        fmt::format("It failed in cuDNN or CUDA, and not in attention: the text speaks of {}", operation);
    refusal.causes.clear();
    refusal.help = "attnprobe answers for attention alone";
    refusal.next = "CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=stderr with the program shows cuDNN's own reason";
  }
}

// Causes that are another GPU's than those that the text names are none.
void drop_other_gpus(std::vector<std::string>& causes, const TextFacts& facts) {
  const std::vector<int> sms = facts.all_sms();
  if (sms.empty()) return;
  const auto is_here = [&](const GpuFamily& family) {
    return std::any_of(sms.begin(), sms.end(), [&](int sm) { return sm >= family.least && sm < family.below; });
  };
  const bool none_is_old = std::all_of(sms.begin(), sms.end(), [](int sm) { return sm >= 80; });
  static const RE2 old_gpus(
      "^(?:an? )?(?:GPU (?:before|older than) Ampere|(?:[\\w ]+, )*(?:T4|V100|P100|P40|RTX 20\\w*|GTX\\b|Turing|Volta|Pascal)\\b)",
      any_case());
  std::erase_if(causes, [&](const std::string& cause) {
    if (none_is_old && has_words(cause, old_gpus)) return true;
    bool named = false, here = false;
    for (const GpuFamily& family : gpu_families)
      if (cause.find(" on " + std::string(family.name)) != std::string::npos) {
        named = true;
        here = here || is_here(family);
      }
    return named && !here;
  });
}

// Where only symptoms are told, or that a call failed, and a bug shows so, the step is to look for it.
void name_bug(TextAnswer& answer) {
  if (answer.refusals.empty() || answer.bugs.empty() || !answer.bugs.front().is_strong ||
      answer.bugs.front().experiment.empty())
    return;
  Refusal& first = answer.refusals.front();
  if (first.kind == SentenceKind::refusal && first.layer != Layer::execution) return;
  first.help += (first.help.empty() ? "" : "; ") + first.next;
  first.next = fmt::format("attnprobe bugs run {} --target device:0 on that GPU shows whether it is there; {}",
                           answer.bugs.front().id, answer.bugs.front().advice);
}

// A log's warning of the machine, or less: what ended the program stands elsewhere.
bool is_logged_warning(const Refusal& refusal) {
  static const RE2 warning("^.{0,40}(?:\\bWARN(?:ING)?\\b|\\bINFO\\b|\\bDEBUG\\b|\\[[WI]\\])|^[WI] \\S", exact_case());
  return has_words(refusal.line, warning);
}

bool is_warned(const Refusal& refusal) {
  return refusal.line.find("Warning: ") != std::string::npos || is_logged_warning(refusal);
}

// What ended the program comes before what was said of it, and that before what was warned of on the way.
int distance_from_error(const Refusal& refusal) {
  if (form_of(refusal.line) == Form::exception || form_of(refusal.said) == Form::exception) return 0;
  return is_warned(refusal) ? 2 : 1;
}

// What a report tells of the difference is nearer than what is likely in general, where no library says anything.
void lead_with_own_words(TextAnswer& answer) {
  if (answer.refusals.empty()) return;
  Refusal& first = answer.refusals.front();
  const bool is_general = first.id.starts_with("told-") || first.id == "subject";
  if (first.kind != SentenceKind::reading || !is_general) return;
  for (auto* sentences : {&answer.own_words.works, &answer.own_words.why})
    if (!sentences->empty()) {
      first.causes.insert(first.causes.begin(), fmt::format("what the text itself says: \"{}\"", sentences->front()));
      sentences->erase(sentences->begin());
    }
}

// A change with which it works, by the writer's own word.
bool is_remedy(const std::string& sentence) {
  static const RE2 change(
      "\\b(?:if|when|once|after|with|without|by|using|setting|removing|disabling|switching|downgrading|upgrading|only since)\\b",
      any_case());
  static const RE2 no_change(
      "\\b(?:worked|was fine) (?:before|fine before|until|previously)|any (?:fix|workaround|solution)|is there\\b",
      any_case());
  return has_words(sentence, change) && !has_words(sentence, no_change);
}

// What went around it there is surer than what is read by rule, and than what is likely of a failed kernel.
void lead_with_remedy(TextAnswer& answer) {
  if (answer.refusals.empty() || answer.refusals.front().is_question) return;
  Refusal& first = answer.refusals.front();
  const bool is_sure = first.kind != SentenceKind::reading && first.layer != Layer::execution;
  auto& works = answer.own_words.works;
  const auto remedy = std::find_if(works.begin(), works.end(), is_remedy);
  if (is_sure || remedy == works.end()) return;
  first.help = first.help.empty() ? first.next : fmt::format("{}; {}", first.next, first.help);
  first.next = fmt::format("what worked there, in the text's own words: \"{}\"", *remedy);
  works.erase(remedy);
}

// What the text tells of GPU and shape against what the kernel takes: of all causes that one is sure.
void lead_with_conflicts(Refusal& refusal, const TextFindings& findings) {
  if (refusal.layer == Layer::environment || refusal.kind == SentenceKind::note) return;
  const std::string_view text = findings.pasted;
  const std::string_view title = text.substr(0, text.find('\n'));
  const std::string named = fmt::format(
      "{}\n{}\n{}\n{}", title, refusal.line, refusal.who,
      frames_above(lines_of(text), refusal.first_line > 0 ? static_cast<size_t>(refusal.first_line - 1) : 0));
  const auto conflicts =
      conflicts_in(refusal.line, refusal.id == "subject" ? text : std::string_view(named), findings.facts);
  for (size_t i = conflicts.size(); i-- > 0;)
    refusal.causes.insert(refusal.causes.begin(), conflicts[i].what + " (by rule)");
  const bool is_final =
      std::any_of(conflicts.begin(), conflicts.end(), [](const Conflict& one) { return one.is_final; });
  if (!is_final || refusal.kind != SentenceKind::reading) return;
  const NamedAttention* program = program_in(refusal.line);
  const std::string around = way_around(program != nullptr ? program : program_in(named), host_in(text));
  if (around.empty()) return;
  refusal.help.clear();  // it was for what can be changed
  if (refusal.id == "reading")
    refusal.means = "The sentence says little by itself; what the text tells beside it says more.";
  refusal.next = fmt::format("{} (no build and no padding changes it)", around);
}

// "no kernel image" below an extension's frames is of that extension's build, not of PyTorch's.
void name_extension(Refusal& refusal, std::string_view text) {
  if (refusal.id != "env-gpu-not-in-build") return;
  const size_t at = refusal.first_line > 0 ? static_cast<size_t>(refusal.first_line - 1) : 0;
  const NamedAttention* program = program_in(frames_above(lines_of(text), at));
  if (program == nullptr) program = program_in(text.substr(0, text.find('\n')));
  if (program == nullptr || !program->apart || program->chooses || program->name.starts_with("PyTorch")) return;
  refusal.means = fmt::format("The build of {} that is installed has no code for this GPU: PyTorch itself may have.",
                              program->name);
  refusal.causes = {fmt::format("{} was built, or its wheel was, without this GPU's architecture", program->name),
                    "a PyTorch that was built without it, too: then nothing runs on this GPU, attention or not"};
  refusal.help = program->instead;
  refusal.next = fmt::format(
      "{} built from source, a release that knows this GPU, with a CUDA Toolkit that does (12.8 and newer for sm_100 and sm_120) and for this PyTorch",
      program->name);
}

// Only where attention is spoken of: else it is nobody's question here.
std::optional<Refusal> other_failure(const TextFindings& findings) {
  return findings.facts.speaks_of_attention ? read_other_failure(findings.pasted) : std::nullopt;
}

// Words that no sentence knows count where none that is known refuses. They come before notes, and before what only says
// that some program does without cuDNN.
void add_readings(std::vector<Refusal>& refusals, const TextFindings& findings, const std::string& options) {
  const auto refuses = [](const Refusal& refusal) { return refusal.kind == SentenceKind::refusal; };
  if (findings.facts.is_about_others()) return;
  if (std::any_of(refusals.begin(), refusals.end(), refuses)) {
    // A warning may stand above the exception that matters.
    const bool only_warned = std::all_of(refusals.begin(), refusals.end(), is_warned);
    auto exception = only_warned ? other_failure(findings) : std::nullopt;
    if (only_warned && !exception) exception = read_exception(findings.pasted, findings.facts);
    if (exception) refusals.insert(refusals.begin(), std::move(*exception));
    return;
  }
  auto read = read_words(findings.pasted, findings.facts);
  if (auto other = other_failure(findings)) read.insert(read.begin(), std::move(*other));
  if (auto candidates = read_candidates(findings.pasted)) read.insert(read.begin(), std::move(*candidates));
  std::erase_if(read, [&](const Refusal& reading) {
    return std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& known) {
      return known.kind == SentenceKind::note && known.first_line == reading.first_line;
    });
  });
  for (Refusal& refusal : read) refusal.next = with_names(with_options(refusal.next, options), findings.facts);
  const auto is_note = [](const Refusal& refusal) { return refusal.kind == SentenceKind::note; };
  const auto notes = std::stable_partition(read.begin(), read.end(), std::not_fn(is_note));
  std::copy(std::make_move_iterator(notes), std::make_move_iterator(read.end()), std::back_inserter(refusals));
  read.erase(notes, read.end());
  // What is asked in general comes after what is known of the text's own lines.
  const auto is_question = [](const Refusal& reading) { return reading.is_question; };
  const auto questions = std::stable_partition(read.begin(), read.end(), std::not_fn(is_question));
  std::copy(std::make_move_iterator(questions), std::make_move_iterator(read.end()), std::back_inserter(refusals));
  read.erase(questions, read.end());
  const auto says_little = std::find_if(refusals.begin(), refusals.end(), [](const Refusal& refusal) {
    return refusal.kind == SentenceKind::note || refusal.layer == Layer::framework;
  });
  refusals.insert(says_little, std::make_move_iterator(read.begin()), std::make_move_iterator(read.end()));
}

// Reasons say more than the sentences of their layer; they come in their own order.
struct Rank {
  bool says_little = false;
  Layer layer = Layer::framework;
  bool is_general = false, is_sentence = false;
  int distance = 0;
  int64_t order = 0;
  auto operator<=>(const Rank&) const = default;  // NOLINT(modernize-use-nullptr): of the 0 that clang compares with
};

// "CUDNNError: CUDNN_STATUS_NOT_SUPPORTED (code 3000)" says where it failed by the status that it hands on.
void rank_behind_what_they_hand_on(std::vector<std::pair<Rank, Refusal>>& ranked) {
  for (auto& [rank, refusal] : ranked) {
    if (!rank.is_general) continue;
    for (const auto& [other, inner] : ranked)
      if (!other.is_general && !other.says_little && inner.first_line == refusal.first_line)
        rank.layer = std::max(rank.layer, other.layer);
  }
}

}  // namespace

TextAnswer answer_of(const TextFindings& findings, bool skip_log) {
  const std::string options = probe_options(findings.facts);
  TextAnswer answer;
  std::vector<std::pair<Rank, Refusal>> ranked;
  const auto add = [&](Refusal&& refusal, const Place& place, bool is_sentence, int64_t order) {
    if (skip_log && place.in_log) return;
    set_place(refusal, place);
    const bool is_warning = refusal.layer == Layer::environment && is_sentence && is_logged_warning(refusal);
    const Rank rank{refusal.kind == SentenceKind::note || is_warning,
                    refusal.layer,
                    refusal.kind == SentenceKind::general,
                    is_sentence,
                    distance_from_error(refusal),
                    order};
    ranked.emplace_back(rank, std::move(refusal));
  };
  for (const auto& hit : findings.reasons)
    add(refusal_of(hit, options), hit.place, false, static_cast<int64_t>(ranked.size()));
  for (const auto& hit : findings.sentences)
    add(refusal_of(hit, options), hit.place, true, -static_cast<int64_t>(hit.place.said.size()));
  rank_behind_what_they_hand_on(ranked);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [rank, refusal] : ranked) answer.refusals.push_back(std::move(refusal));
  for (Refusal& refusal : answer.refusals) {
    refusal.next = with_ways(refusal.next, findings.facts);
    refusal.help = with_ways(refusal.help, findings.facts);
  }
  add_readings(answer.refusals, findings, options);
  if (const bool is_gate = !answer.refusals.empty() && answer.refusals.front().layer == Layer::framework; is_gate)
    if (auto kernels = read_torch_kernels(findings.pasted))
      answer.refusals.insert(answer.refusals.begin(), std::move(*kernels));
  if (!answer.refusals.empty()) name_extension(answer.refusals.front(), findings.pasted);
  if (!answer.refusals.empty()) lead_with_conflicts(answer.refusals.front(), findings);
  for (Refusal& refusal : answer.refusals) drop_other_gpus(refusal.causes, findings.facts);
  if (findings.facts.is_about_others())
    say_it_is_no_attention(answer.refusals, findings.facts.other_operations.front());
  for (const Refusal& refusal : answer.refusals)
    if (refusal.kind == SentenceKind::general && refusal.layer != Layer::framework && refusal.who != "cuDNN" &&
        refusal.who != "cudnn-frontend" &&
        std::find(answer.callers.begin(), answer.callers.end(), refusal.who) == answer.callers.end())
      answer.callers.push_back(refusal.who);
  answer.bugs = bugs_in_text(findings.pasted, findings.facts);
  name_bug(answer);
  if (!answer.refusals.empty() && answer.refusals.front().layer != Layer::environment) {
    auto& causes = answer.refusals.front().causes;
    const auto settings = deciding_settings(findings.pasted);
    causes.insert(causes.begin(), settings.begin(), settings.end());
  }
  answer.own_words = own_words_in(findings.pasted);
  lead_with_remedy(answer);
  lead_with_own_words(answer);
  answer.told = told_in_words(findings.facts);
  return answer;
}

}  // namespace attnprobe::diagnose
