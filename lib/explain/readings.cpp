// Words the answers of rules and cuDNN, as refusals of kind "reading".
#include "explain/readings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"

namespace attnprobe::explain {
namespace {

// Why cuDNN or its front end refuses a call that a gate refuses too; "" if they accept it.
std::string inner_refusal(const answer::Answer& result) {
  if (result.frontend && result.frontend->refuses) {
    const size_t end = result.frontend->message.find_last_not_of(". ");
    return fmt::format("cudnn-frontend {} refuses it too: {}", result.frontend->version,
                       result.frontend->message.substr(0, end + 1));
  }
  if (!result.requirements.empty()) return result.requirements.front().text;
  if (result.usable != answer::Usable::no || !result.root_cause || result.verdict == answer::Verdict::crashed)
    return "";
  return fmt::format("cuDNN {} refuses it too: {}{}", result.cudnn_version.text(), answer::short_reason(result),
                     result.from ? "; it works " + answer::text_of(*result.from) : "");
}

// If a faster choice is refused, the program uses a slower one.
void add_refused_choice(Refusal& refusal, const probe::WalkFindings& findings) {
  const probe::EngineConfigFindings* first = probe::first_working(findings);
  if (first == nullptr) return;
  for (const auto& config : findings.engine_configs) {
    const bool is_proposed = std::find(config.modes.begin(), config.modes.end(), "A") != config.modes.end();
    if (!is_proposed || probe::works(config, findings) || config.reasons.empty()) continue;
    refusal.causes.push_back(fmt::format(
        "the heuristics also propose engine {}, which is refused for this graph (\"{}\"); engine {} is the first that works",
        config.engine, config.reasons.front().reason, first->engine));
    return;
  }
}

}  // namespace

bool refuses_any_call(const rules::GateAnswer& gate) {
  return !gate.refusals.empty() && gate.refusals.front().what.starts_with("any call");
}

std::string lifting_cudnn(const Asked& asked) {
  const bool is_newer = asked.lifted_by > asked.result.cudnn_version;
  return fmt::format("use cuDNN {}{} this call by rule", asked.lifted_by.text(),
                     is_newer ? " or newer, which takes" : ", the newest one that takes");
}

bool is_kept_off(const rules::GateAnswer& gate) {
  return !gate.refusals.empty();
}

std::optional<Refusal> refusal_of(const Asked& asked, Layer outermost) {
  const answer::Answer& result = asked.result;
  if (outermost < Layer::cudnn_engine) return std::nullopt;
  for (const auto& gate : result.frameworks) {
    if (!is_kept_off(gate) || outermost < Layer::framework) continue;
    // No release helps a GPU that no cuDNN serves.
    if (refuses_any_call(gate) && result.root_cause && result.root_cause->category == answer::Category::arch_mismatch)
      continue;
    const rules::GateRefusal& first = gate.refusals.front();
    // A refusal without an exception only chooses another kernel.
    Refusal refusal = reading(fmt::format("{}:{}", gate.framework, first.id), Layer::framework, gate.title,
                              gate.instead.empty() ? gate.text : fmt::format("{}; {}", gate.text, gate.instead));
    const std::string inner = refuses_any_call(gate) ? "" : inner_refusal(result);
    if (!inner.empty()) refusal.means = inner + ". ";
    if (!first.message.empty())
      refusal.means += fmt::format("{}'s own message for it begins \"{}\".", gate.title, trim(first.message));
    refusal.next = first.change;
    if (!gate.taken_from.empty() && inner.empty())
      refusal.help = fmt::format("{} {} does not refuse it", gate.framework, gate.taken_from);
    refusal.source = first.source.text;
    return refusal;
  }
  if (!result.requirements.empty()) {
    const rules::Requirement& first = result.requirements.front();
    Refusal refusal = reading(first.id, Layer::cudnn_engine, "cuDNN", first.text);
    // With an upper bound, newer ones do not have it.
    const bool is_newer = result.from && result.from->version > result.cudnn_version;
    refusal.next = is_newer
                       ? fmt::format("use cuDNN {} or newer{}", std::max(result.from->version, asked.lifted_by).text(),
                                     asked.is_established && !asked.lifted_by.is_known()
                                         ? ", where another rule or a known bug remains"
                                         : "")
                       : fmt::format("use {}", asked.fitting_gpu.empty() ? first.needs : asked.fitting_gpu);
    // Another rule or a bug may keep the older cuDNN from it.
    const bool is_of_older = first.needs.starts_with("a cuDNN before");
    if (is_of_older && asked.lifted_by.is_known())
      refusal.next = lifting_cudnn(asked);
    else if (is_of_older || first.needs.starts_with("what no"))
      refusal.next = result.root_cause ? result.root_cause->in_general : "";
    refusal.source = first.source.text;
    return refusal;
  }
  if (result.frontend && result.frontend->refuses && outermost >= Layer::cudnn_frontend) {
    Refusal refusal =
        reading("cudnn-frontend:" + result.frontend->id, Layer::cudnn_frontend, "cudnn-frontend",
                fmt::format("cudnn-frontend {} refuses it: {}", result.frontend->version, result.frontend->message));
    if (asked.lifted_by.is_known()) refusal.next = lifting_cudnn(asked);
    refusal.source = result.frontend->source.text;
    return refusal;
  }
  if (result.usable == answer::Usable::no && result.root_cause) {
    if (result.verdict == answer::Verdict::crashed && !result.warnings.empty()) {
      Refusal refusal = reading(
          result.warnings.front().id, Layer::cudnn_engine, "cuDNN",
          fmt::format("cuDNN {} does not have this: {}", result.cudnn_version.text(), result.warnings.front().what));
      refusal.next = result.warnings.front().advice;
      refusal.source = result.warnings.front().source.text;
      return refusal;
    }
    Refusal refusal =
        reading(std::string(name_of(result.root_cause->category)), layer_of(result.root_cause->category), "cuDNN",
                fmt::format("cuDNN {} refuses it on {}: {}", result.cudnn_version.text(), result.target.id,
                            answer::short_reason(result)));
    refusal.means = result.root_cause->explanation;
    refusal.next = result.root_cause->in_general;
    refusal.source = result.by_rule ? "by rule" : "asked";
    return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> not_involved(const Asked& asked, const TextFacts& facts) {
  const auto& gates = asked.result.frameworks;
  if (!asked.is_established || facts.frameworks.empty() || gates.empty() || !refuses_any_call(gates.front()))
    return std::nullopt;
  std::optional<Refusal> refusal = refusal_of(asked);
  refusal->headline = "cuDNN is not involved: " + gates.front().text;
  refusal->means = gates.front().instead.empty() ? "" : gates.front().instead + ".";
  refusal->next = refusal->help = "";
  return refusal;
}

bool must_be_selected(const Asked& asked) {
  return !asked.is_selected && std::ranges::any_of(asked.result.frameworks, [](const auto& gate) {
    return gate.takes == rules::Takes::by_name;
  });
}

bool is_told(const Asked& asked) {
  constexpr size_t most_assumed = 3;
  return asked.untold.size() + (asked.is_other_cudnn ? 1 : 0) <= most_assumed;
}

std::optional<Refusal> warning_of(const Asked& asked) {
  if (asked.result.warnings.empty()) return std::nullopt;
  const rules::KnownBug& bug = asked.result.warnings.front();
  Refusal refusal = reading(
      bug.id, Layer::execution, "cuDNN",
      fmt::format("cuDNN {} accepts it, but has a known bug there: {}", asked.result.cudnn_version.text(), bug.what));
  refusal.next = bug.advice;
  refusal.source = bug.source.text;
  return refusal;
}

Refusal plans_of(const Asked& asked, const TextFacts& facts) {
  if (facts.is_slow_each_call) {
    Refusal refusal = reading("plans", Layer::framework, "the program",
                              "A cuDNN plan seems to be built at each call, which takes time; nothing was refused");
    refusal.means =
        "A program that keeps its plans builds one for each new shape only. If calls of one shape stay slow, it does not keep them.";
    return refusal;
  }
  const bool is_read = !asked.plans.text.empty() && !facts.frameworks.empty();
  Refusal refusal = reading("plans", Layer::framework, is_read ? asked.result.frameworks.front().title : "the program",
                            "cuDNN builds a plan for each new shape, which takes time and memory; nothing was refused");
  if (is_read) refusal.means = fmt::format("{}: {}", asked.result.frameworks.front().title, asked.plans.text);
  refusal.next = "round the lengths up to a few sizes, with a padding mask, so that plans are used again";
  refusal.source = asked.plans.source.text;
  return refusal;
}

Refusal possible_bug(const BugInText& bug) {
  Refusal refusal = reading(
      bug.id, Layer::execution, "cuDNN",
      bug.only_if.empty() ? fmt::format("possible: a known cuDNN bug ({}) matches everything in the text", bug.versions)
                          : fmt::format("possible, {}: a known cuDNN bug ({})", bug.only_if, bug.versions));
  refusal.means = bug.what;
  refusal.next = bug.advice;
  refusal.source = "lib/rules/cudnn/known_bugs.json";
  return refusal;
}

Refusal first_version(const Asked& asked) {
  const FirstCudnn& first = asked.first.front();
  const answer::Answer& result = asked.result;
  std::string headline =
      !first.version.is_known() ? (first.has_bug ? "No known cuDNN takes this attention without a known bug"
                                                 : "No known cuDNN takes this attention")
      : first.before.empty()    ? "Every known cuDNN 9 takes this attention"
                                : fmt::format("This attention needs cuDNN {} or newer", first.version.text());
  if (!first.excepted.empty()) headline += fmt::format(", except {}", fmt::join(first.excepted, ", "));
  headline += fmt::format(": {}{}on {}, by rule", first.is_forward_only ? "the forward pass " : "",
                          result.frameworks.empty() ? "" : fmt::format("with {} ", result.frameworks.front().title),
                          result.target.id);
  Refusal refusal = reading("first-cudnn", Layer::cudnn_engine, "cuDNN", headline);
  if (!first.before.empty()) refusal.means = first.before + (first.before.ends_with('.') ? "" : ".");
  refusal.source = "by rule";
  return refusal;
}

Refusal first_versions(const Asked& asked) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // GPUs by what they need
  for (const FirstCudnn& first : asked.first) {
    const std::string needs = !first.version.is_known() ? (first.has_bug ? "none without a known bug" : "none")
                              : first.before.empty()    ? "every cuDNN 9"
                                                        : fmt::format("cuDNN {}", first.version.text());
    const auto found = std::ranges::find(groups, needs, [](const auto& group) { return group.first; });
    if (found == groups.end())
      groups.push_back({needs, {first.gpu}});
    else
      found->second.push_back(first.gpu);
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const auto& group) { return !group.first.starts_with("none"); });
  std::string list;
  for (const auto& [needs, gpus] : groups)
    list += fmt::format("{}{} on {}", list.empty() ? "" : "; ", needs, fmt::join(gpus, ", "));
  Refusal refusal = reading(
      "first-cudnn", Layer::cudnn_engine, "cuDNN",
      fmt::format("The first cuDNN for {}: {} (by rule)",
                  asked.first.front().is_forward_only ? "the forward pass of this attention" : "this attention", list));
  refusal.source = "by rule";
  return refusal;
}

Refusal accepted(const Asked& asked, const TextFacts& facts) {
  const answer::Answer& result = asked.result;
  const bool by_name = must_be_selected(asked);
  const bool is_head_dim_untold = std::ranges::find(asked.untold, "the head dimension") != asked.untold.end();
  std::vector<std::string> gpus = asked.also_on;
  gpus.insert(gpus.begin(), result.target.id);
  const std::string supports =
      fmt::format("cuDNN {} supports {}{} on {}{}", result.cudnn_version.text(),
                  asked.backward.empty() ? "" : "the forward pass of ",
                  is_told(asked) && !is_head_dim_untold ? "this attention" : "attention of usual sizes",
                  fmt::join(gpus, ", "), result.by_rule ? ", by rule" : "");
  Refusal refusal = reading("accepted", Layer::cudnn_engine, "cuDNN", supports);
  if (by_name && (facts.asks_choice || facts.runs_another || facts.trouble == Trouble::slow)) {
    refusal.headline = result.frameworks.front().text;
    refusal.means = supports + ".";
  } else {
    refusal.means = facts.trouble == Trouble::question || facts.asks
                        ? "attnprobe found no refusal."
                        : "attnprobe found no refusal; the cause is not established.";
    if (by_name) refusal.means += fmt::format(" {}.", result.frameworks.front().text);
  }
  if (!asked.backward.empty()) refusal.means += fmt::format(" The backward pass is refused: {}.", asked.backward);
  if (facts.trouble == Trouble::slow) add_refused_choice(refusal, result.findings);
  for (const auto& other : asked.beside) refusal.causes.push_back(other);
  refusal.source = result.by_rule ? "by rule" : "asked";
  return refusal;
}

Refusal contradicted(const Asked& asked, const Refusal& message) {
  const answer::Answer& result = asked.result;
  const std::string cudnn = fmt::format("cuDNN {}", result.cudnn_version.text());
  Refusal refusal =
      reading("accepted", message.layer, cudnn,
              message.layer == Layer::framework
                  ? fmt::format("The known rules of {} and {} accept this call on {}: the cause is not one of them",
                                result.frameworks.front().title, cudnn, result.target.id)
                  : fmt::format("{} accepts this call on {}: the cause is elsewhere", cudnn, result.target.id));
  refusal.means = fmt::format(
      "The call is supported as the text describes it, so the message has another cause. Possible: a mask, bias, dropout or stride that the text omits, another call, a cuDNN other than {}, or the machine.",
      result.cudnn_version.text());
  for (const auto& gate : result.frameworks)
    if (gate.takes == rules::Takes::by_name) refusal.means += fmt::format(" {}.", gate.text);
  refusal.next = message.next;
  refusal.source = result.by_rule ? "by rule" : "asked";
  return refusal;
}

}  // namespace attnprobe::explain
