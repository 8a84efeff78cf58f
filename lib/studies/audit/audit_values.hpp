// For a gate's numeric rule: the refused values that cuDNN supports, and a better limit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/answer.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::studies {

using answer::Answer;
using answer::Verdict;

/// A proposed limit for a rule. Between the old and the new limit, only the asked values are known to be supported.
struct ProposedLimit {
  std::vector<std::string> keys;  ///< keys of the problem: "head_dim_qk", "head_dim_v"
  std::string direction;          ///< "forward", "backward"
  bool upper = true;              ///< refuses values above the limit; otherwise values below it
  std::string now;                ///< the values that the rule currently refuses: "above 128", "from 129 on"
  double limit = 0;               ///< the last value that cuDNN supports
  bool end_found = false;         ///< cuDNN refused an asked value beyond it
  std::vector<std::string> targets;
};
Json to_json(const ProposedLimit& proposal);

/// "head_dim_qk and head_dim_v above 256 instead of above 128, forward on rtx4090; cuDNN refuses what was asked beyond
/// it"
std::string text_of(const ProposedLimit& proposal);

class RuleValues {
 public:
  /// Adds a cell that only this rule refuses; `works`: whether it would work without the rule. If not, it counts only
  /// if cuDNN's reason is a size (answer::Category of head dimensions, lengths, heads, shapes, shared memory), not a
  /// feature.
  void add(const rules::FrameworkRule& rule, const answer::Answer& result, bool works);

  /// "head_dim_qk 136 to 256 forward on rtx4090", for each key that the rule compares with a number.
  std::vector<std::string> taken() const;

  /// Proposals for the keys that the rule limits in only one direction. A GPU counts if cuDNN refuses nothing between
  /// the limit and the last supported value. GPUs and keys with the same answer are merged.
  std::vector<ProposedLimit> proposals(const rules::FrameworkRule& rule) const;

 private:
  struct Seen {
    std::optional<std::pair<double, double>> works, fails;  // smallest and largest
  };
  std::map<std::pair<std::string, std::string>, std::map<std::string, Seen>> seen_;  // by key and direction, then by
                                                                                     // target
};

}  // namespace attnprobe::studies
