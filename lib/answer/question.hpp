// What is put to cuDNN: a config, whose graph depends on cuDNN and GPU, or a graph that another program made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/config.hpp"
#include "base/json.hpp"
#include "graph/op_graph.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe::answer {

/// A graph that is asked about as it is.
struct GivenGraph {
  graph::OpGraph graph;
  std::string description;         ///< "sdpa_composite fprop, b4 …", or the list of its operations
  bool is_recognised = false;      ///< the question's config builds this very graph; else it only names it
  std::vector<std::string> notes;  ///< what was assumed or inferred, what is missing
  std::string command;             ///< "attnprobe replay x.log --graph 1": asks for it, on no target yet
};

struct Question {
  attention::AttentionConfig config;
  std::optional<GivenGraph> given;
  /// What a framework's own call says beyond the config: values by keys of its gate (rules/framework_gates.hpp).
  Json call = Json::object();
  /// "attnprobe --torch …": asks for it, where it came from such a call; on no target yet. Else "": the config's options do.
  std::string command = {};

  /// Whether the config says what is asked, beyond its name and expectation.
  bool has_spec() const { return !given || given->is_recognised; }
};

/// The config as the cudnn-frontend of these frameworks' releases builds it (rules::frontend_of), where it names none itself.
void adopt_frontend(attention::AttentionSpec& spec, const std::vector<rules::ChosenGate>& frameworks);
/// The same of all that are asked by a config. A program's own graph stays as it is.
void adopt_frontend(std::vector<Question>& questions, const std::vector<rules::ChosenGate>& frameworks);

}  // namespace attnprobe::answer
