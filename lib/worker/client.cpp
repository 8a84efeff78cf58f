#include "worker/client.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "base/text.hpp"
#include "worker/archive.hpp"
#include "worker/protocol.hpp"

namespace attnprobe::worker {
namespace {

namespace fs = std::filesystem;
using Environment = std::vector<std::pair<std::string, std::optional<std::string>>>;

// cuDNN's own logging would slow every call and write unwanted files.
Environment quiet_cudnn() {
  return {{"CUDNN_LOGLEVEL_DBG", std::nullopt},
          {"CUDNN_LOGDEST_DBG", std::nullopt},
          {"CUDNN_LOGERR_DBG", std::nullopt},
          {"CUDNN_LOGWARN_DBG", std::nullopt},
          {"CUDNN_LOGINFO_DBG", std::nullopt}};
}

Environment environment_for(const gpu::Target& target) {
  Environment changes = quiet_cudnn();
  if (target.kind == gpu::Kind::device)
    changes.emplace_back("CUDA_VISIBLE_DEVICES",
                         target.uuid.empty() ? std::to_string(target.device.value_or(0)) : target.uuid);
  else
    changes.emplace_back("CUDA_VISIBLE_DEVICES", "");
  return changes;
}

std::unique_ptr<Process> start(const std::string& program, const Environment& environment,
                               const std::vector<std::string>& under = {}) {
  std::vector<std::string> words = under;
  words.insert(words.end(), {worker_program(program), "worker"});
  return std::make_unique<Process>(words, environment, !under.empty());
}

std::atomic<bool> this_program_serves{false};

fs::path this_program() {
  std::error_code unknown;
  return fs::canonical("/proc/self/exe", unknown);
}

// The program's possible paths relative to a file of the installed tree: this program, or a shared library with this
// code.
std::vector<fs::path> places_of_program() {
  std::vector<fs::path> places;
  const auto add_beside = [&](const fs::path& file) {
    const fs::path folder = file.parent_path();
    for (const char* place : {"attnprobe", "../bin/attnprobe", "../../bin/attnprobe"}) places.push_back(folder / place);
  };
  add_beside(this_program());
  Dl_info here{};
  std::error_code unknown;
  if (dladdr(reinterpret_cast<const void*>(&worker_program), &here) != 0 && here.dli_fname != nullptr)
    add_beside(fs::canonical(here.dli_fname, unknown));
  if (const char* path = std::getenv("PATH"))
    for (const auto& folder : split(path, ':'))  // never runs a program from the working directory
      if (fs::path(folder).is_absolute()) places.push_back(fs::path(folder) / "attnprobe");
  return places;
}

// Next to an installed library, a folder has the program's name.
bool is_program(const fs::path& file) {
  std::error_code unknown;
  return fs::is_regular_file(file, unknown) && access(file.c_str(), X_OK) == 0;
}

}  // namespace

void serve_in_this_program() {
  this_program_serves = true;
}

std::string worker_program(const std::string& given) {
  if (const char* named = std::getenv("ATTNPROBE_PROGRAM")) return named;
  if (this_program_serves) return this_program();
  if (!given.empty() && is_program(given)) return given;
  for (const auto& place : places_of_program())
    if (is_program(place)) return place.lexically_normal();
  throw Error(ErrorKind::environment,
              "the program attnprobe, which calls cuDNN, is neither next to this library nor on "
              "PATH: install it, or name it with ATTNPROBE_PROGRAM");
}

namespace {

const char* how_lost(bool timed_out, const ProcessEnd& end) {
  if (timed_out) return "hung";
  return end.is_from_outside() ? "was killed from outside" : "died";
}

}  // namespace

const char* WorkerLost::how() const {
  return how_lost(timed_out, end);
}

WorkerLost::WorkerLost(bool timed_out_, ProcessEnd end_, probe::Stage stage_, std::string output_,
                       std::optional<probe::WalkFindings> findings_)
    : std::runtime_error(
          fmt::format("the worker process {} ({}) at {}", how_lost(timed_out_, end_), end_.text(), stage_.text)),
      timed_out(timed_out_),
      end(end_),
      stage(std::move(stage_)),
      output(std::move(output_)),
      findings(std::move(findings_)) {}

Client::Client(const gpu::Target& target, Seconds timeout, const std::string& program, const std::atomic<bool>* stop,
               const std::vector<std::string>& under)
    : timeout_(timeout), stop_(stop), process_(start(program, environment_for(target), under)) {}

Client::Client(Seconds timeout, const std::string& program)
    : timeout_(timeout), process_(start(program, quiet_cudnn())) {}

void Client::obey(Seconds timeout, const std::atomic<bool>* stop) {
  timeout_ = timeout;
  stop_ = stop;
}

Json Client::request(const Json& request, const probe::Stage& first_stage) {
  return ask(text_of({request, ""}), first_stage, {}).json;
}

Message Client::ask(const std::string& request, const probe::Stage& first_stage,
                    const std::function<std::string()>& next) {
  if (announced_ != request) {
    if (!announced_.empty()) answer("an abandoned walk");
    process_->send(request);  // if the child has ended, the read below reports it
  }
  // The next request is sent before the worker has finished this one. Long requests wait, because the socket's buffer
  // might be too small and both sides would block.
  constexpr size_t longest_ahead = size_t{1} << 16;
  announced_ = next ? next() : "";
  if (announced_.size() > longest_ahead) announced_.clear();
  if (!announced_.empty()) process_->send(announced_);
  Message message = answer(first_stage);
  const Json& json = message.json;
  if (!json.contains("answer")) throw Error(ErrorKind::internal, "invalid answer of the worker: " + json.dump());
  if (json["answer"] == "error")
    throw Error(parse_enum<ErrorKind>(json["kind"].get<std::string>()).value_or(ErrorKind::internal),
                json["message"].get<std::string>());
  return message;
}

Message Client::answer(const probe::Stage& first_stage) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout_);
  Message message;
  const Process::Read read = process_->receive(message, deadline, stop_);
  if (read == Process::Read::message) return message;
  if (read == Process::Read::stopped) {
    process_->kill();
    throw Stopped();
  }
  const bool timed_out = read == Process::Read::timeout;
  if (timed_out) process_->kill();
  const ProcessEnd end = process_->wait();
  probe::Stage stage = first_stage;
  std::optional<probe::WalkFindings> findings;
  if (const auto notes = process_->notes(); notes && notes->json.contains("stage")) {
    stage = notes->json["stage"].get<probe::Stage>();
    try {
      if (!notes->payload.empty()) unpack(notes->payload, findings.emplace());
    } catch (const Error&) {
      findings.reset();  // killed while writing them
    }
  }
  throw WorkerLost(timed_out, end, stage, process_->output_tail(), std::move(findings));
}

