#include "service/rpc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <system_error>

#include "base/error.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace attnprobe::service {
namespace {

// Codes of the specification, and request_cancelled of the Language Server Protocol, which editors know.
enum Code {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  environment_lacks = -32000,
  request_cancelled = -32800,
};

class RpcError : public std::runtime_error {
 public:
  RpcError(Code code_, const std::string& message) : std::runtime_error(message), code(code_) {}
  Code code;
};

Code code_of(ErrorKind kind) {
  if (kind == ErrorKind::usage) return invalid_params;
  return kind == ErrorKind::environment ? environment_lacks : internal_error;
}

const char* kind_of(Code code) {
  if (code == request_cancelled) return "cancelled";
  if (code == environment_lacks) return "environment";
  return code == internal_error ? "internal" : "usage";
}

// Foreign text may not be UTF-8, which JSON requires.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_text(const Json& id, Code code, const std::string& message) {
  return text_of(
      {{"jsonrpc", "2.0"},
       {"id", id},
       {"error", {{"code", static_cast<int>(code)}, {"message", message}, {"data", {{"kind", kind_of(code)}}}}}});
}

Json parse(std::string_view request) try {
  JsonRules rules;
  rules.comments = false;
  return parse_json(request, {"request", "", false}, rules);
} catch (const Error& e) {
  throw RpcError(parse_error, e.what());
}

// An id that the answer can repeat unchanged: a number must fit in a double.
bool is_id(const Json& id) {
  constexpr double exact = 9007199254740992;  // 2^53
  return id.is_string() || id.is_null() || id.is_number_integer() ||
         (id.is_number_float() && std::abs(id.get<double>()) < exact);
}

}  // namespace

// Registers the request for cancel() and stop_all() during its lifetime.
class Rpc::Request {
 public:
  explicit Request(Rpc& of) : rpc_(of) {}
  ~Request() {
    const std::lock_guard lock(rpc_.mutex_);
    if (is_listed_) rpc_.under_way_.erase(at_);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  void list() {
    const std::lock_guard lock(rpc_.mutex_);
    at_ = rpc_.under_way_.emplace(id.dump(), &stop);
    is_listed_ = true;
  }

  Json id;
  bool has_id = false;
  std::string method;
  Json params;
  std::string failure;  // the answer to an invalid request
  std::atomic<bool> stop = false;

 private:
  Rpc& rpc_;
  bool is_listed_ = false;
  std::multimap<std::string, std::atomic<bool>*>::iterator at_;
};

std::shared_ptr<Rpc::Request> Rpc::read_request(const Json& json) {
  auto request = std::make_shared<Request>(*this);
  try {
    JsonObject object(JsonView(json, {"request", "", false}));
    const auto id = object.find("id");
    if (id && !is_id(id->json())) id->fail_unless_it_is("a text or a number of up to 64 bits");
    if (id) request->id = id->json();
    request->has_id = id.has_value();
    object.take("jsonrpc").word({"2.0"});
    request->method = object.take("method").text();
    if (const auto params = object.find_set("params")) request->params = params->json();
    object.finish();
    request->list();
  } catch (const Error& e) {
    request->failure = error_text(request->id, invalid_request, e.what());
  }
  return request;
}

Rpc::Message Rpc::read(std::string_view text) {
  constexpr size_t longest_batch = 10'000;
  Message message;
  std::string failure;
  try {
    const Json json = parse(text);
    message.is_batch = json.is_array() && !json.empty() && json.size() <= longest_batch;
    if (json.is_array() && !message.is_batch)
      throw RpcError(invalid_request, fmt::format("request: a batch of {} requests; allowed: 1 to {}", json.size(),
                                                  with_commas(longest_batch)));
    if (message.is_batch)
      for (const Json& one : json) message.requests.push_back(read_request(one));
    else
      message.requests = {read_request(json)};
    return message;
  } catch (const RpcError& e) {
    failure = error_text(nullptr, e.code, e.what());
  } catch (const std::bad_alloc&) {
    failure = no_memory_answer;
  }
  message = {{std::make_shared<Request>(*this)}, false};
  message.requests.front()->failure = failure;
  return message;
}

bool Rpc::is_answered_at_once(const Request& request) {
  return !request.failure.empty() || request.method == "cancel";
}

void Rpc::cancel(const JsonView& params) {
  JsonObject object(params);
  const std::string id = object.take("id").json().dump();
  object.finish();
  const std::lock_guard lock(mutex_);
  for (auto [at, end] = under_way_.equal_range(id); at != end; ++at) *at->second = true;
}

void Rpc::stop_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, stop] : under_way_) *stop = true;
}

Json Rpc::result_of(Request& request) {
  const JsonView view(request.params, {"params", "", false});
  if (request.method == "cancel") return cancel(view), Json::object();
  const auto& known = method_names();
  if (std::find(known.begin(), known.end(), request.method) == known.end())
    throw RpcError(method_not_found, fmt::format("\"{}\" is not a method{}; allowed: {}", cut(request.method),
                                                 did_you_mean(request.method, known), quoted_list(known)));
  const std::atomic<bool>& stop = request.stop;
  const auto check_has_begun = [&](const Json& result) {
    const auto has_none = [&](const char* key) { return result.contains(key) && result[key].empty(); };
    if (stop && (result.empty() || has_none("results") || has_none("rows")))
      throw RpcError(request_cancelled, "cancelled before there was a result");
  };
  check_has_begun(Json());
  Json result = session_.call(request.method, view, stop);
  check_has_begun(result);
  if (stop) result["cancelled"] = true;
  return result;
}

std::string Rpc::answer(Request& request) {
  if (!request.failure.empty()) return request.failure;
  const auto failed = [&](Code code, const std::string& message) {
    return request.has_id ? error_text(request.id, code, message) : "";
  };
  try {
    try {
      const Json result = result_of(request);
      return request.has_id ? text_of({{"jsonrpc", "2.0"}, {"id", request.id}, {"result", result}}) : "";
    } catch (const RpcError& e) {
      return failed(e.code, e.what());
    } catch (const Error& e) {
      return failed(code_of(e.kind()), e.what());
    } catch (const std::bad_alloc&) {
      return failed(environment_lacks, "out of memory");
    } catch (const std::system_error& e) {
      return failed(environment_lacks, fmt::format("out of system resources: {}", e.what()));
    } catch (const std::exception& e) {
      return failed(internal_error, fmt::format("unexpected: {}", e.what()));
    } catch (...) {
      return failed(internal_error, "unexpected");
    }
  } catch (const std::bad_alloc&) {
    return request.has_id ? no_memory_answer : "";
  }
}

std::string Rpc::line_of(const Message& message, const std::vector<std::string>& answers) {
  if (!message.is_batch) return answers.front();
  std::string line;
  for (const auto& answer : answers)
    if (!answer.empty()) line += (line.empty() ? "[" : ",") + answer;
  return line.empty() ? line : line + "]";
}

std::string Rpc::answer(std::string_view text) {
  const Message message = read(text);
  std::vector<std::string> answers;
  for (const auto& request : message.requests) answers.push_back(answer(*request));
  return line_of(message, answers);
}

std::string Rpc::refusal(const std::string& why) {
  return error_text(nullptr, invalid_request, why);
}

}  // namespace attnprobe::service
