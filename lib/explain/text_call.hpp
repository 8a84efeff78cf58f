// A call that the source in a text makes, and what rules say of it. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace attnprobe::explain {

struct TextCall {
  int64_t line = 0;
  std::string call;                  ///< in words: "sdpa fprop b8 h2 s640 d128/64 bf16 bhsd"
  std::vector<std::string> read_as;  ///< what was assumed where the source does not say it
  std::string target;                ///< id of the GPU: "h100"
  bool target_is_named = false;      ///< by the text
  std::string says;                  ///< the framework's gate: "PyTorch 2.9.1 takes cuDNN only where it is named …"
  bool is_taken = false;             ///< the call gets to cuDNN, by its own or by name
  std::string change;                ///< what gets around a refusal; ""
  std::string source;                ///< of what it says
  std::string answered;  ///< by whom, and what cuDNN says: "PyTorch 2.9.1's rules; cuDNN 9.19.0 on h100 …: yes"
  std::string cudnn;     ///< the version that the rest is about: "9.19.0"
  std::vector<std::string> needs;  ///< what that cuDNN or GPU lacks, by rule
  std::vector<std::string> bugs;   ///< known ones that concern it, each with what to do
  std::string framework;           ///< "torch", "jax": of the option that asks cuDNN itself
  Json asked;                      ///< what that option takes
};
ATTNPROBE_JSON(TextCall, line, call, read_as, target, target_is_named, says, is_taken, change, source, answered, cudnn,
               needs, bugs, framework, asked)

}  // namespace attnprobe::explain
