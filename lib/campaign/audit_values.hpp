// Of a gate's rule about a number: which values cuDNN takes where the rule refuses them, and what the number could be.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/answer.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::campaign {

using answer::Answer;
using answer::Verdict;

/// Another number for a rule's limit: what was asked between the two, and only that, is known to be taken.
struct ProposedLimit {
  std::vector<std::string> keys;  ///< of the problem: "head_dim_qk", "head_dim_v"
  std::string direction;          ///< "forward", "backward"
  bool upper = true;              ///< what is above the limit is refused; else what is below it
  std::string now;                ///< what the rule refuses: "above 128", "from 129 on"
  double limit = 0;               ///< the last value that cuDNN was seen to take
  bool end_found = false;         ///< a value beyond it was asked, and cuDNN refused it
  std::vector<std::string> targets;
};
Json to_json(const ProposedLimit& proposal);

/// "head_dim_qk and head_dim_v above 256 instead of above 128, forward on rtx4090; cuDNN refuses what was asked beyond it"
std::string text_of(const ProposedLimit& proposal);

class RuleValues {
 public:
  /// A cell that this rule alone refuses, and whether it would work without the rule. Where it would not, it counts if cuDNN's
  /// reason is a size (answer::Category of head dimensions, lengths, heads, shapes, shared memory), not a feature.
  void add(const rules::GateRule& rule, const answer::Answer& result, bool works);

  /// "head_dim_qk 136 to 256 forward on rtx4090", for each key that the rule compares with a number.
  std::vector<std::string> taken() const;

  /// For each key that the rule has limits of one kind for, on each GPU where cuDNN refuses nothing between the limit and the
  /// last value that it takes; GPUs and keys with the same answer together.
  std::vector<ProposedLimit> proposals(const rules::GateRule& rule) const;

 private:
  struct Seen {
    std::optional<std::pair<double, double>> works, fails;  // least and most
  };
  std::map<std::pair<std::string, std::string>, std::map<std::string, Seen>> seen_;  // key and direction; target
};

}  // namespace attnprobe::campaign
