// The gates of frameworks above cuDNN: what a release of PyTorch, JAX, Transformer Engine, … refuses before it asks
// cuDNN, and when it asks cuDNN at all. Data, a file a framework: lib/rules/frameworks/<framework>.json, from which
// docs/frameworks.md is made; each rule names the source that was read. A new file is built in by itself.
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
  std::string advice;  ///< said where a config makes it another value than the usual one; "" for nothing
};

/// The releases that something holds for: from the first of them on, and before the second. "" where there is no bound.
struct GateSpan {
  std::string from, below;
  std::vector<int> first, end;  ///< the same as numbers (release_numbers); empty where there is no bound
};

struct GateRule {
  std::string id;
  GateSpan span;
  std::string pass;  ///< "forward" or "backward" where only one of them is refused; else ""
  /// What becomes of the call: "falls back", "exception", "runs in another kernel", "not asked"; "wrong results" where cuDNN is asked,
  /// but about something else than the call means.
  std::string status;
  std::string what;     ///< what is refused, in a few words; "{key}" stands for a key's value
  std::string message;  ///< how the framework's own message begins, with "{key}" likewise; "" where it says nothing
  std::string change;   ///< what gets around it
  Source source;
  Json when;
  Examples examples;  ///< objects of keys; `affected` lies over the gate's base
};

/// Whether the framework takes cuDNN by itself.
struct GatePreference {
  GateSpan span;
  bool first = false;  ///< before its other kernels, or before those that take the call
  std::string why;     ///< beside "asks cuDNN", where that is not plain; or ""
  std::string text;
  Source source;
  Json when;  ///< null: always
};

struct GateRelease {
  std::string version;   ///< "2.15.0", "0.7.2.post1"
  std::string cudnn;     ///< that it pins: "9.26.0.51", "9.24", ">=9.12.0.46"; "" where it pins none, or none was read
  std::string frontend;  ///< release of cudnn-frontend that it is compiled with: "1.26"; "" where none was read
  std::string frontend_source;  ///< where that was read
};

/// A text for some problems.
struct GateText {
  Json when;  ///< null: always
  std::string text;
  bool raises = false;  ///< of `instead`: nothing else runs, the call ends in an exception
};

struct FrameworkGate {
  std::string framework;           ///< the file's name: "torch"
  std::string title;               ///< "PyTorch"
  std::vector<std::string> names;  ///< other words for it
  std::vector<GateText> instead;   ///< what runs where it refuses in silence: the first that holds
  std::vector<GateText> then;      ///< what follows the gate, or else is to know: all that hold
  std::vector<GateText> by_name;   ///< how cuDNN is named; the last holds always
  Source lacks_source;
  std::vector<GateText> lacks;       ///< what the framework's call has no argument for
  bool all_reasons = false;          ///< it does not stop at its first refusal
  std::vector<GateKey> keys;         ///< beyond those of a flat problem
  std::vector<ProblemKey> all_keys;  ///< both
  Json base;                         ///< a value, or null, for every key: an ordinary call
  std::vector<GatePreference> preferences;
  std::vector<GateRelease> releases;  ///< in ascending order; may be empty
  std::vector<GateRule> rules;        ///< in the file's order
  struct Order {
    GateSpan span;
    std::vector<std::string> rules;
  };
  std::vector<Order> orders;  ///< of releases that check in another order
  std::string unread;         ///< why no rule of it is known: "closed source"; "" where some are
};

/// Of all files that are built in, by name. Read once. Throws Error(internal) naming file, entry and what is wrong.
const std::vector<FrameworkGate>& framework_gates();

/// `file`: "frameworks/torch.json".
FrameworkGate parse_framework_gate(std::string_view text, const std::string& file);

/// "2.15.0" and "0.7.2.post1" as numbers that compare; none for what is no release.
std::optional<std::vector<int>> release_numbers(std::string_view release);

/// The names in "{name}"s of a text; other braces are the text's own.
std::vector<std::string> placeholders_of(std::string_view text);

/// A framework's release whose gate is asked.
struct ChosenGate {
  const FrameworkGate* gate = nullptr;
  const GateRelease* release = nullptr;  ///< whose rules are taken; null where none is known
  std::string asked;                     ///< the release that was asked for, where it was not read; else ""
  /// The other releases that the word means, and the word: "2.5" is 2.5.1, and 2.5.0 too.
  std::vector<const GateRelease*> others = {};
  std::string word = {};

