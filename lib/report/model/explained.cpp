#include "report/model/explained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "diagnose/sentence_finder.hpp"
#include "diagnose/sentences.hpp"

namespace attnprobe::report {
namespace {

std::string why_not_explained(const std::string& name, const replay::Replay& replay,
                              const diagnose::TextFindings& findings, const std::vector<std::string>& told) {
  if (replay.history.has_entries()) return replay::why_no_graph(replay);
  if (!findings.facts.speaks_of_attention)
    return fmt::format(
        "{}: nothing known: nothing in it speaks of an attention, and attnprobe knows of attention alone", name);
  std::string tells;
  for (const auto& fact : told) tells += (tells.empty() ? "" : "; ") + fact;
  if (!tells.empty()) tells = fmt::format("The text tells: {}. ", tells);
  return fmt::format(
      "{}: nothing known: none of the {} sentences by which PyTorch, JAX, Transformer Engine, other frameworks, "
      "cudnn-frontend, cuDNN, its loader and CUDA refuse or fail, and nothing that cuDNN or cudnn-frontend wrote. {}{}",
      name, diagnose::sentences().size(), tells, replay::how_to_log());
}

}  // namespace

bool shows_graphs(const replay::Replay& replay) {
  return std::any_of(replay.graphs.begin(), replay.graphs.end(),
                     [](const auto& graph) { return graph.logged.imported.has_value(); });
}

Explained explain(const std::string& name, const std::string& called, const replay::GiveText& give,
                  const FindCalls& find_calls) {
  constexpr size_t most_source = size_t{4} << 20;
  diagnose::SentenceFinder finder;
  std::string source;
  const auto give_both = [&](const std::function<void(std::string_view)>& take, std::string* problem) {
    give(
        [&](std::string_view bytes) {
          finder.feed(bytes);
          source += bytes.substr(0, most_source - std::min(most_source, source.size()));
          take(bytes);
        },
        problem);
  };
  Explained explained;
  std::optional<Error> broken;  // a document that is no graph may still be a text with sentences
  try {
    explained.replay = replay::read_replay_of(name, give_both);
  } catch (const Error& e) {
    explained.replay.file = name;
    explained.replay.problem = e.what();
    broken = e;
  }
  const diagnose::TextFindings findings = finder.finish();
  explained.answer = diagnose::answer_of(findings, shows_graphs(explained.replay));
  explained.calls = find_calls(source);
  if (!explained.calls.empty()) return explained;
  if (broken && explained.answer.refusals.empty()) throw Error(*broken);
  if (explained.replay.graphs.empty() && explained.replay.history.exceptions.empty() &&
      explained.answer.refusals.empty())
    throw Error(ErrorKind::usage, why_not_explained(called, explained.replay, findings, explained.answer.told));
  return explained;
}

}  // namespace attnprobe::report
