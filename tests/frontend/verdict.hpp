// Asks cudnn-frontend about configs in child processes, because cuDNN can kill the process that asks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config.hpp"

namespace frontend {

/// How far cudnn-frontend got with one config.
struct Verdict {
  std::string name;
  /// The failing stage: parse, not_expressible, graph (while building it with the API), validate,
  /// build_operation_graph, create_execution_plans, check_support; else ok; or crashed, timeout.
  std::string stage;
  std::string code, message;         ///< cudnn-frontend's; code "exception": it or cuDNN threw
  std::vector<std::string> engines;  ///< tags of the engine configs that it would build plans from, in order
  std::string implementation;        ///< of the forward pass: COMPOSITE or UNIFIED

  Json to_json() const;
};

/// Asks about one config line. Runs in a child, which calls the factory first.
using Ask = std::function<Verdict(const std::string& line)>;

/// Passes one verdict per line to `report`, in order. A child that dies, or needs more than `timeout_seconds` for one
/// config, loses only that config.
void ask_all(const std::vector<std::string>& lines, const std::function<Ask()>& make_ask, int timeout_seconds,
             const std::function<void(const Verdict&)>& report);

}  // namespace frontend
