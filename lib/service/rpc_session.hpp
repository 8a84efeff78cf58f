// The service: one request in, one answer out, for the C API, `attnprobe serve` and Python. docs/api.md lists methods
// and parameters.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"

namespace attnprobe::service {

/// State shared by all answers for one user: workers that have loaded cuDNN, and earlier answers of other cuDNN
/// versions. Thread-safe.
class Session {
 public:
  /// `program`: attnprobe, as in worker::worker_program(); "": found when needed.
  explicit Session(std::string program);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs the method. `params` may be null for none. Throws Error: usage for an invalid request, naming the place in
  /// it; environment if the machine lacks something. Begins no further result once `stop` is set.
  Json call(const std::string& method, const JsonView& params, const std::atomic<bool>& stop);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// In the order of docs/api.md.
const std::vector<std::string>& method_names();

}  // namespace attnprobe::service
