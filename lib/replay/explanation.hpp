// Explains from the log why a graph was refused; needs no cuDNN.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/root_cause.hpp"
#include "recognise/recognise.hpp"
#include "replay/log_history.hpp"
#include "rules/requirements.hpp"

namespace attnprobe::replay {

/// One reason and the engine configs that it rejected.
struct ReasonGroup {
  std::string status;  ///< cuDNN's, of the innermost line
  std::string reason;  ///< cuDNN's innermost line, verbatim; "" if cuDNN logged none
  answer::Category category =
      answer::Category::unknown;  ///< id in the catalogue; "unknown" if the catalogue lacks both text and status
  bool is_known = false;
  std::string meaning;               ///< in plain words; "" if the catalogue does not know the text
  std::string help;                  ///< the usual workaround
  int progress = 0;                  ///< how far the engines got
  std::vector<std::string> engines;  ///< "engine 2 KERNEL_CFG=7"
};
ATTNPROBE_JSON(ReasonGroup, status, reason, category, is_known, meaning, help, progress, engines)

struct Explanation {
  bool refused = false;                    ///< the log shows that the program found no working engine config
  bool works = false;                      ///< the log shows that it found one; neither: unknown
  std::optional<answer::RootCause> cause;  ///< set if the graph was refused
  std::vector<ReasonGroup> reasons;        ///< reasons of all rejected engine configs, furthest stage first
  std::vector<std::string> viable;         ///< engine configs that passed: "engine 2 KERNEL_CFG=7"
  /// If attnprobe's configs can build the graph, and the log names cuDNN and GPU.
  std::vector<rules::Requirement> requirements;
  std::vector<rules::KnownBug> known_bugs;
  std::optional<rules::FrontendAnswer> frontend;
};

/// The rule of cudnn-frontend with a message in that line of a program's output; the longest match if there are
/// several. In this case cudnn-frontend refused before it asked cuDNN.
std::optional<rules::FrontendAnswer> frontend_refusal(std::string_view line);

Explanation explain(const replay::LoggedGraph& logged, const recognise::Recognised& recognised);

}  // namespace attnprobe::replay
