// A problem as version rules see it: a flat JSON object, one value a key, made by one function.
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
  std::vector<std::string> values;  ///< of a text: what it may be
  std::string help;                 ///< one line; says when the value is null
};

/// Every key of describe_problem, in its order.
const std::vector<ProblemKey>& problem_keys();

/// Null if there is no such key.
const ProblemKey* find_key(const std::vector<ProblemKey>& keys, const std::string& name);

/// The flat problem that conditions speak of: `spec` with its defaults filled in, the cuDNN version as cudnnGetVersion
/// gives it (91900) and the compute capability of the GPU (90). Precondition: the spec has no contradictions.
Json describe_problem(const attention::AttentionSpec& spec, CudnnVersion cudnn_version, int sm);

}  // namespace attnprobe::rules
