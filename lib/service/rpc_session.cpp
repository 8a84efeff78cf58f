#include "service/rpc_session.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

#include "ask/chosen_libraries.hpp"
#include "ask/reproduce.hpp"
#include "attention/config.hpp"
#include "base/error.hpp"
#include "base/limits.hpp"
#include "cudnn/library_info.hpp"
#include "explain/explain_text.hpp"
#include "gpu/catalogue.hpp"
#include "gpu/comparisons.hpp"
#include "report/formats/report.hpp"
#include "service/limits_request.hpp"
#include "service/probe_request.hpp"
#include "service/suggest_request.hpp"
#include "worker/client.hpp"
#include "worker/pool.hpp"

namespace attnprobe::service {

struct Session::State {
  explicit State(std::string program_) : program(std::move(program_)) {}

  // Opened on first use, because some sessions only explain texts.
  asking::WalkCache* cache() {
    std::call_once(cache_once, [this] { cache_ = asking::usual_cache({}); });
    return cache_.get();
  }

  std::string program;
  asking::LibraryWords words;
  const size_t most_workers = 2 * std::max<size_t>(1, std::thread::hardware_concurrency());
  WorkerSlots slots{most_workers};
  // Keeps only simulated workers: a session may idle for days, and other programs need the GPUs.
  worker::Pool pool{most_workers, worker::Pool::Keeps::simulated};

 private:
  std::once_flag cache_once;
  std::unique_ptr<asking::WalkCache> cache_;
};

namespace {

Json explain(const JsonView& params) {
  JsonObject object(params);
  const std::string text = object.take("text").text();
  object.finish();
  return explain::explain_json(
      explain::explain(explain::typed_text, explain::typed_text,
                       [&](const std::function<void(std::string_view)>& take, std::string*) { take(text); }));
}

Json targets() {
  Json list = Json::array();
  for (const auto& target : gpu::catalogue())
    list.push_back({{"id", target.id},
                    {"name", target.name},
                    {"architecture", target.architecture},
                    {"sm", target.sm},
                    {"aliases", target.aliases},
                    {"representative", target.representative},
                    {"compared", gpu::compared_text(target)}});
  return {{"targets", std::move(list)}};
}

Json libraries() {
  Json list = Json::array();
  for (const auto& found : cudnn::find_libraries(""))
    list.push_back({{"path", found.path.string()}, {"found_by", found.found_by}});
  return {{"libraries", std::move(list)}};
}

Json schema(const JsonView& params) {
  JsonObject object(params);
  const std::string of = object.take("of").word({"config", "report"});
  object.finish();
  return of == "config" ? attention::config_schema() : report::report_schema();
}

void take_none(const JsonView& params) {
  if (!params.json().is_null()) JsonObject(params).finish();
}

}  // namespace

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names{"version", "probe",   "suggest",   "limits", "bugs",
                                              "explain", "targets", "libraries", "schema"};
  return names;
}

Session::Session(std::string program) : state_(std::make_unique<State>(std::move(program))) {}
Session::~Session() = default;

Json Session::call(const std::string& method, const JsonView& params, const std::atomic<bool>& stop) {
  const bool asks_cudnn = method == "probe" || method == "suggest" || method == "limits";
  if (asks_cudnn) {
    const Means means{{.pool = &state_->pool,
                       .words = &state_->words,
                       .cache = state_->cache(),
                       .stop = &stop,
                       .program = state_->program},
                      &state_->slots};
    if (method == "suggest") return answer_suggest(params, means);
    if (method == "limits") return answer_limits(params, means);
    return answer_probe(read_probe_request(params, state_->program), means);
  }
  if (method == "bugs") return answer_bugs(params, state_->program);
  if (method == "explain") return explain(params);
  if (method == "schema") return schema(params);
  take_none(params);
  if (method == "version") return {{"version", report::tool_version()}, {"schema", "attnprobe/report/1"}};
  if (method == "targets") return targets();
  return libraries();  // the last of method_names(); requests were checked with that list
}

}  // namespace attnprobe::service
