// The child's side of the protocol. The parent survives any crash of this process.
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "base/file_descriptor.hpp"
#include "cudnn/device_context.hpp"
#include "gpu/driver.hpp"
#include "probe/walk.hpp"
#include "run/runner.hpp"
#include "worker/archive.hpp"
#include "worker/confinement.hpp"
#include "worker/process.hpp"
#include "worker/protocol.hpp"
#include "worker/test_faults.hpp"

namespace attnprobe::worker {
namespace {

class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  // None: the parent has ended.
  std::optional<Message> read() {
    while (true) {
      if (auto message = messages_.take()) return message;
      std::array<char, 65536> chunk{};
      const ssize_t count = recv(socket_, chunk.data(), chunk.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      messages_.append({chunk.data(), static_cast<size_t>(count)});
    }
  }

  void write(const Message& message) {
    if (!send_all(socket_, text_of(message))) std::_Exit(0);  // the parent, the only reader, has ended
  }

 private:
  int socket_;
  MessageBuffer messages_;
};

class Server {
 public:
  explicit Server(int socket) : channel_(socket) {}

  void run() {
    while (const auto request = channel_.read()) {
      try {
        notes_.write("{}\n");  // drops the previous request's notes
        channel_.write(answer(*request));
      } catch (const Error& e) {
        refuse(e.kind(), e.what());
      } catch (const std::bad_alloc&) {
        refuse(ErrorKind::environment, "the worker process ran out of memory");
      } catch (const std::exception& e) {
        refuse(ErrorKind::internal, e.what());
      }
    }
  }

 private:
  void refuse(ErrorKind kind, const char* message) {
    channel_.write({{{"answer", "error"}, {"kind", name_of(kind)}, {"message", message}}, ""});
  }

  Message answer(const Message& message) {
    const Json& request = message.json;
    const auto what = request.at("do").get<std::string>();
    inject_fault(what);
    if (what == "inspect_driver") return {{{"answer", "driver"}, {"driver", gpu::inspect_driver()}}, ""};
    if (what == "open") return {open(request), ""};
    if (!library_) throw Error(ErrorKind::internal, "the worker was asked for \"" + what + "\" before \"open\"");
    if (what == "walk") return walk(message.payload);
    if (what == "build" || what == "run") return {run(request, what == "build"), ""};
    if (what == "prepare" || what == "rest") {
      if (what == "prepare") prepare();
      if (runner_) runner_->rest();
      return {{{"answer", "rests"}}, ""};
    }
    if (what == "device_properties")
      return {{{"answer", "device_properties"}, {"json", cudnn::device_properties_json(*library_)}}, ""};
    throw Error(ErrorKind::internal, "unknown request \"" + what + "\"");
  }

  Json open(const Json& request) {
    const Json& properties = request.at("properties");
    // Before cuDNN, whose own dlopen of libcuda.so.1 must find the right one.
    if (!properties.is_null()) {
      confine();
      gpu::load_null_driver();
    }
    library_ = cudnn::Library::load(request.at("cudnn").get<std::string>());
    device_.emplace(properties.is_null() ? cudnn::DeviceContext::real(*library_)
                                         : cudnn::DeviceContext::simulated(*library_, properties.dump()));
    return {{"answer", "opened"}, {"library", library_->info()}};
  }

  Message walk(const std::string& payload) {
    const auto progress = [&](const probe::Stage& stage, const probe::WalkFindings& so_far) {
      reach(stage, pack(so_far));
    };
    graph::OpGraph graph;
    probe::WalkOptions options;
    unpack(payload, graph, options);
    try {
      return {{{"answer", "walk"}}, pack(probe::walk(*device_, graph, options, progress))};
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      // Thrown through cuDNN's C functions (9.19: a format_error). Other programs would have crashed. After an
      // incomplete call, further answers could be wrong.
      fmt::print(stderr, "terminated by a C++ exception from cuDNN: {}\n", e.what());
      std::abort();
    }
  }

  Json run(const Json& request, bool only_build) {
    const auto graph = graph::from_json(request.at("graph"));
    const auto engine = request.at("engine").get<int64_t>();
    const auto knobs = request.at("knobs").get<probe::Knobs>();
    const auto stage = [&](const probe::Stage& at) { reach(at, ""); };
    if (!plans_) plans_.emplace(*device_);
    if (only_build) {
      Json answer{{"answer", "built"}, {"plan", plans_->plan(graph, engine, knobs, stage).findings}};
      if (!request.at("keep").get<bool>()) plans_->forget();
      return answer;
    }
    prepare();
    const auto options = request.at("options").get<run::RunOptions>();
    return {{"answer", "ran"}, {"outcome", runner_->run(*plans_, graph, engine, knobs, options, stage)}};
  }

  void prepare() {
    if (!runner_) runner_ = test_plans_asked() ? test_runner() : run::gpu_runner(*device_);
  }

  // Notes for the parent, in case the next step crashes this process.
  void reach(const probe::Stage& stage, const std::string& findings_so_far) {
    notes_.write(text_of({{{"stage", stage}}, findings_so_far}));
    inject_fault(stage.text);
  }

  Channel channel_;
  Notes notes_{Process::child_notes};
  std::unique_ptr<cudnn::Library> library_;
  std::optional<cudnn::DeviceContext> device_;
  std::optional<run::PlanKeeper> plans_;
  std::unique_ptr<run::Runner> runner_;
};

void end_without_parent(int socket) {
  pollfd parent{socket, POLLRDHUP, 0};
  while (poll(&parent, 1, -1) < 0 && errno == EINTR) {
  }
  // A main thread that waits for a request ends cleanly by itself.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::_Exit(0);
}

// Closes descriptors of attnprobe's caller. Tools injected into this process, such as compute-sanitizer, may have
// opened their own.
void close_inherited() {
  if (std::getenv("LD_PRELOAD") != nullptr || std::getenv("CUDA_INJECTION64_PATH") != nullptr) return;
  close_descriptors(std::max(Process::child_socket, Process::child_notes) + 1, ~0U);
}

// cuDNN and its built-in compilers need the default stack of a main thread; `ulimit -s` may allow less.
void run_on_a_large_stack(Server& server) {
  constexpr rlim_t needed = rlim_t{8} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= needed) return server.run();
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, needed) == 0)
    pthread_setattr_default_np(&attributes);  // also for threads that cuDNN starts
  pthread_attr_destroy(&attributes);
  std::thread([&] { server.run(); }).join();
}

}  // namespace

int serve(int socket) {
  close_inherited();

  // Ends if the parent is killed, even during a long cuDNN call. PR_SET_PDEATHSIG would be too strict: it ends a worker
  // with its starting thread, but sessions keep workers for later questions.
  std::thread(end_without_parent, socket).detach();
  leave_no_core();
  // A terminal's Ctrl-C is for the parent, which stops or ends its workers; a session's idle workers remain.
  std::signal(SIGINT, SIG_IGN);
  Server server(socket);
  run_on_a_large_stack(server);
  return 0;
}

}  // namespace attnprobe::worker
