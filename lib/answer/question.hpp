// A question for cuDNN: a config or another program's graph. The graph of a config depends on cuDNN and the GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "base/json.hpp"
#include "graph/op_graph.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::answer {

/// A graph that is asked about unchanged.
struct GivenGraph {
  graph::OpGraph graph;
  std::string description;         ///< "sdpa_composite fprop, b4 …", or the list of its operations
  bool is_recognised = false;      ///< the question's config builds exactly this graph; otherwise the config only names
                                   ///< it
  std::vector<std::string> notes;  ///< assumed, inferred and missing facts
  std::string command;             ///< "attnprobe replay x.log --graph 1": asks about it, without a target
};

struct Question {
  attention::AttentionConfig config;
  std::optional<GivenGraph> given;
  /// Facts of a framework's call that the config does not have: values by keys of its gate (rules/framework_gates.hpp).
  Json call = Json::object();
  /// "attnprobe --torch …": repeats a question that came from such a call, without a target. Otherwise "": the config's
  /// options repeat it.
  std::string command = {};

  /// Whether the config defines the question, rather than only its name and expectation.
  bool has_spec() const { return !given || given->is_recognised; }
};

/// If the config names no cudnn-frontend, sets the one that these frameworks' releases use (rules::frontend_of).
void adopt_frontend(attention::AttentionSpec& spec, const std::vector<rules::ChosenGate>& frameworks);
/// The same for all questions with a config. Another program's graph is left unchanged.
void adopt_frontend(std::vector<Question>& questions, const std::vector<rules::ChosenGate>& frameworks);

}  // namespace attnprobe::answer
