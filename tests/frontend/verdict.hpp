// Asks cudnn-frontend about configs, in child processes, for cuDNN can kill the process that asks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config.hpp"

namespace frontend {

/// How far cudnn-frontend came with one config.
struct Verdict {
  std::string name;
  /// Where it failed: parse, not_expressible, graph (while it was written with the API), validate,
  /// build_operation_graph, create_execution_plans, check_support; else ok; or crashed, timeout.
  std::string stage;
  std::string code, message;         ///< cudnn-frontend's; code "exception": it or cuDNN threw
  std::vector<std::string> engines;  ///< tags of the engine configs that it would build plans from, in order
  std::string implementation;        ///< of the forward pass: COMPOSITE or UNIFIED

  Json to_json() const;
};

/// Asks about one config line; runs in a child, which calls the factory first.
using Ask = std::function<Verdict(const std::string& line)>;

/// One verdict a line, in order, handed to `report` as they come. A child that dies, or takes more than
/// `timeout_seconds` for one config, costs that config only.
void ask_all(const std::vector<std::string>& lines, const std::function<Ask()>& make_ask, int timeout_seconds,
             const std::function<void(const Verdict&)>& report);

}  // namespace frontend
