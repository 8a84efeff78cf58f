// Asks cudnn-frontend about configs in child processes, because cuDNN can crash the asking process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config.hpp"

namespace frontend {

/// The last stage that cudnn-frontend reached with one config.
struct Verdict {
  std::string name;
  /// The failing stage: parse, not_expressible, graph (while building it with the API), validate,
  /// build_operation_graph, create_execution_plans, check_support; else ok; or crashed, timeout.
  std::string stage;
  std::string code, message;         ///< cudnn-frontend's message; code "exception": cudnn-frontend or cuDNN threw
  std::vector<std::string> engines;  ///< tags of the engine configs from which it would build plans, in order
  std::string implementation;        ///< form of the forward pass: COMPOSITE or UNIFIED

  Json to_json() const;
};

/// Asks about one config line. Runs in a child, which calls the factory first.
using Ask = std::function<Verdict(const std::string& line)>;

/// Passes one verdict per line to `report`, in order. If a child dies, or needs more than `timeout_seconds` for one
/// config, only that config is lost.
void ask_all(const std::vector<std::string>& lines, const std::function<Ask()>& make_ask, int timeout_seconds,
             const std::function<void(const Verdict&)>& report);

}  // namespace frontend
