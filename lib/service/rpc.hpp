// JSON-RPC 2.0 (https://www.jsonrpc.org/specification) over a session: a request's text in, its answer's text out.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "service/session.hpp"

namespace attnprobe::service {

/// Requests of one session, several at a time. A request {"jsonrpc": "2.0", "id": …, "method": "cancel", "params": {"id":
/// …}} stops another one that is under way, which then ends with the results that it has, or with error -32800.
class Rpc {
 public:
  explicit Rpc(std::string program) : session_(std::move(program)) {}

  /// The answer to one request, on one line; "" for a notification, which has no id. Never throws for what is wrong with
  /// the request, or for what happens while it is answered: that is an answer with an error. Throws std::bad_alloc alone.
  std::string answer(std::string_view request);
  /// Stops everything that is under way.
  void stop_all();

 private:
  class UnderWay;

  Json result_of(const std::string& method, const Json& id, const Json& params);
  void cancel(const JsonView& params);

  Session session_;
  std::mutex mutex_;
  std::multimap<std::string, std::shared_ptr<std::atomic<bool>>> under_way_;  // by id, as JSON
};

}  // namespace attnprobe::service
