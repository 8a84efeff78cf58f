// JSON-RPC 2.0 (https://www.jsonrpc.org/specification) over a session: request text in, answer text out.
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

/// Handles the requests of one session, several at a time. A request {"jsonrpc": "2.0", "id": …, "method": "cancel",
/// "params": {"id": …}} stops another request. The stopped request ends with its results so far, or with error -32800.
class Rpc {
 public:
  explicit Rpc(std::string program) : session_(std::move(program)) {}

  /// One request, from reading to completion.
  class Request;
  /// The requests in a text.
  struct Message {
    std::vector<std::shared_ptr<Request>> requests;
    bool is_batch = false;
  };

  /// Never throws for invalid text: it becomes a request with an error as answer.
  Message read(std::string_view text);
  /// Whether the answer needs no work: `cancel`, and invalid requests.
  static bool is_answered_at_once(const Request& request);
  /// One line; "" for a notification, which has no id. Errors become the answer. Throws only std::bad_alloc.
  std::string answer(Request& request);
  /// The one line with the answers to a message's requests; "" if there are none.
  static std::string line_of(const Message& message, const std::vector<std::string>& answers);

  /// Reads and answers all requests of a message, one after the other.
  std::string answer(std::string_view text);
  /// The answer to text that cannot be parsed, without an id.
  static std::string refusal(const std::string& why);
  /// Stops every request read so far.
  void stop_all();

 private:
  std::shared_ptr<Request> read_request(const Json& json);
  Json result_of(Request& request);
  void cancel(const JsonView& params);

  Session session_;
  std::mutex mutex_;
  std::multimap<std::string, std::atomic<bool>*> under_way_;  // key: the id as JSON
};

/// The answer if memory runs out.
inline constexpr const char* no_memory_answer =
    R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"out of memory","data":{"kind":"environment"}}})";

}  // namespace attnprobe::service
