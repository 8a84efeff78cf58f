// The service: one request in, one answer out, whichever way it came (the C API, `attnprobe serve`, Python). Methods and
// their parameters: docs/api.md.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"

namespace attnprobe::service {

/// What the answers of one user share: workers that have loaded cuDNN, and what other versions of cuDNN said. May be used
/// by several threads.
class Session {
 public:
  /// `program`: attnprobe, as worker::worker_program() takes it; "" is looked for when it is needed.
  explicit Session(std::string program);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The method's result. `params` may be null for none. Throws Error: usage for what a request gets wrong, naming the
  /// place in it; environment for what the machine lacks. Once `stop` is set no further result is begun.
  Json call(const std::string& method, const JsonView& params, const std::atomic<bool>& stop);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// In the order of docs/api.md.
const std::vector<std::string>& method_names();

}  // namespace attnprobe::service
