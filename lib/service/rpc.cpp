#include "service/rpc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"

namespace attnprobe::service {
namespace {

// Of the specification, and request_cancelled of the Language Server Protocol, which editors know.
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

// What others wrote may be no UTF-8, which JSON has to be.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_text(const Json& id, Code code, const std::string& message) {
  return line_of(
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

struct Request {
  Json id;
  bool has_id = false;
  std::string method;
  Json params;
};

Request read(const Json& json) {
  Request request;
  if (json.is_object() && json.contains("id")) {
    const Json& id = json["id"];
    request.has_id = true;
    if (id.is_string() || id.is_number() || id.is_null()) request.id = id;
  }
  return request;
}

void check(const Json& json, Request& request) try {
  JsonObject object(JsonView(json, {"request", "", false}));
  object.take("jsonrpc").word({"2.0"});
  if (const auto id = object.find("id");
      id && !id->json().is_string() && !id->json().is_number() && !id->json().is_null())
    id->fail_unless_it_is("a text or a number");
  request.method = object.take("method").text();
  if (const auto params = object.find_set("params")) request.params = params->json();
  object.finish();
} catch (const Error& e) {
  throw RpcError(invalid_request, e.what());
}

}  // namespace

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

// What cancel() and stop_all() find, as long as it is there.
class Rpc::UnderWay {
 public:
  UnderWay(Rpc& rpc, const std::string& id, const std::shared_ptr<std::atomic<bool>>& stop) : rpc_(rpc) {
    const std::lock_guard lock(rpc_.mutex_);
    at_ = rpc_.under_way_.emplace(id, stop);
  }
  ~UnderWay() {
    const std::lock_guard lock(rpc_.mutex_);
    rpc_.under_way_.erase(at_);
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  Rpc& rpc_;
  std::multimap<std::string, std::shared_ptr<std::atomic<bool>>>::iterator at_;
};

Json Rpc::result_of(const std::string& method, const Json& id, const Json& params) {
  const JsonView view(params, {"params", "", false});
  if (method == "cancel") return cancel(view), Json::object();
  const auto& known = method_names();
  if (std::find(known.begin(), known.end(), method) == known.end())
    throw RpcError(method_not_found, fmt::format("\"{}\" is not a method{}; allowed: {}", cut(method),
                                                 did_you_mean(method, known), quoted_list(known)));
  const auto stop = std::make_shared<std::atomic<bool>>(false);
  const UnderWay entry(*this, id.dump(), stop);
  Json result = session_.call(method, view, *stop);
  const auto has_none = [&](const char* key) { return result.contains(key) && result[key].empty(); };
  if (*stop && (has_none("results") || has_none("rows")))
    throw RpcError(request_cancelled, "cancelled before there was a result");
  if (*stop) result["cancelled"] = true;
  return result;
}

std::string Rpc::answer(std::string_view text) {
  Request request;
  try {
    try {
      const Json json = parse(text);
      request = read(json);
      check(json, request);
      const Json result = result_of(request.method, request.id, request.params);
      if (!request.has_id) return "";
      return line_of({{"jsonrpc", "2.0"}, {"id", request.id}, {"result", result}});
    } catch (const RpcError& e) {
      return error_text(request.id, e.code, e.what());
    } catch (const Error& e) {
      return error_text(request.id, code_of(e.kind()), e.what());
    } catch (const std::bad_alloc&) {
      return error_text(request.id, environment_lacks, "this machine has no more memory for attnprobe");
    } catch (const std::system_error& e) {
      return error_text(request.id, environment_lacks, fmt::format("the machine refuses what is needed: {}", e.what()));
    } catch (const std::exception& e) {
      return error_text(request.id, internal_error, fmt::format("unexpected: {}", e.what()));
    }
  } catch (const std::bad_alloc&) {
    return R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no memory is left","data":{"kind":"environment"}}})";
  }
}

}  // namespace attnprobe::service
