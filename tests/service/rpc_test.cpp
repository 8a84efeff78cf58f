// Requests of other programs, answered in this process by persistent workers.
#include "service/rpc.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "base/json.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "sanitizers.hpp"
#include "service/worker_slots.hpp"
#include "support.hpp"

namespace attnprobe::test::rpc_test {
namespace {

Json asked(service::Rpc& rpc, const std::string& request) {
  const std::string answer = rpc.answer(request);
  INFO(answer);
  CHECK(answer.find('\n') == std::string::npos);
  return Json::parse(answer);
}

std::string request(int id, const std::string& method, const Json& params) {
  return Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump();
}

const Json bert{{"name", "bert"}, {"heads", 12}, {"seqlen", 512}, {"head_dim", 64}};

// The running child processes of this process.
size_t children() {
  std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
  size_t count = 0;
  for (std::string pid; list >> pid;) ++count;
  return count;
}

}  // namespace

TEST_CASE("a probe's answer equals the report of the command line", "[service]") {
  service::Rpc rpc("");
  const Json answer =
      asked(rpc, request(7, "probe", {{"config", bert}, {"target", "h200,l40s"}, {"cudnn", cudnn_path()}}));
  CHECK(answer.at("id") == 7);
  Json report = answer.at("result");
  const Run run = run_attnprobe(
      "--heads 12 --seqlen 512 --head-dim 64 --name bert --target h200,l40s --format json --cudnn " + cudnn_path());
  Json printed = Json::parse(run.out);
  CHECK(report.at("schema") == "attnprobe/report/1");
  REQUIRE(report.at("results").size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const Json &ours = report["results"][i], &theirs = printed["results"][i];
    CHECK(ours.at("usable") == "yes");
    for (const char* key : {"config", "graph", "target", "usable", "verdict", "reproduce"})
      CHECK(ours.at(key) == theirs.at(key));
    CHECK(ours.at("engine_configs").size() == theirs.at("engine_configs").size());
    CHECK(ours.at("engine_configs")[0].at("engine") == theirs.at("engine_configs")[0].at("engine"));
  }
}

TEST_CASE("a call in source form is asked as with --torch", "[service]") {
  service::Rpc rpc("");
  const std::string call =
      "F.scaled_dot_product_attention(q[4, 32, 2048, 96], k[4, 32, 2048, 96], v[4, 32, 2048, 96], dropout_p=0.1)";
  const auto config_of = [&](Json params) {
    params.update(Json{{"target", "h100"}, {"quick", true}, {"cudnn", cudnn_path()}});
    return asked(rpc, request(1, "probe", params)).at("result");
  };
  const Json assumed = config_of({{"torch", call}});
  CHECK(assumed.at("results")[0].at("config").at("head_dim_qk") == 96);
  CHECK(assumed.at("results")[0].at("config").at("dtype") == "bf16");
  CHECK_THAT(assumed.at("warnings")[0].get<std::string>(), ContainsSubstring("bf16 is assumed"));
  CHECK(config_of({{"torch", call}, {"dtype", "f16"}}).at("results")[0].at("config").at("dtype") == "f16");
  const auto refused = [&](const Json& params) {
    return asked(rpc, request(2, "probe", params)).at("error").at("message").get<std::string>();
  };
  CHECK_THAT(refused({{"torch", "F.scaled_dot_product_attention(q, k, v)"}}),
             ContainsSubstring("params/torch: /query: \"q\" is not a tensor with its sizes, as in q[2, 8, 1024, 64]"));
  CHECK_THAT(refused({{"config", bert}, {"dtype", "f16"}}), ContainsSubstring("params/dtype: it belongs to a call"));
  CHECK_THAT(refused({{"torch", "/etc/passwd"}}), ContainsSubstring("params/torch"));
}

TEST_CASE("a session keeps its workers, and a lost worker is not blamed on the graph", "[service]") {
  const size_t before = children();
  {
    service::Rpc rpc("");
    const std::string ask =
        request(1, "probe", {{"config", bert}, {"target", "h200"}, {"quick", true}, {"cudnn", cudnn_path()}});
    CHECK(asked(rpc, ask).at("result").at("results")[0].at("usable") == "yes");
    CHECK(children() == before + 1);
    CHECK(asked(rpc, ask).at("result").at("results")[0].at("usable") == "yes");
    CHECK(children() == before + 1);
    std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
    for (pid_t pid = 0; list >> pid;) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(asked(rpc, ask).at("result").at("results")[0].at("usable") == "yes");
  }
  CHECK(children() == before);
}

TEST_CASE("an error in a request is answered with its location", "[service]") {
  service::Rpc rpc("");
  struct Case {
    std::string request;
    int code;
    const char* words;
  };
  const Case cases[] = {
      {"{", -32700, "request"},
      {"[]", -32600, "request: a batch of 0 requests; allowed: 1 to 10,000"},
      {"7", -32600, "request: 7 is not an object"},
      {R"({"jsonrpc": "1.0", "id": 1, "method": "version"})", -32600, "/jsonrpc"},
      {R"({"jsonrpc": "2.0", "id": [1], "method": "version"})", -32600,
       "request/id: [1] is not a text or a number of up to 64 bits"},
      {R"({"jsonrpc": "2.0", "id": 123456789012345678901, "method": "version"})", -32600, "64 bits"},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "prob"})", -32601,
       "\"prob\" is not a method (did you mean \"probe\"?)"},
      {request(1, "version", {{"x", 1}}), -32602, "/x"},
      {request(1, "probe", Json::object()), -32602, "exactly one of \"config\", \"torch\", \"jax\""},
      {request(1, "probe", {{"config", {{"heds", 1}}}}), -32602,
       "params/config/heds: unknown key \"heds\" (did you mean \"heads\"?)"},
      {request(1, "probe", {{"config", bert}, {"target", "h300"}}), -32602, "h300"},
      {request(1, "probe", {{"config", bert}, {"mode", "C"}}), -32602,
       "params/mode: \"C\" is not a heuristic mode; allowed: A, B, FALLBACK"},
      {request(1, "probe", {{"config", bert}, {"timeout", -1}}), -32602, "params/timeout: -1 is out of range"},
      {request(1, "probe", {{"config", bert}, {"jobs", 0}}), -32602, "params/jobs: 0 is out of range"},
      {request(1, "probe", {{"config", bert}, {"framework", "torhc"}}), -32602, "torhc"},
      {request(1, "probe", {{"config", bert}, {"plans", "run"}, {"target", "h200"}}), -32602,
       "every target is simulated"},
      {request(1, "probe", {{"config", bert}, {"target", "h200"}, {"cudnn", "/nowhere"}}), -32000, "/nowhere"},
      {request(1, "limits", Json::object()), -32602, "params: the key \"field\" is missing"},
      {request(1, "limits", {{"field", "hed_dim"}}), -32602,
       "params/field: \"hed_dim\" is not a field that can be varied (did you mean \"head_dim\"?)"},
      {request(1, "limits", {{"field", "head_dim"}, {"vary", "head_dim"}}), -32602,
       "params/vary head_dim: this field is already varied"},
      {request(1, "limits", {{"field", "head_dim"}, {"by", "speed"}}), -32602, "params/by: \"speed\" is not"},
      {request(1, "limits", {{"field", "head_dim"}, {"by", "time"}}), -32602, "params/by time colours a map"},
      {request(1, "limits", {{"field", "head_dim"}, {"config", {{"heds", 1}}}}), -32602,
       "params/config/heds: unknown key \"heds\" (did you mean \"heads\"?)"},
      {request(1, "suggest", Json::object()), -32602, "exactly one of \"config\", \"torch\", \"jax\""},
      {request(1, "suggest", {{"config", bert}, {"keep", "datatype"}}), -32602, "params/keep: \"datatype\" is not"},
      {request(1, "suggest", {{"config", bert}, {"most", 0}}), -32602, "params/most: 0 is out of range"},
      {request(1, "bugs", {{"ids", {"softcap"}}}), -32602, "\"softcap\" is not the name of a known bug"},
      {request(1, "bugs", {{"cudnn", "nine"}}), -32602, "params/cudnn nine: not a version of cuDNN"},
      {request(1, "bugs", {{"targets", "h100"}}), -32602,
       "params/targets: unknown key \"targets\" (did you mean \"target\"?)"},
      {request(1, "explain", {{"text", "epoch 1"}}), -32602, "the text: nothing known"},
      {request(1, "schema", {{"of", "all"}}), -32602, "params/of: \"all\" is not a known value"}};
  for (const auto& c : cases) {
    INFO(c.request);
    const Json answer = asked(rpc, c.request);
    REQUIRE(answer.contains("error"));
    CHECK(answer["error"]["code"] == c.code);
    CHECK_THAT(answer["error"]["message"].get<std::string>(), ContainsSubstring(c.words));
    CHECK(answer["error"]["data"]["kind"] == (c.code == -32000 ? "environment" : "usage"));
  }
}

