#include "explain/refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "explain/words.hpp"
#include "rules/condition.hpp"

namespace attnprobe::explain {
namespace {

constexpr size_t longest_line_shown = 300;

std::string gate_of(const std::string& who) {
  if (who == "PyTorch" || who == "PyTorch SDPA") return "PyTorch's gate";
  if (who == "JAX" || who == "Transformer Engine") return who + "'s gate";
  return who + (who.ends_with('s') ? "' own check" : "'s own check");
}

std::string headline_of(const Message& message) {
  if (!message.headline.empty()) return message.headline;
  if (message.kind == MessageKind::note) return message.who + " says what happened; nothing was refused";
  // A status without more may come from any call into cuDNN.
  if (message.id.starts_with("status-internal-error")) return "cuDNN failed; the text does not say at which step";
  if (message.id.starts_with("status-") &&
      (message.layer > Layer::plan_compilation || message.id.find("-bad-param") != std::string::npos))
    return "cuDNN refused; the text does not say at which step";
  return headline_of(message.layer, message.who);
}

// Whether a program's own refusal is certainly about cuDNN: a program with several backends may mean another backend.
std::string part_of_cudnn(const std::string& who) {
  static const RE2 asks("PyTorch|JAX|XLA|Transformer Engine|Keras|cuDNN|CUDA\\.jl|dot_product_attention", any_case());
  static const RE2 chooses("diffusers|FlashInfer|ONNX Runtime|MLX|Megatron|MaxText|vLLM|SGLang", any_case());
  static const RE2 others("memory-efficient|TransformerEncoder|Pallas|DTensor|Flash|Flex", any_case());
  if (has_words(who, chooses)) return " refused";
  return has_words(who, asks) && !has_words(who, others) ? " refused, before cuDNN was asked"
                                                         : " refused; cuDNN was not involved";
}

// A pattern, compiled once: every text is matched with those of the catalogue's reports.
const RE2& compiled(const std::string& words) {
  static std::mutex one_at_a_time;
  static std::map<std::string, RE2> patterns;
  const std::lock_guard lock(one_at_a_time);
  return patterns.try_emplace(words, words, any_case()).first->second;
}

// The values in a gate's message: "…got {dtype}…" with "got float32" gives dtype.
std::map<std::string, std::string> values_said(const Message& message, const std::string& said) {
  constexpr int most = 8;
  const RE2& pattern = compiled(message.match.front());
  std::array<std::string, most> values;
  std::array<RE2::Arg, most> takers;
  std::array<const RE2::Arg*, most> list{};
  for (size_t i = 0; i < most; ++i) {
    takers[i] = &values[i];
    list[i] = &takers[i];
  }
  const std::vector<std::string> keys = rules::placeholders_of(message.rule->message);
  const int groups = std::min({pattern.NumberOfCapturingGroups(), most, static_cast<int>(keys.size())});
  std::map<std::string, std::string> read;
  if (groups == 0 || !RE2::PartialMatchN(said, pattern, list.data(), groups)) return read;
  for (size_t i = 0; i < static_cast<size_t>(groups); ++i) read.emplace(keys[i], values[i]);
  return read;
}

// "a mask of type {mask_dtype} with Q in {dtype}", with values, "…" for others.
std::string with_values(std::string what, const std::map<std::string, std::string>& values) {
  for (const std::string& key : rules::placeholders_of(what)) {
    const auto found = values.find(key);
    const std::string value = found == values.end() ? "" : found->second;
    const std::string open = "{" + key + "}";
    for (size_t begin; (begin = what.find(open)) != std::string::npos;) {
      // Without a value, the key's brackets are removed too.
      const bool bracket =
          value.empty() && begin > 0 && what[begin - 1] == '(' && what.substr(begin + open.size(), 1) == ")";
      what.replace(begin - (bracket ? 1 : 0), open.size() + (bracket ? 2 : 0), value.empty() && !bracket ? "…" : value);
    }
  }
  static const RE2 unread(",? on sm_…| with cuDNN …| …/…| for … queries and … keys", exact_case());
  RE2::GlobalReplace(&what, unread, "");
  return what;
}

// Of a cause such as "ALLOC_FAILED: no GPU memory left", whether the line may have its status.
bool has_status_of(const std::string& cause, std::string_view line) {
  static const RE2 status("^([A-Z]{3}[A-Z_]+)(?:…)?: ", exact_case());
  std::string name;
  return !RE2::PartialMatch(cause, status, &name) || line.find("CUDNN_STATUS_") == std::string_view::npos ||
         line.find("CUDNN_STATUS_" + name) != std::string_view::npos;
}

// Removes causes that nothing in the text can have.
std::vector<std::string> causes_with(const std::vector<Cause>& causes, const Place& place, const Named& named) {
  std::vector<std::string> possible;
  for (const Cause& cause : causes) {
    const auto allows = [&](CudnnVersion version) {
      return version >= cause.from && (!cause.below.is_known() || version < cause.below);
    };
    const auto has = [&](int sm) { return sm >= cause.sm_from && (cause.sm_below == 0 || sm < cause.sm_below); };
    if ((named.versions.empty() || std::ranges::any_of(named.versions, allows)) &&
        (named.sms.empty() || std::ranges::any_of(named.sms, has)) && has_status_of(cause.text, place.line))
      possible.push_back(cause.text);
  }
  return possible;
}

Refusal of_message(const Message& message, const Place& place, const Named& named = {}) {
  Refusal refusal{message, place, causes_with(message.causes, place, named), message.causes.size() <= 1, "", ""};
  refusal.headline = headline_of(message);
  return refusal;
}

}  // namespace

std::string headline_of(Layer layer, const std::string& who) {
  switch (layer) {
    case Layer::environment:
      return "The machine is at fault: its driver, a library or its GPU";
    case Layer::execution:
      return "Execution failed in a call into cuDNN or CUDA, after every support check";
    case Layer::plan_compilation:
      return "Plan compilation failed, after cuDNN's support check";
    case Layer::cudnn_engine:
      return "cuDNN's engines refused, at the support check";
    case Layer::cudnn_heuristics:
      return "cuDNN's heuristics gave no engine config for the graph";
    case Layer::cudnn_frontend:
      return who == "cudnn-frontend" ? "cudnn-frontend refused, before cuDNN was asked"
                                     : fmt::format("cudnn-frontend or cuDNN refused, in a call of {}", who);
    case Layer::framework:
      return gate_of(who) + part_of_cudnn(who);
  }
  return "";
}

namespace {

// The gate of a gate's message: "torch".
std::string framework_of(const Message& message) {
  return message.id.substr(0, message.id.find(':'));
}

// Of several rules with the same words, the only one that the named release has; null: none, or several.
const rules::FrameworkRule* rule_in_force(const Message& message, const std::vector<std::string>& frameworks) {
  const std::string gate = framework_of(message) + "==";
  std::vector<const rules::FrameworkRule*> rules = message.alike;
  rules.insert(rules.begin(), message.rule);
  for (const std::string& named : frameworks) {
    if (!named.starts_with(gate) || !rules::release_numbers(named.substr(gate.size()))) continue;
    std::erase_if(rules, [&](const auto* rule) { return !rules::is_in_force(rule->span, named.substr(gate.size())); });
    return rules.size() == 1 ? rules.front() : nullptr;
  }
  return nullptr;
}

}  // namespace

Refusal refusal_of(const MessageHit& hit, const Named& named) {
  const Message& message = *hit.message;
  if (!message.alike.empty())
    if (const rules::FrameworkRule* rule = rule_in_force(message, named.frameworks)) {
      const Message own = message_of(
          *std::ranges::find(rules::framework_gates(), framework_of(message), &rules::FrameworkGate::framework), *rule);
      return refusal_of({.message = &own, .match = 0, .place = hit.place}, named);
    }
  Refusal refusal = of_message(message, hit.place, named);
  if (message.rule != nullptr) {
    auto values = values_said(message, hit.place.said);
    if (named.sms.size() == 1) values.emplace("sm", std::to_string(named.sms.front()));
    refusal.means = with_values(message.means, values);
  }
  refusal.versions = message.versions[std::min(hit.match, message.versions.size() - 1)];
  return refusal;
}

bool may_be_said(const MessageHit& hit, std::string_view page) {
  if (hit.message->rule == nullptr) return true;
  Json known = Json::object();
  static const RE2 only_warns("\\bwarn_only ?= ?True", exact_case());
  if (has_words(page, only_warns)) known["deterministic_algorithms"] = false;
  for (const auto& [key, value] : values_said(*hit.message, hit.place.said))
    if (const auto number = parse_number<int64_t>(value)) known[key] = *number;
  const auto may_refuse = [&](const rules::FrameworkRule* rule) { return rules::may_hold(rule->when, known); };
  return may_refuse(hit.message->rule) || std::ranges::any_of(hit.message->alike, may_refuse);
}

Refusal reading(const std::string& id, Layer layer, const std::string& who, std::string headline) {
  Refusal refusal;
  refusal.id = id;
  refusal.layer = layer;
  refusal.who = who;
  refusal.kind = MessageKind::reading;
  refusal.headline = std::move(headline);
  refusal.in_log = false;
  return refusal;
}

namespace {

bool says(std::string_view page, const RE2& words) {
  bool found = false;
  each_match(words, page,
             [&](const std::string* match, size_t at) { found = found || !is_denied(page, at, match[0].size()); });
  return found;
}

}  // namespace

bool fits(const Message& report, std::string_view page) {
  if (!report.unless.empty() && has_words(page, compiled(report.unless))) return false;
  return std::all_of(report.all.begin(), report.all.end(),
                     [&](const std::string& words) { return says(page, compiled(words)); });
}

Refusal refusal_of_report(const Message& report, std::string_view page) {
  re2::StringPiece found;
  compiled(report.all.front()).Match(piece(page), 0, page.size(), RE2::UNANCHORED, &found, 1);
  const auto at = static_cast<size_t>(found.data() - page.data());
  return of_message(report, {.said = std::string(found.data(), found.size()),
                             .line = std::string(trim(sentence_at(page, at)).substr(0, longest_line_shown)),
                             .first_line = line_at(page, at),
                             .times = 1,
                             .in_log = false});
}

}  // namespace attnprobe::explain
