#include "diagnose/refusal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/next_steps.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"

namespace attnprobe::diagnose {
namespace {

// "1.5.0-1.32.0" of cudnn-frontend in words; what else is known of versions as it is.
std::string releases_in_words(const std::string& who, const std::string& versions) {
  if (versions.empty()) return "";
  const bool is_range = versions.find_first_not_of("0123456789.-") == std::string::npos;
  if (!is_range) return versions;
  const std::string name = who == "cuDNN" || who == "loader" ? "" : who + " ";
  const size_t dash = versions.find('-');
  if (dash == std::string::npos) return fmt::format("{}release {} has this sentence", name, versions);
  return fmt::format("{}releases {} to {} have this sentence", name, versions.substr(0, dash),
                     versions.substr(dash + 1));
}

std::string gate_of(const std::string& who) {
  if (who == "PyTorch" || who == "PyTorch SDPA") return "PyTorch's gate";
  if (who == "JAX" || who == "Transformer Engine") return who + "'s gate";
  return who + (who.ends_with('s') ? "' own check" : "'s own check");
}

std::string headline_of(const Sentence& sentence) {
  if (!sentence.headline.empty()) return sentence.headline;
  if (sentence.kind == SentenceKind::note) return sentence.who + " says what happened, and refuses nothing";
  if (sentence.kind == SentenceKind::general && sentence.layer == Layer::framework)
    return "A program refuses cuDNN's attention, in words of its own";
  return headline_of(sentence.layer, sentence.who);
}

}  // namespace

Layer layer_of(Category category) {
  switch (category) {
    case Category::environment:
      return Layer::environment;
    case Category::compilation:
      return Layer::plan_compilation;
    case Category::execution:
    case Category::cuda_error:
    case Category::cudnn_error:
      return Layer::execution;
    case Category::no_candidates:
      return Layer::cudnn_heuristics;
    default:
      return Layer::cudnn_engine;
  }
}

std::string headline_of(Layer layer, const std::string& who) {
  switch (layer) {
    case Layer::environment:
      return "The machine is at fault: a driver, a library or a GPU that does not fit";
    case Layer::execution:
      return "Execution failed: a call into cuDNN or CUDA, behind every support check";
    case Layer::plan_compilation:
      return "Plan compilation failed, behind cuDNN's support check";
    case Layer::cudnn_engine:
      return "cuDNN's engines refused, at the support check";
    case Layer::cudnn_heuristics:
      return "cuDNN's heuristics gave no engine config for the graph";
    case Layer::cudnn_frontend:
      return who == "cudnn-frontend" ? "cudnn-frontend refused, before cuDNN was asked"
                                     : fmt::format("cudnn-frontend or cuDNN refused, in a call of {}'s", who);
    case Layer::framework:
      return gate_of(who) + (has_words(who, *readings().asks_cudnn) ? " refused, before cuDNN was asked"
                                                                    : " refused; cuDNN has no part in it");
  }
  return "";
}

Refusal refusal_of(const SentenceHit& hit, const std::string& options) {
  const Sentence& sentence = *hit.sentence;
  Refusal refusal;
  refusal.id = sentence.id;
  refusal.layer = sentence.layer;
  refusal.who = sentence.who;
  refusal.kind = sentence.kind;
  refusal.headline = headline_of(sentence);
  refusal.means = sentence.means;
  refusal.causes = sentence.causes;
  const auto [step, rest] = step_and_rest(sentence.next);
  refusal.help = rest;
  refusal.next = step_of(sentence, step, options);
  refusal.versions = releases_in_words(
      sentence.who, sentence.versions.size() == 1 ? sentence.versions[0] : sentence.versions[hit.match]);
  refusal.source = sentence.source;
  return refusal;
}

Refusal refusal_of(const ReasonHit& hit, const std::string& options) {
  const KnownReason& reason = *hit.reason;
  Refusal refusal;
  refusal.id = reason.id;
  refusal.layer = layer_of(reason.category);
  refusal.who = "cuDNN";
  refusal.headline = headline_of(refusal.layer, refusal.who);
  refusal.means = reason.meaning;
  refusal.help = reason.help;
  refusal.next =
      refusal.layer == Layer::environment
          ? "attnprobe doctor"
          : with_options("attnprobe probe with the shape of the call, which says what cuDNN takes instead", options);
  if (!reason.since.empty() || !reason.until.empty())
    refusal.versions = fmt::format("cuDNN {} to {} were seen to say it", reason.since.empty() ? "9.8.0" : reason.since,
                                   reason.until.empty() ? "the newest" : reason.until);
  refusal.source = reason.source;
  return refusal;
}

}  // namespace attnprobe::diagnose
