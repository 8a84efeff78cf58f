// The gates of frameworks above cuDNN: when a release of PyTorch, JAX, Transformer Engine, … asks cuDNN, and what it
// refuses before. The data has one file per framework, lib/rules/frameworks/<framework>.json; each rule names its
// source. The site's page reference/frameworks is generated from it. A new file is built in automatically.
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
#include "rules/framework_rule.hpp"

namespace attnprobe::rules {

/// Whether the framework selects cuDNN by default.
struct GatePreference {
  ReleaseSpan span;
  bool first = false;  ///< cuDNN before its other kernels, or before those that support the call
  std::string why;     ///< appended to "asks cuDNN" as an explanation, or ""
  std::string text;
  Source source;
  Json when;  ///< null: always
};

/// How a framework caches cuDNN's plans, which determines the cost of a new shape.
struct GatePlans {
  ReleaseSpan span;
  std::string text;
  Source source;
};

struct GateRelease {
  std::string version;   ///< "2.15.0", "0.7.2.post1"
  std::string cudnn;     ///< the pinned cuDNN version, "9.26.0.51", "9.24", ">=9.12.0.46"; "" if none, or unknown
  std::string frontend;  ///< its compiled-in release of cudnn-frontend, "1.26"; "" if unknown
  std::string frontend_source;  ///< source of that fact
};

/// A text for the problems that meet a condition.
struct GateText {
  Json when;  ///< null: always
  std::string text;
  bool raises = false;  ///< in `instead`: no other kernel runs, and the call raises an exception
};

struct FrameworkGate {
  std::string framework;           ///< the file's name: "torch"
  std::string title;               ///< "PyTorch"
  std::vector<std::string> names;  ///< other names
  std::vector<GateText> instead;   ///< what runs after a silent refusal: the first entry whose condition holds
  std::vector<GateText> then;      ///< consequences and other facts: all entries whose conditions hold
  std::vector<GateText> by_name;   ///< how to select cuDNN; the last entry always holds
  std::string without;             ///< how to exclude cuDNN; "": unknown
  Source lacks_source;
  std::vector<GateText> lacks;       ///< config features without an argument in the framework's call
  bool all_reasons = false;          ///< checks continue after the first refusal
  std::vector<CallKey> keys;         ///< in addition to those of a flat problem
  std::vector<ProblemKey> all_keys;  ///< both kinds of keys
  Json base;                         ///< a value, or null, for every key: an ordinary call
  std::vector<GatePreference> preferences;
  std::vector<GateRelease> releases;  ///< in ascending order; may be empty
  std::vector<FrameworkRule> rules;   ///< in the file's order
  std::vector<GatePlans> plans;       ///< ascending; empty: unknown
  struct Order {
    ReleaseSpan span;
    std::vector<std::string> rules;
  };
  std::vector<Order> orders;  ///< for releases that check in another order
  std::string unread;         ///< why none of its rules are known, "closed source"; otherwise ""
};

/// The gates of all built-in files, by name. Read once. Throws Error(internal) naming file, entry and problem.
const std::vector<FrameworkGate>& framework_gates();

/// `file`: "frameworks/torch.json".
FrameworkGate parse_framework_gate(std::string_view text, const std::string& file);

/// The release of a framework that a question is about.
struct ChosenGate {
  const FrameworkGate* gate = nullptr;
  const GateRelease* release = nullptr;  ///< the release whose rules are used; null if unknown
  std::string asked;                     ///< the requested release if its rules were not read; otherwise ""
  /// The other releases that the word covers, and the word itself: "2.5" is 2.5.1, but also 2.5.0.
  std::vector<const GateRelease*> others = {};
  std::string word = {};

