// A problem in the form of version rules: a flat JSON object with one value per key, made by one function.
#pragma once

#include <string>
#include <vector>

#include "attention/spec.hpp"
#include "base/json.hpp"
#include "base/version.hpp"

namespace attnprobe::rules {

enum class KeyKind { boolean, number, text };
ATTNPROBE_ENUM(KeyKind, boolean, number, text)

/// One key of a flat problem.
struct ProblemKey {
  std::string name;  ///< "head_dim_qk"
  KeyKind kind = KeyKind::boolean;
  std::vector<std::string> values;  ///< the allowed values of a text
  std::string help;                 ///< one line; includes when the value is null
};

/// Every key of describe_problem, in order.
const std::vector<ProblemKey>& problem_keys();

/// Null for an unknown key.
const ProblemKey* find_key(const std::vector<ProblemKey>& keys, const std::string& name);

/// The flat problem for conditions: `spec` with its defaults filled in, the cuDNN version as from cudnnGetVersion
/// (91900), and the GPU's compute capability (90). Precondition: the spec has no contradictions.
Json describe_problem(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

}  // namespace attnprobe::rules
