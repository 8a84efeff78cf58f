#include "explain/text_answer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <optional>
#include <utility>

#include "explain/choice.hpp"
#include "explain/words.hpp"

namespace attnprobe::explain {
namespace {

// cuDNN's statuses and cudnn-frontend's messages are the same for every operation, so their meaning for attention may
// not apply here.
bool may_be_another_operations(const Refusal& refusal) {
  return refusal.layer == Layer::execution || refusal.layer == Layer::plan_compilation ||
         refusal.layer == Layer::cudnn_engine || refusal.layer == Layer::cudnn_heuristics ||
         refusal.kind == MessageKind::general || refusal.who == "cuDNN";
}

void say_it_is_no_attention(std::vector<Refusal>& refusals, const std::string& operation) {
  std::erase_if(refusals, [](const Refusal& refusal) {
    return refusal.kind == MessageKind::general && refusal.layer == Layer::framework;
  });
  for (Refusal& refusal : refusals) {
    if (refusal.layer == Layer::environment || !may_be_another_operations(refusal)) continue;
    refusal.headline = fmt::format("It failed in cuDNN or CUDA, but not in attention: the text is about {}", operation);
    refusal.causes.clear();
    refusal.help = "attnprobe answers for attention only";
    refusal.next = refusal.who == "cuDNN" || refusal.who == "cudnn-frontend"
                       ? "CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=stderr with the program shows cuDNN's own reason"
                       : "";
  }
}

bool is_warned(const Refusal& refusal) {
  static const RE2 warning("Warning: |^.{0,40}(?:\\bWARN(?:ING)?\\b|\\bINFO\\b|\\bDEBUG\\b|\\[[WI]\\])|^[WI] \\S",
                           exact_case());
  return has_words(refusal.line, warning);
}

// The error that ended the program comes first, then remarks about it, then earlier warnings.
int distance_from_error(const Refusal& refusal) {
  static const RE2 exception("^(?:\\S{0,24} ){0,2}(?:[\\w.]+\\.)?[A-Z]\\w*(?:Error|Exception): ", exact_case());
  if (has_words(refusal.line, exception) || has_words(refusal.said, exception)) return 0;
  return is_warned(refusal) ? 2 : 1;
}

// Reasons are more specific than their layer's messages, and keep their own order.
struct Rank {
  bool says_little = false;
  Layer layer = Layer::framework;
  bool is_general = false, is_bare_status = false, is_message = false;
  int distance = 0;
  // Of a message of the loader: the first line is the cause, and later ones are other attempts. In a line the last file
  // is: "Could not load library X. Error: Y: cannot open shared object file".
  int64_t line = 0, before = 0;
  int64_t order = 0;
  auto operator<=>(const Rank&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is in clang's generated
                                                  // comparison
};

// CUDNN_STATUS_NOT_INITIALIZED may only follow from a library that could not be loaded, and does not say so;
// CUDNN_STATUS_EXECUTION_FAILED… from a kernel that failed earlier.
bool is_bare_status(const Refusal& refusal) {
  return (refusal.layer == Layer::environment || refusal.layer == Layer::execution) &&
         refusal.id.starts_with("status-");
}

// Where a message begins in its line.
int64_t place_in_line(const Refusal& refusal) {
  const size_t at = refusal.line.find(refusal.said);
  return at == std::string::npos ? 0 : static_cast<int64_t>(at);
}

// "CUDNNError: CUDNN_STATUS_NOT_SUPPORTED (code 3000)" only forwards a status that shows where the call failed.
void rank_behind_what_they_hand_on(std::vector<std::pair<Rank, Refusal>>& ranked) {
  for (auto& [rank, refusal] : ranked) {
    if (!rank.is_general) continue;
    for (const auto& [other, inner] : ranked)
      if (!other.is_general && !other.says_little && inner.first_line == refusal.first_line)
        rank.layer = std::max(rank.layer, other.layer);
  }
}

// "Disabling FusedAttention for" is the beginning of several messages.
// Of programs with the same message, the one that raised it said it.
void drop_parts_of_longer_messages(std::vector<std::pair<Rank, Refusal>>& ranked, const Raised& raised) {
  std::vector<std::pair<Rank, Refusal>> kept;
  for (const auto& one : ranked) {
    const Refusal& part = one.second;
    const bool is_part = std::ranges::any_of(ranked, [&](const auto& other) {
      const Refusal& whole = other.second;
      if (whole.said == part.said && whole.who == raised.name && part.who != raised.name) return true;
      return whole.first_line == part.first_line && whole.who == part.who && whole.times >= part.times &&
             whole.layer <= part.layer && whole.said.size() > part.said.size() &&
             whole.said.find(part.said) != std::string::npos;
    });
    if (!is_part) kept.push_back(one);
  }
  ranked = std::move(kept);
}

// A short message could come from any program, so the text must be about attention, cuDNN or CUDA's libraries.
bool is_founded(const Refusal& refusal, const TextFacts& facts) {
  static const RE2 telling(
      "attention|attn|sdpa|flash|cudnn|transformer_engine|nvrtc|cuda|libcu|driver|GPU|nccl|engine config|execution plan|Matmul_|\\bquery|head",
      any_case());
  constexpr size_t long_enough = 32;
  return facts.speaks_of_attention || facts.speaks_of_cudnn || refusal.said.size() >= long_enough ||
         has_words(refusal.line, telling);
}

// A report of wrong numbers may quote a refusal in a sentence: "the same code also rejected this with \"…\"". A skipped
// test does not fail.
bool is_quoted_in_passing(const Refusal& refusal, const TextFacts& facts) {
  static const RE2 skipped("\\bskip(?:ped|s|ping)?\\b|\\bxfail(?:ed)?\\b", any_case());
  static const RE2 after_a_word("[a-z] [\"']$", exact_case());
  // "I read about CUDNN_STATUS_…", "saw \"CUDNN_STATUS_…\" mentioned"
  static const RE2 read_about(
      "\\b(?:read|heard|hear|talk\\w*|posts?|threads?|articles?) (?:\\w+ )?(?:about|of|on) [\"'`]?$", any_case()),
      mentioned("^\\w*[\"'`]? (?:was |is |being |got )?mentioned\\b", any_case());
  static const RE2 reported("(?:Error|Exception|Warning|ERROR|WARN\\w*|INFO|DEBUG)\\b|^\\W*[EWF]\\d{4} ", exact_case());
  const bool is_other_trouble = facts.trouble == Trouble::wrong || facts.trouble == Trouble::varies;
  const size_t at = refusal.line.find(refusal.said);
  if (at != std::string::npos && has_words(refusal.line.substr(0, at), skipped)) return true;
  if (at != std::string::npos && (has_words(refusal.line.substr(0, at), read_about) ||
                                  has_words(refusal.line.substr(at + refusal.said.size()), mentioned)))
    return true;
  // Another program's module raised an error; this is not in an error's line.
  if (facts.raised.is_outside && !refusal.in_log && is_bare_status(refusal) &&
      refusal.first_line != facts.raised.line && refusal.layer != Layer::environment &&
      !has_words(refusal.line, reported))
    return true;
  if (!is_other_trouble || has_words(refusal.line, reported)) return false;
  return at != std::string::npos && has_words(refusal.line.substr(0, at), after_a_word);
}

// cuDNN does not run on other vendors' GPUs, even with an emulation of CUDA.
std::optional<Refusal> other_makers_gpu(const TextFacts& facts, const std::vector<Refusal>& refusals) {
  if (!facts.is_of_other_makers()) return std::nullopt;
  const bool is_about_it =
      facts.speaks_of_cudnn || facts.speaks_of_attention ||
      std::any_of(refusals.begin(), refusals.end(), [](const Refusal& one) { return one.layer != Layer::framework; });
  if (!is_about_it) return std::nullopt;
  Refusal refusal =
      reading("other-maker", Layer::environment, "the GPU",
              fmt::format("cuDNN runs on NVIDIA GPUs only; the text is about {}", fmt::join(facts.other_gpus, ", ")));
  const bool is_zluda = std::ranges::find(facts.other_gpus, "ZLUDA") != facts.other_gpus.end();
  refusal.means = is_zluda ? "ZLUDA replaces CUDA, but has no fused attention of cuDNN's."
                           : "cuDNN was not involved. This GPU's attention is the work of another library.";
  refusal.next =
      is_zluda
          ? "torch.backends.cudnn.enabled = False, or only for attention torch.backends.cuda.enable_cudnn_sdp(False)"
          : "ask the authors of that library (PyTorch's part for ROCm, MPS or XPU)";
  refusal.first_line = facts.lines.at(facts.other_gpus.front());
  refusal.times = 1;
  refusal.source = "cuDNN's support matrix";
  return refusal;
}

// If a module without cuDNN raised the error, only that module's message applies.
std::optional<Refusal> raised_outside(const TextFacts& facts) {
  const Raised& raised = facts.raised;
  if (raised.program == nullptr || !raised.is_outside) return std::nullopt;
  Refusal refusal = reading("raised-outside", Layer::framework, raised.name,
                            fmt::format("{} raised this; cuDNN was not involved", raised.name));
  // A kernel of any library may be what the others wait for.
  static const RE2 waited("timeout|timed out", any_case());
  if (has_words(raised.message, waited))
    refusal.headline = fmt::format("{} waited in vain; no attention was refused", raised.name);
  refusal.said = refusal.line = raised.message;
  refusal.first_line = raised.line;
  refusal.times = 1;
  refusal.means = fmt::format("Known by {}.", raised.how);
  if (const std::string conflict = gpu_conflict(raised.message, facts); !conflict.empty()) refusal.causes = {conflict};
  static const RE2 memory("OutOfMemory|out of memory", any_case());
  // Another attention does not help a tokenizer.
  static const RE2 elsewhere("tokenizer|processor|checkpoint|safetensors|download|repository|connection", any_case());
  refusal.next =
      has_words(raised.message, memory)
          ? "a smaller batch or shorter sequences; the frame shows which tensor did not fit"
      : raised.name.starts_with("torch.") || has_words(raised.message, elsewhere) ? ""
      : raised.is_of_python_code
          ? fmt::format("releases of {} and its packages that fit together, or a report to its authors", raised.name)
          : raised.program->instead;
  refusal.source = "the text itself";
  return refusal;
}

// Another program's kernel computed the attention.
std::optional<Refusal> another_kernel(const TextFacts& facts, std::string_view page) {
  const std::string owner = owner_of_kernel(page);
  const bool is_trouble = facts.asks || is_failure(facts.trouble) || facts.trouble == Trouble::varies;
  if (owner.empty() || !is_trouble) return std::nullopt;
  const bool is_of_frontend = owner.starts_with("cudnn-frontend");
  Refusal refusal =
      reading("another-kernel", Layer::framework, owner,
              is_of_frontend ? fmt::format("{} compute this attention; cuDNN's engines are not involved", owner)
                             : fmt::format("{} computes this attention; cuDNN is not involved", owner));
  const auto program = std::ranges::find(programs(), owner, &Program::name);
  if (program != programs().end()) refusal.next = program->instead;
  refusal.first_line = refusal.times = 1;
  refusal.source = "the text itself";
  return refusal;
}

// A message as far as its line has it, without the place in PyTorch's source.
std::string said_to_end(const Refusal& refusal) {
  constexpr size_t most_letters = 160;
  const size_t begin = refusal.line.find(refusal.said);
  if (begin == std::string::npos) return refusal.said;
  const size_t end = std::min({refusal.line.find(" (Triggered", begin), refusal.line.size(), begin + most_letters});
  return refusal.line.substr(begin, std::max(end - begin, refusal.said.size()));
}

// "No available kernel", "No … backend is available" and "No CUDA GPUs" are consequences: earlier lines give the reasons.
// Of several kernels, the last reason is cuDNN's, so that its advice is the answer's.
void take_earlier_reasons(std::vector<Refusal>& refusals) {
  if (refusals.empty()) return;
  Refusal& first = refusals.front();
  const bool is_no_gpu = first.id == "install-no-gpu";
  if (first.id != "torch-no-available-kernel" && first.id != "te-no-backend" && !is_no_gpu) return;
  const auto is_reason = [&](const Refusal& other) {
    if (is_no_gpu) return other.id == "env-driver";
    return &other != &first && other.layer == Layer::framework && other.kind == MessageKind::refusal &&
           other.says_why && other.who.starts_with(first.who.substr(0, first.who.find(' ')));
  };
  std::vector<std::string> reasons;
  std::vector<int64_t> lines;
  for (const Refusal& other : refusals)
    if (is_reason(other) && std::ranges::find(lines, other.first_line) == lines.end()) {
      lines.push_back(other.first_line);
      reasons.push_back(fmt::format("line {}: {}", other.first_line, said_to_end(other)));
      if (!other.next.empty()) first.next = other.next;
    }
  if (reasons.empty()) return;
  first.causes = std::move(reasons);
  first.says_why = first.is_cause_known = true;
}

std::string missing_fact(const TextFacts& facts) {
  if (!facts.speaks_of_attention && !facts.speaks_of_cudnn)
    return "a message, a call or a log of attention or of cuDNN";
  if (facts.has_frames && !facts.has_error) return "the last line of the traceback, which is the error itself";
  if (is_failure(facts.trouble)) {
    std::vector<std::string> missing = {"the shape, mask and data type of the call"};
    if (facts.target().empty()) missing.emplace_back("the GPU");
    if (cudnns_told(facts).empty()) missing.emplace_back("the version of cuDNN");
    return fmt::format("{}", fmt::join(missing, ", "));
  }
  if (facts.frameworks.empty() && facts.versions.empty())
    return "the release of the framework or of cuDNN, with the call's shape and mask";
  return "the error message, or the call with its shape, mask and data type";
}

// cudnns_told() as versions.
std::vector<CudnnVersion> cudnns_of(const TextFacts& facts) {
  std::vector<CudnnVersion> versions;
  for (const auto& word : cudnns_told(facts))
    if (const auto version = CudnnVersion::parse(word)) versions.push_back(*version);
  return versions;
}

void take_callers(TextAnswer& answer) {
  for (const Refusal& refusal : answer.refusals)
    if (refusal.kind == MessageKind::general && refusal.layer != Layer::framework && refusal.who != "cuDNN" &&
        refusal.who != "cudnn-frontend" &&
        std::find(answer.callers.begin(), answer.callers.end(), refusal.who) == answer.callers.end())
      answer.callers.push_back(refusal.who);
}

// A setting that stands in the text did not help: "XLA_PYTHON_CLIENT_PREALLOCATE=false".
void drop_settings_of(std::string_view page, std::string& advice) {
  static const RE2 setting("\\b([A-Z][A-Z0-9]*_[A-Z0-9_]+=\\w+)", exact_case());
  std::string kept;
  for (size_t begin = 0; begin < advice.size();) {
    const size_t end = std::min({advice.find("; ", begin), advice.find(". ", begin), advice.size()});
    const std::string_view clause = std::string_view(advice).substr(begin, end - begin);
    std::string named;
    if (!RE2::PartialMatch(piece(clause), setting, &named) || page.find(named) == std::string_view::npos)
      kept += (kept.empty() ? "" : advice.substr(begin - 2, 2)) + std::string(clause);
    begin = end + 2;
  }
  if (!kept.empty()) advice = kept;
}

// The user of a framework cannot change the graph that it builds.
void address_to_user(TextAnswer& answer) {
  if (answer.refusals.empty() || answer.callers.empty() || !answer.refusals.front().is_for_builder) return;
  const std::string& caller = answer.callers.front();
  std::string& next = answer.refusals.front().next;
  next = fmt::format("{} builds this graph: report it there, with its release and cuDNN's", caller);
  if (const std::string setting = setting_without_cudnn(caller); !setting.empty())
    next += fmt::format(". Without cuDNN's attention: {}", setting);
}

}  // namespace

TextAnswer answer_of(const TextFindings& findings, bool skip_log) {
  const TextFacts& facts = findings.facts;
  TextAnswer answer;
  std::vector<std::pair<Rank, Refusal>> ranked;
  const bool is_harmless = facts.works && !facts.has_error;
  const auto add = [&](Refusal refusal, const answer::KnownReason* reason) {
    if ((skip_log || is_harmless) && refusal.in_log) return;
    if (reason == nullptr && (!is_founded(refusal, facts) || is_quoted_in_passing(refusal, facts))) return;
    // "Our LSTM gives CUDNN_STATUS_…; attention is unaffected"
    const std::string_view sentence = sentence_at(refusal.line, static_cast<size_t>(place_in_line(refusal)));
    if (facts.speaks_of_attention && may_be_another_operations(refusal) &&
        (is_of_another_operation(refusal.line) || is_of_another_operation(sentence)))
      return;
    const Rank rank{refusal.kind == MessageKind::note || (is_warned(refusal) && refusal.layer == Layer::environment),
                    refusal.layer,
                    refusal.kind == MessageKind::general,
                    is_bare_status(refusal),
                    reason == nullptr,
                    distance_from_error(refusal),
                    refusal.layer == Layer::environment ? refusal.first_line : 0,
                    refusal.layer == Layer::environment ? -place_in_line(refusal) : 0,
                    reason != nullptr ? -int64_t{reason->progress} : -static_cast<int64_t>(refusal.said.size())};
    ranked.emplace_back(rank, std::move(refusal));
  };
  const Named named{cudnns_of(facts), facts.all_sms(), facts.frameworks};
  for (const auto& hit : findings.messages)
    if (may_be_said(hit, findings.pasted)) add(refusal_of(hit, named), hit.message->reason);
  drop_parts_of_longer_messages(ranked, facts.raised);
  rank_behind_what_they_hand_on(ranked);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [rank, refusal] : ranked) answer.refusals.push_back(std::move(refusal));
  // A message of a normal event does not answer a failure.
  if (is_failure(facts.trouble) && std::ranges::all_of(answer.refusals, [](const Refusal& one) {
        return one.kind == MessageKind::note && one.layer == Layer::framework;
      }))
    answer.refusals.clear();
  take_callers(answer);
  address_to_user(answer);
  for (Refusal& refusal : answer.refusals) drop_settings_of(findings.pasted, refusal.next);
  if (facts.is_about_others()) say_it_is_no_attention(answer.refusals, facts.other_operations.front());
  for (const Message& report : reports())
    if (fits(report, findings.pasted)) {
      // A gate's own message is more specific.
      const bool is_said = !answer.refusals.empty() && answer.refusals.front().layer == Layer::framework &&
                           answer.refusals.front().kind == MessageKind::refusal && answer.refusals.front().says_why;
      answer.refusals.insert(answer.refusals.begin() + (is_said ? 1 : 0), refusal_of_report(report, findings.pasted));
      break;
    }
  const bool is_known = std::any_of(answer.refusals.begin(), answer.refusals.end(), [](const Refusal& one) {
    return one.kind == MessageKind::refusal || one.kind == MessageKind::reading;
  });
  auto outside = is_known ? std::nullopt : raised_outside(facts);
  if (!outside && !is_known) outside = another_kernel(facts, findings.pasted);
  if (outside) answer.refusals.insert(answer.refusals.begin(), std::move(*outside));
  for (Refusal& refusal : answer.refusals)
    if (const std::string conflict = gpu_conflict(refusal.line, facts); !conflict.empty() && refusal.causes.empty())
      refusal.causes.push_back(conflict);
  take_earlier_reasons(answer.refusals);
  if (auto gpu = other_makers_gpu(facts, answer.refusals)) {
    // A library that cannot be loaded comes first.
    std::erase_if(answer.refusals, [](const Refusal& one) { return one.layer != Layer::environment; });
    answer.refusals.push_back(std::move(*gpu));
  }
  answer.told = told_in_words(facts);
  if (!is_established(answer)) answer.missing = missing_fact(facts);
  return answer;
}

bool is_established(const TextAnswer& answer) {
  return std::any_of(answer.refusals.begin(), answer.refusals.end(), [](const Refusal& refusal) {
    return refusal.kind != MessageKind::general || refusal.layer != Layer::framework;
  });
}

}  // namespace attnprobe::explain
