// The gates of frameworks above cuDNN: when a release of PyTorch, JAX, Transformer Engine, … asks cuDNN, and what it
// refuses first. The data has one file per framework, lib/rules/frameworks/<framework>.json; each rule names its
// source. The site's page reference/frameworks is made from it. A new file is built in automatically.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/spec.hpp"
#include "base/enum_names.hpp"
#include "base/json.hpp"
#include "base/version.hpp"
#include "rules/flat_problem.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

/// A key of a framework's call that a config does not have.
struct GateKey {
  ProblemKey key;
  std::string advice;  ///< shown if a config sets it to an unusual value; "" for nothing
};

/// The releases that an entry holds for: `from` and later, before `below`. "" means unbounded.
struct GateSpan {
  std::string from, below;
  std::vector<int> first, end;  ///< the same as numbers (release_numbers); empty: unbounded
};

struct GateRule {
  std::string id;
  GateSpan span;
  std::string pass;  ///< "forward" or "backward" if only that pass is refused; else ""
  /// The outcome: "falls back", "exception", "runs in another kernel", "not asked". "wrong results": cuDNN is asked
  /// something else than the call means.
  std::string status;
  std::string what;     ///< what is refused, in a few words; "{key}" is replaced by the key's value
  std::string message;  ///< the start of the framework's own message, also with "{key}"; "" if it is silent
  std::string change;   ///< a workaround
  Source source;
  Json when;
  Examples examples;  ///< objects of keys; `affected` overrides the gate's base
};

/// Whether the framework chooses cuDNN by itself.
struct GatePreference {
  GateSpan span;
  bool first = false;  ///< before its other kernels, or before those that support the call
  std::string why;     ///< appended to "asks cuDNN" if that needs an explanation; or ""
  std::string text;
  Source source;
  Json when;  ///< null: always
};

/// How a framework keeps cuDNN's plans: what a new shape costs a program.
struct GatePlans {
  GateSpan span;
  std::string text;
  Source source;
};

struct GateRelease {
  std::string version;   ///< "2.15.0", "0.7.2.post1"
  std::string cudnn;     ///< the version that it pins, "9.26.0.51", "9.24", ">=9.12.0.46"; "" if none, or unknown
  std::string frontend;  ///< release of cudnn-frontend that it is compiled with, "1.26"; "" if unknown
  std::string frontend_source;  ///< the source of that
};

/// A text for some problems.
struct GateText {
  Json when;  ///< null: always
  std::string text;
  bool raises = false;  ///< of `instead`: no other kernel runs, the call raises an exception
};

struct FrameworkGate {
  std::string framework;           ///< the file's name: "torch"
  std::string title;               ///< "PyTorch"
  std::vector<std::string> names;  ///< other names
  std::vector<GateText> instead;   ///< what runs after a silent refusal: the first that holds
  std::vector<GateText> then;      ///< consequences and other facts: all that hold
  std::vector<GateText> by_name;   ///< how to name cuDNN; the last always holds
  Source lacks_source;
  std::vector<GateText> lacks;       ///< config features that the framework's call has no argument for
  bool all_reasons = false;          ///< it does not stop at its first refusal
  std::vector<GateKey> keys;         ///< in addition to those of a flat problem
  std::vector<ProblemKey> all_keys;  ///< both
  Json base;                         ///< a value, or null, for every key: an ordinary call
  std::vector<GatePreference> preferences;
  std::vector<GateRelease> releases;  ///< in ascending order; may be empty
  std::vector<GateRule> rules;        ///< in the file's order
  std::vector<GatePlans> plans;       ///< ascending; empty: not known
  struct Order {
    GateSpan span;
    std::vector<std::string> rules;
  };
  std::vector<Order> orders;  ///< of releases that check in another order
  std::string unread;         ///< why no rule of it is known, "closed source"; else ""
};

/// The gates of all built-in files, by name. Read once. Throws Error(internal) naming file, entry and problem.
const std::vector<FrameworkGate>& framework_gates();

/// `file`: "frameworks/torch.json".
FrameworkGate parse_framework_gate(std::string_view text, const std::string& file);

/// "2.15.0" and "0.7.2.post1" as comparable numbers; none if the text is not a release.
std::optional<std::vector<int>> release_numbers(std::string_view release);

/// The names in a text's "{name}"s; other braces are ordinary text.
std::vector<std::string> placeholders_of(std::string_view text);

/// The release of a framework that a question is about.
struct ChosenGate {
  const FrameworkGate* gate = nullptr;
  const GateRelease* release = nullptr;  ///< the release whose rules are used; null if unknown
  std::string asked;                     ///< the requested release if its rules were not read; else ""
  /// The other releases that the word covers, and the word: "2.5" is 2.5.1, but also 2.5.0.
  std::vector<const GateRelease*> others = {};
  std::string word = {};