TEST_CASE("an answer has its request's id, and a notification gets no answer", "[service]") {
  service::Rpc rpc("");
  for (const char* id : {"18446744073709551615", "-9223372036854775808", "1.5", "\"a\\u0000b\"", "null"}) {
    INFO(id);
    const std::string answer = rpc.answer(fmt::format(R"({{"jsonrpc": "2.0", "id": {}, "method": "version"}})", id));
    CHECK_THAT(answer, StartsWith(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":)", id)));
  }
  for (const char* notification :
       {R"({"jsonrpc": "2.0", "method": "version"})", R"({"jsonrpc": "2.0", "method": "prob"})",
        R"({"jsonrpc": "2.0", "method": "version", "params": {"x": 1}})", R"({"jsonrpc": "2.0", "method": "cancel"})",
        R"([{"jsonrpc": "2.0", "method": "version"}, {"jsonrpc": "2.0", "method": "prob"}])"}) {
    INFO(notification);
    CHECK(rpc.answer(notification).empty());
  }
}

TEST_CASE("a batch is answered by an array", "[service]") {
  service::Rpc rpc("");
  const Json answers =
      asked(rpc, "[" + request(1, "version", nullptr) + R"(, {"jsonrpc": "2.0", "method": "version"}, 7, )" +
                     request(2, "prob", nullptr) + "]");
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].at("result").contains("version"));
  CHECK(answers[1].at("id").is_null());
  CHECK(answers[1].at("error").at("code") == -32600);
  CHECK(answers[2].at("id") == 2);
  CHECK(answers[2].at("error").at("code") == -32601);
}

