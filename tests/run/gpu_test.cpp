// Tests that need a real GPU. Without one they skip with a message.
#include <fmt/format.h>

#include <cmath>

#include "ask/named_targets.hpp"
#include "attention/config.hpp"
#include "build/build.hpp"
#include "build/expand.hpp"
#include "catch.hpp"
#include "machine/preflight.hpp"
#include "run/device/cuda.hpp"
#include "run/problem.hpp"
#include "support.hpp"
#include "worker/client.hpp"

namespace attnprobe::test::gpu_test {

namespace {

std::vector<gpu::Target> gpus() {
  static const std::vector<gpu::Target> found = asking::device_targets(worker::inspect_driver(60));
  if (found.empty()) WARN("SKIPPED: no GPU on this machine");
  return found;
}

// The part that must be equal between a real and a simulated walk: everything from cuDNN, without times.
Json answer(const Json& result) {
  Json configs = result["engine_configs"];
  return {{"verdict", result["verdict"]},
          {"modes", result["modes"]},
          {"engine_configs", configs},
          {"engines", result["engines"]},
          {"failure", result["failure"]}};
}

// Every output of a graph, from the interpreter on that device.
std::map<std::string, std::vector<double>> reference_values(run::Device& device, const graph::OpGraph& graph) {
  run::Problem problem(device, graph, {}, 91900);
  std::map<std::string, std::vector<double>> values;
  for (const auto& [uid, value] : run::evaluate(device, build::expand(graph), problem.inputs(), size_t{1} << 30)) {
    const auto count = static_cast<size_t>(run::kernels::elements(value.view));
    std::vector<double> numbers(count);
    if (device.real() == DataType::f64) {
      device.copy_out(numbers.data(), value.view.data, count * sizeof(double));
    } else {
      std::vector<float> floats(count);
      device.copy_out(floats.data(), value.view.data, count * sizeof(float));
      numbers.assign(floats.begin(), floats.end());
    }
    values[tensor(graph, uid).name] = std::move(numbers);
  }
  return values;
}

}  // namespace

TEST_CASE("real and simulated GPU give the same walk, engine by engine and knob by knob", "[real_gpu]") {
  if (gpus().empty()) return;
  const TemporaryFolder folder;
  const std::string dumped = folder.path() / "dumped.json";
  REQUIRE(run_attnprobe("targets dump -o " + dumped).exit_code == 0);
  for (const char* config : {"configs/bert.json", "configs/llama3-8b.json", "configs/mistral-7b.json",
                             "configs/two-matmul-forum.json", "configs/mha-bert-legacy.json"}) {
    const std::string walk = fmt::format("--config {} --plans none --engines knobs --format json --target ", config);
    const Json real = run_attnprobe(walk + "device:0").json(), simulated = run_attnprobe(walk + dumped).json();
    for (size_t i = 0; i < real["results"].size(); ++i) {
      INFO(real["results"][i]["config"]["name"]);
      CHECK(answer(real["results"][i]) == answer(simulated["results"][i]));
    }
  }
}

TEST_CASE("plans are built and loaded on a real GPU", "[real_gpu]") {
  if (gpus().empty()) return;
  const Json report =
      run_attnprobe("--config configs/sdpa-notebook.json --target device:0 --timing fast --format json").json();
  const Json& result = report["results"][0];
  CHECK(result["verdict"] == "supported");
  CHECK(result["target"]["kind"] == "device");
  CHECK(result["stages"] == Json({"check", "plan", "run"}));
  int ran = 0;
  for (const Json& config : result["engine_configs"]) {
    if (config["plan"].is_null()) continue;
    INFO(config.dump());
    CHECK(config["plan"]["loaded"] == true);
    CHECK(config["run"]["status"] == "ok");
    CHECK(config["run"]["relative_l2"] < 1e-3);  // f16 rounds to 2^-11
    CHECK(config["run"]["deterministic"] == true);
    CHECK(config["time"]["median_ms"] > 0.001);
    CHECK(config["time"]["percent_of_peak"] > 1);
    CHECK(config["time"]["percent_of_peak"] < 100);
    ++ran;
  }
  CHECK(ran >= 1);
}

TEST_CASE("the reference is the same on GPU and CPU", "[real_gpu]") {
  if (gpus().empty()) return;
  const auto gpu = std::make_unique<run::CudaDevice>();
  const auto cpu = run::cpu_device();
  for (
      const char* config :
      {R"({"pattern": "sdpa_composite", "pass": "fprop_train", "batch": 3, "heads_q": 6, "heads_kv": 2, "seqlen": 130,
            "head_dim": 40, "mask": "padding_causal", "bias": "1hss", "softcap": 3.0})",
       R"({"pattern": "sdpa_composite", "pass": "bprop", "batch": 2, "heads_q": 4, "heads_kv": 2, "seqlen_q": 70,
            "seqlen_kv": 133, "head_dim": 24, "mask": "causal", "bias": {"shape": "1hss", "grad": true}})",
       R"({"pattern": "sdpa_composite", "pass": "bprop", "batch": 2, "heads": 2, "seqlen": 64, "head_dim": 16,
            "layout": "thd", "mask": "padding", "dtype": "bf16"})",
       R"({"pattern": "sdpa_unified", "batch": 2, "heads_q": 4, "heads_kv": 1, "seqlen_q": 1, "seqlen_kv": 256,
            "head_dim": 64, "paged": {"block_size": 16}, "mask": "padding"})",
       R"({"pattern": "sdpa_composite", "batch": 2, "heads": 2, "seqlen": 96, "head_dim": 32, "dtype": "fp8_e4m3"})"}) {
    INFO(config);
    const auto spec = attention::parse_configs(config, "test").at(0).spec;
    const auto graph = build::build_graph(spec, {91900, 90}).graph;
    const auto on_cpu = reference_values(*cpu, graph), on_gpu = reference_values(*gpu, graph);
    REQUIRE(on_cpu.size() == on_gpu.size());
    for (const auto& [name, values] : on_cpu) {
      INFO(name);
      double error = 0, norm = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] == on_gpu.at(name)[i]) continue;  // rows of padding: Stats are -inf
        error += (values[i] - on_gpu.at(name)[i]) * (values[i] - on_gpu.at(name)[i]);
        norm += values[i] * values[i];
      }
      CHECK(norm > 0);
      CHECK(std::sqrt(error / norm) < 2e-5);
    }
  }
}

