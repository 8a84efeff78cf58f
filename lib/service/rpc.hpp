// JSON-RPC 2.0 (https://www.jsonrpc.org/specification) over a session: a request's text in, its answer's text out.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "service/rpc_session.hpp"

namespace attnprobe::service {

/// Requests of one session, several at a time. A request {"jsonrpc": "2.0", "id": …, "method": "cancel", "params": {"id":
/// …}} stops another one that was read, which then ends with the results that it has, or with error -32800.
class Rpc {
 public:
  explicit Rpc(std::string program) : session_(std::move(program)) {}

  /// One request, from when it is read until its end.
  class Request;
  /// What a text asks.
  struct Message {
    std::vector<std::shared_ptr<Request>> requests;
    bool is_batch = false;
  };

  /// Never throws for what is wrong with the text: that is a request whose answer says so.
  Message read(std::string_view text);
  /// Whether the answer is at hand: `cancel`, and what is wrong with a request.
  static bool is_answered_at_once(const Request& request);
  /// On one line; "" for a notification, which has no id. Never throws for what happens while it is answered: that is an
  /// answer with an error. Throws std::bad_alloc alone.
  std::string answer(Request& request);
  /// The one line for a message, of the answers to its requests; "" where there is none.
  static std::string line_of(const Message& message, const std::vector<std::string>& answers);

  /// All of that, one request after the other.
  std::string answer(std::string_view text);
  /// The answer to what cannot be read at all, without an id.
  static std::string refusal(const std::string& why);
  /// Stops everything that was read.
  void stop_all();

 private:
  std::shared_ptr<Request> read_request(const Json& json);
  Json result_of(Request& request);
  void cancel(const JsonView& params);

  Session session_;
  std::mutex mutex_;
  std::multimap<std::string, std::atomic<bool>*> under_way_;  // by id, as JSON
};

/// The answer where there is no memory for another one.
inline constexpr const char* no_memory_answer =
    R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"out of memory","data":{"kind":"environment"}}})";

}  // namespace attnprobe::service