TEST_CASE("requests share a session's slots and wait if none is free", "[service]") {
  service::WorkerSlots slots(4);
  std::atomic<bool> stop = false;
  std::optional<service::WorkerSlots::Held> first(slots.take(8, stop));
  CHECK(first->count() == 2);
  const auto second = slots.take(8, stop), third = slots.take(8, stop);
  CHECK(second.count() == 1);
  CHECK(third.count() == 1);
  size_t got = 0;
  std::thread waiting([&] { got = slots.take(1, stop).count(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  CHECK(got == 0);
  first.reset();
  waiting.join();
  CHECK(got == 1);
  const auto all = slots.take(1, stop), of_all = slots.take(1, stop);
  std::thread stopped([&] { got = slots.take(1, stop).count(); });
  stop = true;
  stopped.join();
  CHECK(got == 0);
}

TEST_CASE("a call of PyTorch is answered with its gate", "[service]") {
  service::Rpc rpc("");
  const Json call = Json::parse(
      R"({"torch": "2.15.0", "query": {"shape": [2, 32, 4096, 96], "requires_grad": true}, "key": [2, 8, 4096, 96],
          "value": [2, 8, 4096, 96], "dtype": "bfloat16", "is_causal": true})");
  const Json answer =
      asked(rpc, request(1, "probe", {{"torch", call}, {"target", "h200"}, {"quick", true}, {"cudnn", cudnn_path()}}));
  const Json& results = answer.at("result").at("results");
  REQUIRE(results.size() == 2);  // forward and backward
  CHECK(results[0].at("usable") == "but");
  CHECK(results[0].at("frameworks")[0].at("release") == "2.15.0");
  CHECK_THAT(results[0].at("but")[0].at("text").get<std::string>(), ContainsSubstring("enable_gqa"));
}

TEST_CASE("limits accepts a config without the varied field, like the command line", "[service]") {
  service::Rpc rpc("");
  const Json answer = asked(rpc, request(3, "limits",
                                         {{"field", "head_dim=8:160:8"},
                                          {"vary", "mask=none,causal,pass=fprop,bprop"},
                                          {"config", {{"heads", 4}, {"seqlen", 256}}},
                                          {"target", "a100"},
                                          {"cudnn", cudnn_path()}}));
  const Json& limits = answer.at("result");
  CHECK(limits.at("schema") == "attnprobe/limits/1");
  REQUIRE(limits.at("rows").size() == 4);
  const Json& backward = limits["rows"][1];
  CHECK(backward.at("varied") == Json{{"mask", "none"}, {"pass", "bprop"}});
  CHECK(backward.at("runs")[0] ==
        Json{{"answer", "yes"}, {"first", 8}, {"last", 128}, {"step", 8}, {"count", 16}, {"asked", 16}});
  CHECK(limits.at("lines").size() == 2);  // the masks make no difference
  CHECK(limits["lines"][0].at("varied") == Json{{"mask", {"none", "causal"}}, {"pass", {"fprop"}}});
  CHECK(limits.at("assumed").empty());
  CHECK_THAT(
      limits.at("command").get<std::string>(),
      StartsWith("attnprobe limits head_dim=8:160:8 --heads 4 --seqlen 256 --vary mask=none,causal,pass=fprop,bprop "
                 "--target a100 --cudnn "));
}

TEST_CASE("fixes and known bugs are methods too", "[service]") {
  service::Rpc rpc("");
  Json odd = bert;
  odd["head_dim"] = 100;
  const Json suggested = asked(
      rpc,
      request(4, "suggest",
              {{"config", odd}, {"target", "a100"}, {"keep", "cudnn,target"}, {"most", 1}, {"cudnn", cudnn_path()}}));
  const Json& results = suggested.at("result").at("results");
  REQUIRE(results.size() == 1);
  CHECK(results[0].at("usable") == "no");
  REQUIRE(results[0].at("ways_out").size() == 1);
  CHECK(results[0]["ways_out"][0].at("kinds") == Json::array({"head_dim"}));
  CHECK(results[0]["ways_out"][0].at("compiled") == true);
  CHECK(results[0].at("gpus").empty());
  const Json all = asked(rpc, request(5, "bugs", nullptr)).at("result").at("bugs");
  const Json some =
      asked(rpc, request(6, "bugs", {{"framework", "torch==2.13"}, {"target", "h100"}})).at("result").at("bugs");
  CHECK(some.size() < all.size());
  REQUIRE_FALSE(some.empty());
  CHECK(some[0].contains("sightings"));
}

TEST_CASE("methods that need no cuDNN work without one", "[service]") {
  service::Rpc rpc("/nowhere/attnprobe");
  CHECK(asked(rpc, request(1, "version", nullptr)).at("result").at("schema") == "attnprobe/report/1");
  const Json explained = asked(
      rpc, request(2, "explain", {{"text", "UserWarning: cuDNN dropout probability resolution is limited to 1/16"}}));
  CHECK(explained.at("result").at("refusals")[0].at("layer") == "framework");
  const Json targets = asked(rpc, request(3, "targets", nullptr)).at("result").at("targets");
  CHECK(std::any_of(targets.begin(), targets.end(),
                    [](const Json& t) { return t.at("id") == "h200" && t.at("sm") == 90; }));
  CHECK(asked(rpc, request(4, "schema", {{"of", "config"}})).at("result").contains("$schema"));
  CHECK(rpc.answer(R"({"jsonrpc": "2.0", "method": "version"})").empty());  // a notification
}

TEST_CASE("a cancelled request ends soon with partial results", "[service]") {
  service::Rpc rpc("");
  Json configs = Json::array();
  for (int seqlen = 64; seqlen <= 64 * 400; seqlen += 64)
    configs.push_back({{"heads", 12}, {"seqlen", seqlen}, {"head_dim", 64}});
  Json answer;
  std::thread asking([&] {
    answer = asked(
        rpc, request(5, "probe", {{"config", configs}, {"target", "h200,l40s,b200,a100"}, {"cudnn", cudnn_path()}}));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  CHECK(rpc.answer(R"({"jsonrpc": "2.0", "method": "cancel", "params": {"id": 5}})").empty());
  asking.join();
  if (answer.contains("error"))
    CHECK(answer["error"]["code"] == -32800);
  else {
    CHECK(answer.at("result").at("cancelled") == true);
    CHECK(answer.at("result").at("results").size() < 1600);
  }
}

TEST_CASE("serve answers each line, for any content", "[service][app]") {
  const Run run =
      run_attnprobe("serve --stdio", {},
                    request(1, "version", nullptr) + "\n\nnonsense\n" + request(2, "targets", nullptr) + "\n\xff\n");
  CHECK(run.exit_code == 0);
  std::istringstream lines(run.out);
  size_t errors = 0, results = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json answer = Json::parse(line);
    errors += answer.contains("error") ? 1 : 0;
    results += answer.contains("result") ? 1 : 0;
  }
  CHECK(errors == 2);
  CHECK(results == 2);
  CHECK(run_attnprobe("serve").exit_code == 0);  // the end of its input
}

TEST_CASE("serve ends with an error if its answers are lost or its input is unreadable", "[service][app]") {
  const std::string ask = request(1, "version", nullptr) + "\n";
  for (const char* lost : {"> /dev/full", ">&-"}) {
    const Run run = shell(fmt::format("{} serve --stdio {}", program(), lost), {}, ask);
    INFO(lost << ": " << run.err);
    CHECK(run.exit_code == 3);
    CHECK_THAT(run.err, ContainsSubstring("standard output: cannot be written"));
  }
  for (const char* unread : {"< /", "<&-"}) {
    const Run run = shell(fmt::format("{} serve --stdio {}", program(), unread));
    INFO(unread << ": " << run.err);
    CHECK(run.exit_code == 3);
    CHECK_THAT(run.err, ContainsSubstring("standard input: cannot be read"));
  }
  // serve does not wait for more input.
  const TemporaryFolder folder;
  const Run waiting =
      shell(fmt::format("mkfifo {0}; exec 9<>{0}; cat >&9; exec timeout 20 {1} serve --stdio < {0} > /dev/full",
                        (folder.path() / "in").string(), program()),
            {}, ask);
  CHECK(waiting.exit_code == 3);
}

TEST_CASE("only the line that is too long fails", "[service][app]") {
  const std::string behind = request(2, "version", nullptr) + "\n";
  const auto answers_of = [](const Run& run) {
    INFO(run.out << run.err);
    CHECK(run.exit_code == 0);
    const auto lines = split(run.out, '\n');
    REQUIRE(lines.size() == 3);
    return std::pair(Json::parse(lines[0]), Json::parse(lines[1]));
  };
  const auto [refused, answered] = answers_of(run_attnprobe("serve --stdio", {{"ATTNPROBE_MAX_DOCUMENT_BYTES", "1000"}},
                                                            std::string(200'000, 'x') + "\n" + behind));
  CHECK(refused["error"]["code"] == -32600);
  CHECK_THAT(refused["error"]["message"].get<std::string>(), ContainsSubstring("ATTNPROBE_MAX_DOCUMENT_BYTES"));
  CHECK(answered["id"] == 2);
  if (under_sanitizers()) return;  // they map terabytes of addresses
  const auto [lost, given] = answers_of(shell(
      fmt::format("(head -c 200000000 /dev/zero | tr '\\0' x; echo; cat) | (ulimit -v 300000; exec {} serve --stdio)",
                  program()),
      {}, behind));
  CHECK(lost["error"]["code"] == -32000);
  CHECK_THAT(lost["error"]["message"].get<std::string>(), ContainsSubstring("out of memory"));
  CHECK(given["id"] == 2);
}

TEST_CASE("cancel is read while the maximum number of requests runs", "[service][app]") {
  Json configs = Json::array();
  for (int seqlen = 64; seqlen <= 64 * 400; seqlen += 64)
    configs.push_back({{"heads", 12}, {"seqlen", seqlen}, {"head_dim", 64}});
  constexpr int count = 70;
  std::string lines;
  for (int id = 1; id <= count; ++id)
    lines += request(id, "probe", {{"config", configs}, {"target", "h200,l40s"}, {"cudnn", cudnn_path()}}) + "\n";
  for (int id = 1; id <= count; ++id)
    lines += Json{{"jsonrpc", "2.0"}, {"method", "cancel"}, {"params", {{"id", id}}}}.dump() + "\n";
  const Run run = run_attnprobe("serve --stdio", {}, lines);
  CHECK(run.exit_code == 0);
  std::istringstream answers(run.out);
  int cancelled = 0;
  for (std::string line; std::getline(answers, line);) {
    const Json answer = Json::parse(line);
    cancelled +=
        answer.contains("error") ? answer["error"]["code"] == -32800 : answer.at("result").at("cancelled") == true;
  }
  CHECK(cancelled == count);
}

TEST_CASE("serve answers even if it cannot start a thread", "[service][app]") {
  if (geteuid() != 0 || under_sanitizers()) return;  // only root can act as another user
  std::string lines;
  for (int id = 1; id <= 64; ++id) lines += request(id, "version", nullptr) + "\n";
  const Run run = shell(
      fmt::format("ulimit -u 1; exec timeout 20 setpriv --reuid=65533 --regid=65533 --clear-groups {} serve --stdio",
                  program()),
      {}, lines);
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 64);
}

}  // namespace attnprobe::test::rpc_test
