// A call in a text's source code, and the rules' answer. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::explain {

struct TextCall {
  int64_t line = 0;
  std::string call;                  ///< in words: "sdpa fprop b8 h2 s640 d128/64 bf16 bhsd"
  std::vector<std::string> read_as;  ///< assumptions about facts that the source leaves open
  std::string target;                ///< id of the GPU: "h100"
  bool target_is_named = false;      ///< according to the text
  std::string says;                  ///< the gate's decision: "PyTorch 2.9.1 uses cuDNN only if it is named …"
  bool is_taken = false;             ///< the call reaches cuDNN, by default or if the program names it
  std::string change;                ///< a workaround for a refusal; ""
  std::string source;                ///< the gate's evidence
  std::string answered;  ///< who answered, and cuDNN's answer: "PyTorch 2.9.1's rules; cuDNN 9.19.0 on h100 …: yes"
  std::string cudnn;     ///< the cuDNN version of the remaining members: "9.19.0"
  std::vector<std::string> needs;  ///< requirements that this cuDNN or GPU does not meet, by rule
  std::vector<std::string> bugs;   ///< known bugs that affect it, each with its workaround
  std::string framework;           ///< "torch", "jax": the option that asks cuDNN
  Json asked;                      ///< the value for that option

  /// Nothing in the answer explains a failure of the call.
  bool is_accepted() const { return is_taken && needs.empty() && bugs.empty(); }
};
ATTNPROBE_JSON(TextCall, line, call, read_as, target, target_is_named, says, is_taken, change, source, answered, cudnn,
               needs, bugs, framework, asked)

}  // namespace attnprobe::explain
