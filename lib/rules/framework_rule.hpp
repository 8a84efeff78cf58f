// A rule of a program above cuDNN: a call that it refuses before it asks cuDNN. cudnn-frontend, Transformer Engine's C++
// table (framework_rules.hpp) and the gates of all frameworks (framework_gates.hpp) have the same rules.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "rules/flat_problem.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::rules {

/// A key of a framework's call that a config does not have.
struct CallKey {
  ProblemKey key;
  std::string advice;  ///< shown if a config sets an unusual value; "": nothing shown
};

/// The releases to which an entry applies: `from` and later, before `below`. "" means unbounded.
struct ReleaseSpan {
  std::string from, below;
  std::vector<int> first, end;  ///< the same as numbers (release_numbers); empty: unbounded
};

struct FrameworkRule {
  std::string id;
  ReleaseSpan span;
  std::string pass;  ///< "forward" or "backward" if a call requests both passes and only this pass is refused;
                     ///< otherwise ""
  /// The outcome: "falls back", "exception", "runs in another kernel", "not asked". "wrong results": cuDNN gets a
  /// different problem from the call's. Rules of cudnn-frontend have its own status, "GRAPH_NOT_SUPPORTED"; "" for none.
  std::string status;
  std::string what;     ///< short name of what is refused; "{key}" is replaced by the key's value; gates only
  std::string message;  ///< the start of the program's own message, also with "{key}"; "" if it is silent
  std::string change;   ///< a workaround; gates only
  Source source;
  Json when;
  Examples examples;        ///< null if the rule cannot be reached
  bool of_package = false;  ///< see is_of_package()
};

/// "2.15.0" and "0.7.2.post1" as comparable numbers; none if the text is not a release.
std::optional<std::vector<int>> release_numbers(std::string_view release);

/// Whether the span includes the release; "" is the current one.
bool is_in_force(const ReleaseSpan& span, const std::string& release);

/// The last release of cudnn-frontend in the span, "1.24"; "" if the newest is.
std::string last_frontend_of(const ReleaseSpan& span);

/// The placeholders "{name}" in a text; other braces are ordinary text.
std::vector<std::string> placeholders_of(std::string_view text);

/// The text with each "{key}" replaced by `value_of(key)`.
std::string filled(const std::string& text, const std::function<std::string(const std::string& key)>& value_of);

enum class CudnnVersionAs { number, text };

/// The same with the keys' values. In a program's own message, a cuDNN version is a number.
std::string filled(const std::string& text, const Json& values, CudnnVersionAs cudnn);

}  // namespace attnprobe::rules