  /// Whether the rules of the requested release are known.
  bool is_known() const { return release != nullptr || (asked.empty() && gate->unread.empty()); }
};

/// Parses framework names: "torch", "torch==2.11", "PyTorch 2.11", "jax@0.10", a comma-separated list of these, or "all". "all"
/// is the newest release of every framework with known rules. An unread release gets the rules of the newest read
/// release before it; one older than all has none. Throws Error(usage), which begins with `option`, for an unknown
/// framework and for a duplicate.
std::vector<ChosenGate> choose_gates(const std::vector<std::string>& words, const std::string& option);

/// How this release keeps plans, of an unknown one how the newest does; nullptr where it is not known.
const GatePlans* plans_of(const ChosenGate& chosen);

/// The words from which choose_gates() makes these: "torch==2.15.0,jax==0.12.0.1", or "all".
std::string words_of(const std::vector<ChosenGate>& gates);

/// "PyTorch 2.15.0"; "PyTorch 2.16 (rules of 2.15.0)".
std::string title_of(const ChosenGate& chosen);

/// A key of `call` below, in addition to those of the gate: the call itself names cuDNN, regardless of the framework's
/// preference.
inline constexpr const char* names_cudnn = "names_cudnn";

/// A config as a call of the framework, with every key of the gate. A key that the config does not set has its usual
/// value. `call`: values by key that a call itself gave; they override those of the config. Precondition: the spec has
/// no contradictions.
Json describe_gate_call(const FrameworkGate& gate, const attention::AttentionSpec& spec, CudnnVersion cudnn_version,
                        int sm, const Json& call);

/// The known release of cudnn-frontend with the graphs and rules that these frameworks use, or the nearest. None if
/// they use several, or if theirs is unknown.
std::optional<std::string> frontend_of(const std::vector<ChosenGate>& gates);

/// The cuDNN that these releases pin, "9.26.0", or "9.26" for any patch; none if they pin several or a range.
std::optional<std::string> cudnn_of(const std::vector<ChosenGate>& gates);

/// Whether the span includes the release; "" is the current one.
bool is_in_force(const GateSpan& span, const std::string& release);

/// The rules that hold for a release, in its order of checks.
std::vector<const GateRule*> rules_in_order(const FrameworkGate& gate, const std::string& release);

enum class Takes {
  yes,          ///< the call reaches cuDNN
  by_name,      ///< only if the program names cuDNN
  refused,      ///< the gate refuses
  not_in_call,  ///< the framework's call cannot express the config
  wrong,        ///< the call reaches cuDNN, which computes something else than the call means
  unknown,      ///< the rules of this release are unknown
};
ATTNPROBE_ENUM(Takes, yes, by_name, refused, not_in_call, wrong, unknown)

struct GateRefusal {
  std::string id, what, status, message, change;
  std::string since,
      below;  ///< the releases with the rule: from this one, before that one; "" if unknown
  Source source;
};
ATTNPROBE_JSON(GateRefusal, id, what, status, message, change, since, below, source)

/// The framework's decision about a config before cuDNN sees it.
struct GateAnswer {
  std::string framework, title, release;  ///< "torch", "PyTorch 2.15.0", "2.15.0"
  Takes takes = Takes::yes;
  std::string text;     ///< one line without a full stop: "PyTorch 2.15.0 refuses dropout 0.1 (not a multiple of 1/16)"
  std::string instead;  ///< what runs then, if known
  std::string
      refused_since;       ///< the first release of the unbroken range that refuses it; "" if the oldest read does, too
  std::string taken_from;  ///< the first later release that accepts it; "" for none
  std::vector<GateRefusal> refusals;  ///< in the framework's order; most frameworks stop at the first
  std::string by_name;                ///< how a program names cuDNN
  std::string cudnn;                  ///< pinned by the release; ""
  std::string frontend;               ///< release of cudnn-frontend that it is compiled with: "1.26"; ""
  std::vector<std::string> notes;     ///< assumptions about the call, and other facts
  Source source;                      ///< of the text
};

/// Precondition: `call` is from describe_gate_call(). `cudnn_version` is the one that is asked.
GateAnswer answer_of_gate(const ChosenGate& chosen, const Json& call, CudnnVersion cudnn_version);

/// Adds a note if the release includes another cudnn-frontend than the one that answered, "1.32".
void note_frontend(GateAnswer& answer, const ChosenGate& chosen, const std::string& answered);

ATTNPROBE_JSON(GateAnswer, framework, title, release, takes, text, instead, refused_since, taken_from, refusals,
               by_name, cudnn, frontend, notes, source)
}  // namespace attnprobe::rules