TEST_CASE("a plan that crashes its process on the GPU loses only its own result", "[real_gpu]") {
  if (gpus().empty()) return;
  const std::string command =
      "--batch 2 --heads 4 --seqlen 256 --head-dim 64 --pattern sdpa_composite --mode A --target device:0 --timing "
      "none --format json --timeout 15";
  for (const auto& [fault, status] : {std::pair{"segfault", "crashed"}, {"abort", "crashed"}, {"hang", "timeout"}}) {
    INFO(fault);
    const Run run =
        run_attnprobe(command, {{"ATTNPROBE_TEST_FAULT", std::string(fault) + "@run of engine 2 {\"KERNEL_CFG\":7}"}});
    CHECK(run.exit_code == 4);
    int lost = 0, right = 0;
    const Json result = run.json()["results"][0];
    for (const Json& config : result["engine_configs"]) {
      if (config["run"].is_null()) continue;
      lost += config["run"]["status"] == status ? 1 : 0;
      right += config["run"]["status"] == "ok" ? 1 : 0;
    }
    CHECK(lost == 1);
    CHECK(right >= 1);
    CHECK(result["verdict"] == "supported");
  }
}

TEST_CASE("an illegal memory access loses one engine config, and the next one runs", "[real_gpu]") {
  if (gpus().empty()) return;
  // cuDNN 9.14 and 9.19 accept a graph with the softmax's maxima as its only row output. Their kernels then write the
  // sums to an invalid address.
  const Run run = run_attnprobe(
      R"(--batch 2 --heads 8 --seqlen 512 --head-dim 128 --max-logit --target device:0 --mode A --timing none --format json)");
  const Json result = run.json()["results"][0];
  if (result["verdict"] == "supported") return;  // fixed in this cuDNN
  CHECK(run.exit_code == 4);
  CHECK(result["engine_configs"].size() >= 2);
  for (const Json& config : result["engine_configs"]) {
    if (config["run"].is_null()) continue;
    CHECK(config["run"]["status"] == "cuda_error");
    CHECK(contains(config["run"]["message"], "CUDA_ERROR_ILLEGAL_ADDRESS"));
  }
}

TEST_CASE("a problem too large for the GPU is reported with its size", "[real_gpu]") {
  if (gpus().empty()) return;
  const Run run = run_attnprobe(
      "--batch 256 --heads 64 --seqlen 65536 --head-dim 128 --target device:0 --mode A --timing none --format json");
  const Json result = run.json()["results"][0];
  CHECK(result["verdict"] == "error");
  CHECK(result["root_cause"]["category"] == "memory");
  CHECK(contains(result["root_cause"]["reason"], "too small"));
}

TEST_CASE("the machine's GPU is the default target", "[real_gpu]") {
  if (gpus().empty()) return;
  const Json report = run_attnprobe("--heads 8 --seqlen 128 --head-dim 64 --plans none --format json").json();
  REQUIRE(report["results"].size() == gpus().size());
  CHECK(report["results"][0]["target"]["id"] == "device:0");
  CHECK(report["results"][0]["target"]["sm"] == gpus()[0].sm);
}

TEST_CASE("doctor sees the GPU and builds plans on it", "[real_gpu]") {
  if (gpus().empty()) return;
  const Json diagnosis = run_attnprobe("doctor --format json").json();
  CHECK(!diagnosis["driver"]["gpus"].empty());
  for (const Json& ability : diagnosis["abilities"]) {
    INFO(ability.dump());
    CHECK(ability["ok"] == true);
  }
}

}  // namespace attnprobe::test::gpu_test
