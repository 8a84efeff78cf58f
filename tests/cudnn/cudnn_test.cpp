// The RAII layer over the backend API, in this process, with the null driver.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "base/error.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "cudnn/device_context.hpp"
#include "cudnn/lowering.hpp"
#include "gpu/catalogue.hpp"
#include "gpu/driver.hpp"
#include "probe/walk.hpp"
#include "support.hpp"

namespace attnprobe::test::cudnn_test {

using namespace attnprobe::cudnn;
using namespace std::string_literals;

namespace {

const Library& library() {
  static const std::unique_ptr<Library> loaded = [] {
    gpu::load_null_driver();
    return Library::load(test::cudnn_path());
  }();
  return *loaded;
}

const Attribute dimensions = ATTNPROBE_ATTRIBUTE(TENSOR_DIMENSIONS);

}  // namespace

TEST_CASE("attributes are set and read back with their types", "[cudnn]") {
  Descriptor tensor(library(), CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::vector<int64_t> dims{2, 3, 4, 8}, strides{96, 32, 8, 1};
  tensor.set_all(dimensions, std::span<const int64_t>(dims));
  tensor.set_all(ATTNPROBE_ATTRIBUTE(TENSOR_STRIDES), std::span<const int64_t>(strides));
  tensor.set(ATTNPROBE_ATTRIBUTE(TENSOR_DATA_TYPE), CUDNN_DATA_HALF);
  tensor.set(ATTNPROBE_ATTRIBUTE(TENSOR_UNIQUE_ID), int64_t{7});
  tensor.set(ATTNPROBE_ATTRIBUTE(TENSOR_BYTE_ALIGNMENT), int64_t{16});
  tensor.set(ATTNPROBE_ATTRIBUTE(TENSOR_IS_VIRTUAL), false);
  tensor.finalize();
  CHECK(tensor.get_all<int64_t>(dimensions, 8) == dims);
  CHECK(tensor.get<cudnnDataType_t>(ATTNPROBE_ATTRIBUTE(TENSOR_DATA_TYPE)) == CUDNN_DATA_HALF);
  CHECK(tensor.get<int64_t>(ATTNPROBE_ATTRIBUTE(TENSOR_UNIQUE_ID)) == 7);
}

TEST_CASE("a failed call reports its name, descriptor, attribute, status and cuDNN's last error", "[cudnn]") {
  Descriptor tensor(library(), CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  try {
    tensor.set(dimensions, 1.5F);  // FLOAT instead of INT64
    FAIL("cuDNN took a float for dimensions");
  } catch (const Error& e) {
    REQUIRE(e.cudnn());
    CHECK(e.kind() == ErrorKind::cudnn);
    CHECK(e.cudnn()->call == "cudnnBackendSetAttribute");
    CHECK(e.cudnn()->descriptor == "CUDNN_BACKEND_TENSOR_DESCRIPTOR");
    CHECK(e.cudnn()->attribute == "CUDNN_ATTR_TENSOR_DIMENSIONS");
    CHECK(e.cudnn()->status.rfind("CUDNN_STATUS_BAD_PARAM", 0) == 0);
    CHECK(!e.cudnn()->last_error.empty());
    CHECK(test::contains(e.what(), "CUDNN_ATTR_TENSOR_DIMENSIONS"));
  }
}

TEST_CASE("a failure inside a capture has the captured log", "[cudnn]") {
  const LogCapture capture(library(), LogCapture::Level::warnings);
  Descriptor tensor(library(), CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  try {
    tensor.finalize();
    FAIL("an empty tensor was finalized");
  } catch (const Error& e) {
    CHECK(test::contains(e.cudnn()->log, "CUDNN_STATUS_BAD_PARAM"));
  }
}

TEST_CASE("descriptors move and are destroyed once", "[cudnn]") {
  Descriptor first(library(), CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const auto* raw = first.get();
  Descriptor second(std::move(first));
  CHECK(second.get() == raw);
  Descriptor third(library(), CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  third = std::move(second);  // destroys the matmul
  CHECK(third.get() == raw);
}

TEST_CASE("one capture at a time: cuDNN has one callback", "[cudnn]") {
  const LogCapture capture(library(), LogCapture::Level::warnings);
  CHECK_THROWS_AS(LogCapture(library(), LogCapture::Level::info), Error);
}

TEST_CASE("a capture records every thread, and nothing after its end", "[cudnn]") {
  std::vector<LogMessage> messages;
  {
    const LogCapture capture(library(), LogCapture::Level::warnings);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([] {
        for (int n = 0; n < 25; ++n) Descriptor(library(), CUDNN_BACKEND_TENSOR_DESCRIPTOR).try_finalize();
      });
    threads.clear();
    messages = capture.messages();
  }
  CHECK(messages.size() == 200);
  std::map<uint64_t, int> by_thread;
  for (const auto& message : messages) ++by_thread[message.thread];
  CHECK(by_thread.size() == 8);
  Descriptor(library(), CUDNN_BACKEND_TENSOR_DESCRIPTOR).try_finalize();  // without a callback it must not crash
}

TEST_CASE("a capture may end while other threads' calls are being logged", "[cudnn]") {
  std::atomic<bool> done{false};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!done) Descriptor(library(), CUDNN_BACKEND_TENSOR_DESCRIPTOR).try_finalize();
    });
  size_t heard = 0;
  for (int n = 0; n < 300; ++n) {
    const auto capture = std::make_unique<LogCapture>(library(), LogCapture::Level::warnings);
    CHECK(LogCapture::active() == capture.get());
    heard += capture->messages().size();
  }
  CHECK(LogCapture::active() == nullptr);
  const LogCapture last(library(), LogCapture::Level::warnings);
  Descriptor(library(), CUDNN_BACKEND_TENSOR_DESCRIPTOR).try_finalize();
  CHECK_FALSE(last.messages().empty());
  done = true;
  INFO(heard);
}

TEST_CASE("a message's parts become lines, for any number and length", "[cudnn]") {
  CHECK(message_text(nullptr).empty());
  CHECK(message_text("\0").empty());
  CHECK(message_text("one\0two\0\0never\0") == "one\ntwo\n");
  const std::string longest(1 << 20, 'x');
  CHECK(message_text((longest + std::string("\0y\0\0", 4)).c_str()).size() > longest.size());
}

TEST_CASE("a message's text can omit the graph before an engine config", "[cudnn]") {
  const std::string message =
      "CuDNN (v91900 56) function f() called:\0    apiLog: type=json; "
      "val={\"operationGraph\":{\"engine\":1},\"engine\":{\"engineId\":2}}\0    apiLog: type=json; "
      "val={\"operationGraph\":{}}\0\0"s;
  CHECK(message_text(message.c_str(), LoggedGraphs::left_out) ==
        "CuDNN (v91900 56) function f() called:\n"
        "    apiLog: type=json; val={\"engine\":{\"engineId\":2}}\n"
        "    apiLog: type=json; val={\"operationGraph\":{}}\n");
  CHECK(message_text(message.c_str()).size() == message.size() - 1);
}

TEST_CASE("lowering names the tensor or operation that cuDNN refuses", "[cudnn]") {
  attention::AttentionSpec spec;
  spec.heads_q = spec.heads_kv = 2;
  spec.seqlen_q = spec.seqlen_kv = 16;
  spec.head_dim_qk = spec.head_dim_v = 64;
  graph::OpGraph graph = build::build_two_matmul(spec);
  graph.tensors[0].strides = {1, 1};
  CHECK_THROWS_WITH(lower(library(), graph, nullptr),
                    test::ContainsSubstring("tensor 1 \"Q\"") && test::ContainsSubstring("operation 0 (matmul)"));
}

TEST_CASE("lowering the same graph many times leaks nothing", "[cudnn]") {
  attention::AttentionSpec spec;
  spec.heads_q = spec.heads_kv = 2;
  spec.seqlen_q = spec.seqlen_kv = 128;
  spec.head_dim_qk = spec.head_dim_v = 64;
  const auto graph = build::build_graph(spec, {library().version()}).graph;
  const auto device = DeviceContext::simulated(library(), gpu::find("h200")->properties.dump());
  for (int i = 0; i < 200; ++i) {
    const LoweredGraph lowered = lower(library(), graph, nullptr);
    CHECK(lowered.operation_graph().get<int64_t>(ATTNPROBE_ATTRIBUTE(OPERATIONGRAPH_ENGINE_GLOBAL_COUNT)) > 0);
  }
}

TEST_CASE("a complete walk leaks nothing", "[cudnn]") {
  attention::AttentionSpec spec;
  spec.heads_q = spec.heads_kv = 2;
  spec.seqlen_q = spec.seqlen_kv = 128;
  spec.head_dim_qk = spec.head_dim_v = 64;
  spec.mask.window_right = 0;
  const auto graph = build::build_graph(spec, {library().version()}).graph;
  const auto device = DeviceContext::simulated(library(), gpu::find("h200")->properties.dump());
  probe::WalkOptions options;
  options.engines = probe::Engines::knobs;
  std::vector<std::string> stages;
  const auto findings = probe::walk(device, graph, options, [&](const probe::Stage& stage, const probe::WalkFindings&) {
    stages.push_back(stage.text);
  });
  CHECK(probe::has_working_config(findings));
  CHECK(std::find(stages.begin(), stages.end(), "mode FALLBACK") != stages.end());
  CHECK(std::find(stages.begin(), stages.end(), "engine 2") != stages.end());
}

TEST_CASE("invalid device properties are refused with cuDNN's error", "[cudnn]") {
  CHECK_THROWS_AS(DeviceContext::simulated(library(), "{}"), Error);
  CHECK_THROWS_AS(DeviceContext::simulated(library(), "no JSON"), Error);
}

}  // namespace attnprobe::test::cudnn_test