  /// Whether the rules of what was asked for are known.
  bool is_known() const { return release != nullptr || (asked.empty() && gate->unread.empty()); }
};

/// What words mean: "torch", "torch==2.11", "PyTorch 2.11", "jax@0.10", a comma list of such, or "all": the newest release of every
/// framework whose rules are known. A release that was not read gets the rules of the newest read before it; one older than all has none.
/// Throws Error(usage), which begins with `option`, for an unknown framework and for a framework that is there twice.
std::vector<ChosenGate> choose_gates(const std::vector<std::string>& words, const std::string& option);

/// The words that choose_gates() takes for these: "torch==2.15.0,jax==0.12.0.1", or "all".
std::string words_of(const std::vector<ChosenGate>& gates);

/// "PyTorch 2.15.0"; "PyTorch 2.16 (rules of 2.15.0)".
std::string title_of(const ChosenGate& chosen);

/// A key of `call` below, beside those of the gate: the call itself names cuDNN, whatever would come first without that.
inline constexpr const char* names_cudnn = "names_cudnn";

/// A config as a call of the framework: every key of the gate. What the config does not say has its usual value.
/// `call`: values, by key, that a call itself gave; they count before those of the config. Precondition: the spec has no contradictions.
Json describe_gate_call(const FrameworkGate& gate, const attention::AttentionSpec& spec, CudnnVersion cudnn_version,
                        int sm, const Json& call);

/// The release of cudnn-frontend, of those that attnprobe knows, whose graphs and rules are those of these frameworks, or the
/// nearest: none where they bring several, or where none was read.
std::optional<std::string> frontend_of(const std::vector<ChosenGate>& gates);

/// The cuDNN that these frameworks' releases pin, "9.26.0", or "9.26" for any patch of it: none where they pin several, or a range.
std::optional<std::string> cudnn_of(const std::vector<ChosenGate>& gates);

/// Whether the release is in the span; "": today's.
bool is_in_force(const GateSpan& span, const std::string& release);

/// The rules that hold for a release, as it checks them.
std::vector<const GateRule*> rules_in_order(const FrameworkGate& gate, const std::string& release);

enum class Takes {
  yes,          ///< the call gets to cuDNN
  by_name,      ///< only where the program names cuDNN
  refused,      ///< the gate refuses
  not_in_call,  ///< the framework's call cannot say what the config says
  wrong,        ///< the call gets to cuDNN, which computes something else than the call means
  unknown,      ///< the rules of this release are not known
};
ATTNPROBE_ENUM(Takes, yes, by_name, refused, not_in_call, wrong, unknown)

struct GateRefusal {
  std::string id, what, status, message, change;
  std::string since,
      below;  ///< the releases that have the rule: since this one, before that one; "" where no bound was read
  Source source;
};
ATTNPROBE_JSON(GateRefusal, id, what, status, message, change, since, below, source)

/// What a framework does with a config before cuDNN sees it.
struct GateAnswer {
  std::string framework, title, release;  ///< "torch", "PyTorch 2.15.0", "2.15.0"
  Takes takes = Takes::yes;
  std::string text;  ///< in a line, without a full stop: "PyTorch 2.15.0 refuses dropout 0.1 (not a multiple of 1/16)"
  std::string instead;  ///< what runs then, where it is known
  std::string
      refused_since;  ///< the first release that refuses it, with none that takes it up to the asked one; "" where the oldest read does, too
  std::string taken_from;             ///< the first later release that does not refuse it; "" for none
  std::vector<GateRefusal> refusals;  ///< in the framework's order: it stops at the first of them, most do
  std::string by_name;                ///< how a program names cuDNN
  std::string cudnn;                  ///< that the release pins; ""
  std::string frontend;               ///< release of cudnn-frontend that it is compiled with: "1.26"; ""
  std::vector<std::string> notes;     ///< what was assumed of the call, and what else is to know
  Source source;                      ///< of the text
};

/// Precondition: `call` is of describe_gate_call(). `cudnn_version` is the one that is asked.
GateAnswer answer_of_gate(const ChosenGate& chosen, const Json& call, CudnnVersion cudnn_version);

/// Notes the cudnn-frontend that the release brings beside the one that answered, "1.32".
void note_frontend(GateAnswer& answer, const ChosenGate& chosen, const std::string& answered);

ATTNPROBE_JSON(GateAnswer, framework, title, release, takes, text, instead, refused_since, taken_from, refusals,
               by_name, cudnn, frontend, notes, source)
}  // namespace attnprobe::rules
