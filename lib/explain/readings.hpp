// Words the answers of rules and cuDNN, as refusals of kind "reading".
#pragma once

#include <optional>

#include "explain/text_answer.hpp"

namespace attnprobe::explain {

/// The advice for a refusal of cudnn-frontend that a later cuDNN lifts. Precondition: `asked.lifted_by` is known.
std::string lifting_cudnn(const Asked& asked);

/// Whether the release never asks cuDNN, so that it has no inner refusal.
bool refuses_any_call(const rules::GateAnswer& gate);

/// Whether the framework's gate refuses the call.
bool is_kept_off(const rules::GateAnswer& gate);

/// Whether cuDNN runs only if the program selects it, and the text names no setting that does.
bool must_be_selected(const Asked& asked);

/// Whether the question is the text's: with more assumptions, only a refusal of every variant is an answer.
bool is_told(const Asked& asked);

/// The first refusing layer in the order of a call. A message from an inner layer proves that the layers outside
/// `outermost` accepted the call.
std::optional<Refusal> refusal_of(const Asked& asked, Layer outermost = Layer::framework);

/// For trouble that no refusal explains: if the release in the text keeps every call from cuDNN, that is established.
std::optional<Refusal> not_involved(const Asked& asked, const TextFacts& facts);

/// The known bug that affects the question, if nothing refuses the question.
std::optional<Refusal> warning_of(const Asked& asked);

/// The cost of a new shape, or of every call.
Refusal plans_of(const Asked& asked, const TextFacts& facts);

Refusal possible_bug(const BugInText& bug);

/// Which cuDNN an attention needs. Precondition: `asked.first` has one GPU.
Refusal first_version(const Asked& asked);

/// Likewise on several GPUs.
Refusal first_versions(const Asked& asked);

/// Nothing refuses the question.
Refusal accepted(const Asked& asked, const TextFacts& facts);

/// A refusal in a message, although cuDNN or the gate accepts the call when asked.
Refusal contradicted(const Asked& asked, const Refusal& message);

}  // namespace attnprobe::explain