gpu::DriverInfo Client::inspect_driver() {
  return request({{"do", "inspect_driver"}}, "the CUDA driver")["driver"].get<gpu::DriverInfo>();
}

cudnn::LibraryInfo Client::open(const std::string& cudnn_path, const gpu::Target& target) {
  const bool simulated = target.kind == gpu::Kind::simulated;
  const Json answer =
      request({{"do", "open"}, {"cudnn", cudnn_path}, {"properties", simulated ? target.properties : Json()}},
              probe::Stage(probe::Step::start, "start (loading cuDNN)"));
  return answer["library"].get<cudnn::LibraryInfo>();
}

std::string Client::walk_request(const graph::OpGraph& graph, const probe::WalkOptions& options) {
  return text_of({{{"do", "walk"}}, pack(graph, options)});
}

probe::WalkFindings Client::walk(const graph::OpGraph& graph, const probe::WalkOptions& options,
                                 const std::function<std::string()>& next) {
  probe::WalkFindings findings;
  unpack(ask(walk_request(graph, options), "start", next).payload, findings);
  return findings;
}

probe::PlanFindings Client::build(const Json& graph, int64_t engine, const probe::Knobs& knobs, bool keep) {
  const Json answer = request({{"do", "build"}, {"graph", graph}, {"engine", engine}, {"knobs", knobs}, {"keep", keep}},
                              "operation graph");
  return answer["plan"].get<probe::PlanFindings>();
}

run::Outcome Client::run(const Json& graph, int64_t engine, const probe::Knobs& knobs, const run::RunOptions& options) {
  const Json answer = request(
      {{"do", "run"}, {"graph", graph}, {"engine", engine}, {"knobs", knobs}, {"options", options}}, "start of a run");
  return answer["outcome"].get<run::Outcome>();
}

void Client::prepare() {
  request({{"do", "prepare"}}, "start of a run");
}

void Client::rest() {
  request({{"do", "rest"}}, "rest");
}

void Client::end() {
  process_->end_messages();
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout_);
  Message message;
  const Process::Read read = process_->receive(message, deadline, stop_);
  const bool timed_out = read != Process::Read::ended;
  if (timed_out) process_->kill();
  if (read == Process::Read::stopped) throw Stopped();
  const ProcessEnd end = process_->wait();
  if (timed_out || end.signalled || end.code != 0)
    throw WorkerLost(timed_out, end, "its end", process_->output_tail(), std::nullopt);
}

std::string Client::device_properties() {
  return request({{"do", "device_properties"}}, "device properties")["json"].get<std::string>();
}

gpu::DriverInfo inspect_driver(double timeout_seconds, const std::string& program) {
  try {
    return Client(Client::Seconds(timeout_seconds), program).inspect_driver();
  } catch (const std::exception& e) {
    gpu::DriverInfo info;
    info.problem = fmt::format("asking the CUDA driver failed: {}", e.what());
    return info;
  }
}

}  // namespace attnprobe::worker