  /// Whether the rules of the requested release are known.
  bool is_known() const { return release != nullptr || (asked.empty() && gate->unread.empty()); }
};

/// Parses framework names: "torch", "torch==2.11", "PyTorch 2.11", "jax@0.10", a comma-separated list of these, or
/// "all". "all" is the newest release of every framework with known rules. If a release was not read, the rules of the
/// newest read release before it apply; without one it has no rules. Throws Error(usage), which begins with `option`,
/// for an unknown framework and for a duplicate.
std::vector<ChosenGate> choose_gates(const std::vector<std::string>& words, const std::string& option);

/// How this release chooses between cuDNN and its other kernels, special cases first; empty if unknown.
std::vector<std::string> choices_of(const ChosenGate& chosen);

/// How this release caches plans (for an unknown release, the newest); nullptr if unknown.
const GatePlans* plans_of(const ChosenGate& chosen);

/// The words for choose_gates() that give these: "torch==2.15.0,jax==0.12.0.1", or "all".
std::string words_of(const std::vector<ChosenGate>& gates);

/// "PyTorch 2.15.0"; "PyTorch 2.16 (rules of 2.15.0)".
std::string title_of(const ChosenGate& chosen);

/// A key of `call` below, in addition to those of the gate: the call itself selects cuDNN, regardless of the
/// framework's preference.
inline constexpr const char* names_cudnn = "names_cudnn";

/// A config as a call of the framework, with every key of the gate. A key that the config does not set has its usual
/// value. `call`: values by key from the call itself; they override the config's. Precondition: the spec has no
/// contradictions.
Json describe_gate_call(const FrameworkGate& gate, const attention::AttentionSpec& spec, CudnnVersion cudnn_version,
                        int sm, const Json& call);

/// The known release of cudnn-frontend with the graphs and rules that these frameworks use, or the nearest. None if
/// they use several, or if it is unknown.
std::optional<std::string> frontend_of(const std::vector<ChosenGate>& gates);

/// The cuDNN that these releases pin, "9.26.0", or "9.26" for any patch; none if they pin several versions or a range.
std::optional<std::string> cudnn_of(const std::vector<ChosenGate>& gates);

/// The rules of a release, in its order of checks.
std::vector<const FrameworkRule*> rules_in_order(const FrameworkGate& gate, const std::string& release);

enum class Takes {
  yes,          ///< the call reaches cuDNN
  by_name,      ///< the call reaches cuDNN only if the program selects it
  refused,      ///< the gate refuses
  not_in_call,  ///< the framework's call cannot express the config
  wrong,        ///< the call reaches cuDNN, but cuDNN gets a different problem from the call's
  unknown,      ///< the rules of this release are unknown
};
ATTNPROBE_ENUM(Takes, yes, by_name, refused, not_in_call, wrong, unknown)

struct GateRefusal {
  std::string id, what, status, message, change;
  std::string since,
      below;  ///< first release with the rule, and first release without it again; "" if unknown
  Source source;
};
ATTNPROBE_JSON(GateRefusal, id, what, status, message, change, since, below, source)

/// The framework's decision about a config, made before it asks cuDNN.
struct GateAnswer {
  std::string framework, title, release;  ///< "torch", "PyTorch 2.15.0", "2.15.0"
  Takes takes = Takes::yes;
  std::string text;     ///< one line without a full stop: "PyTorch 2.15.0 refuses dropout 0.1 (not a multiple of 1/16)"
  std::string instead;  ///< what runs instead, if known
  std::string
      refused_since;       ///< first release of the unbroken range that refuses it; "" if the oldest read release also
                           ///< does
  std::string taken_from;  ///< the first later release that accepts it; "" for none
  std::vector<GateRefusal> refusals;  ///< in the framework's order; most frameworks stop at the first
  std::string by_name;                ///< how a program selects cuDNN
  std::string cudnn;                  ///< cuDNN pinned by the release, or ""
  std::string frontend;               ///< compiled-in release of cudnn-frontend: "1.26"; ""
  std::vector<std::string> notes;     ///< assumptions about the call, and other facts
  Source source;                      ///< source of the text
};

/// Precondition: `call` is from describe_gate_call(). `cudnn_version`: the cuDNN that is asked.
GateAnswer answer_of_gate(const ChosenGate& chosen, const Json& call, CudnnVersion cudnn_version);

/// Adds a note if the release's cudnn-frontend differs from the one that answered, "1.32".
void note_frontend(GateAnswer& answer, const ChosenGate& chosen, const std::string& answered);

ATTNPROBE_JSON(GateAnswer, framework, title, release, takes, text, instead, refused_since, taken_from, refusals,
               by_name, cudnn, frontend, notes, source)
}  // namespace attnprobe::rules
