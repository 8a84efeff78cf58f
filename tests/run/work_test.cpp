// The computation and data movement of a config, checked by hand and pair by pair, and the peaks of GPUs, checked
// against NVIDIA's datasheets.
#include "run/work.hpp"

#include "attention/flop.hpp"

#include <random>

#include "build/build.hpp"
#include "catch.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe::test::work_test {

using namespace attnprobe::attention;
using namespace attnprobe::run;

namespace {

AttentionSpec spec_of(int64_t seqlen_q, int64_t seqlen_kv, const Mask& mask = {}) {
  AttentionSpec spec;
  spec.heads_q = 6;
  spec.heads_kv = 3;
  spec.head_dim_qk = 16;
  spec.head_dim_v = 8;
  spec.seqlen_q = seqlen_q;
  spec.seqlen_kv = seqlen_kv;
  spec.mask = mask;
  return spec;
}

Mask band(std::optional<int64_t> left, std::optional<int64_t> right, Alignment alignment) {
  Mask mask;
  mask.window_left = left;
  mask.window_right = right;
  mask.alignment = alignment;
  return mask;
}

double pairs(int64_t seqlen_q, int64_t seqlen_kv, const Mask& mask = {}) {
  return unmasked_pairs(spec_of(seqlen_q, seqlen_kv, mask));
}

const Mask causal = band({}, 0, Alignment::top_left), bottom_right = band({}, 0, Alignment::bottom_right);

// Pair by pair, by the definition in spec.hpp.
double pairs_one_by_one(const Mask& mask, int64_t queries, int64_t keys) {
  double count = 0;
  for (int64_t row = 0; row < queries; ++row)
    for (int64_t column = 0; column < keys; ++column) {
      const int64_t diagonal = mask.alignment == Alignment::bottom_right ? row + keys - queries : row;
      const bool left = mask.window_left && column < diagonal - *mask.window_left;
      const bool right = mask.window_right && column > diagonal + *mask.window_right;
      if (!left && !right) ++count;
    }
  return count;
}

double llama_flop(Pass pass) {
  AttentionSpec spec = spec_of(4096, 4096, causal);
  spec.heads_q = 64;
  spec.heads_kv = 8;
  spec.head_dim_qk = spec.head_dim_v = 128;
  spec.pass = pass;
  return attention_flop(spec);
}

graph::Tensor tensor(DataType type, std::vector<int64_t> dims) {
  graph::Tensor result;
  result.data_type = type;
  result.strides.assign(dims.size(), 1);  // any value except 0 works
  result.dims = std::move(dims);
  return result;
}

double bytes_of(const graph::Tensor& one, const TokenShare& share = {}) {
  return least_bytes({.tensors = {one}, .operations = {}, .score_operations = {}}, share);
}

const GpuLimits h100{.multiprocessors = 132,
                     .sm_clock_mhz = 1830,
                     .memory_clock_mhz = 2619,
                     .memory_bus_bits = 5120,
                     .matmul_rates = gpu::matmul_rates("NVIDIA H100 80GB HBM3", 90)};

double peak(int sm, int multiprocessors, double clock_mhz, DataType type, bool geforce = false) {
  GpuLimits gpu;
  gpu.matmul_rates = gpu::matmul_rates(geforce ? "NVIDIA GeForce" : "NVIDIA", sm);
  gpu.multiprocessors = multiprocessors;
  gpu.sm_clock_mhz = clock_mhz;
  return peak_tflops(gpu, type).value_or(-1);
}

}  // namespace

// ---- pairs

TEST_CASE("Pairs under masks, counted by hand", "[work]") {
  CHECK(pairs(4, 5) == 20);
  CHECK(pairs(2, 5, causal) == 1 + 2);
  CHECK(pairs(2, 5, bottom_right) == 4 + 5);
  CHECK(pairs(5, 2, causal) == 1 + 2 + 2 + 2 + 2);
  CHECK(pairs(5, 2, bottom_right) == 1 + 2);  // three rows see no key
  CHECK(pairs(4, 4, band(1, 0, Alignment::top_left)) == 1 + 2 + 2 + 2);
  CHECK(pairs(4, 4, band(1, {}, Alignment::top_left)) == 4 + 4 + 3 + 2);
}

TEST_CASE("Pairs under masks, counted one by one", "[work]") {
  std::mt19937 random(11);
  auto up_to = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1)); };
  for (int i = 0; i < 500; ++i) {
    const auto left = up_to(2) ? std::optional(up_to(20)) : std::nullopt;
    const auto right = up_to(2) ? std::optional(up_to(20)) : std::nullopt;
    const Mask mask = band(left, right, up_to(1) ? Alignment::bottom_right : Alignment::top_left);
    const int64_t queries = 1 + up_to(20), keys = 1 + up_to(20);
    INFO(describe(spec_of(queries, keys, mask)));
    CHECK(pairs(queries, keys, mask) == pairs_one_by_one(mask, queries, keys));
  }
}

TEST_CASE("Pairs of long sequences", "[work]") {
  CHECK(pairs(1'000'000, 1'000'000, causal) == 1e6 * (1e6 + 1) / 2);
  CHECK(pairs(32768, 32768, band(127, 0, Alignment::top_left)) == 128 * 129 / 2 + (32768 - 128) * 128);
}

TEST_CASE("Each batch entry has its own lengths and bottom-right corner", "[work]") {
  AttentionSpec spec = spec_of(10, 10, bottom_right);
  spec.batch = 3;
  spec.mask.padding = true;
  CHECK(unmasked_pairs(spec) == 3 * 55);  // without lengths: the full lengths
  spec.mask.seqlens_q = {2, 5, 0};
  spec.mask.seqlens_kv = {5, 2, 7};
  CHECK(unmasked_pairs(spec) == 9 + 3 + 0);
  const std::vector<int64_t> at_run_time{1, 2, 3};
  CHECK(unmasked_pairs(spec, at_run_time, at_run_time) == 1 + 3 + 6);
  CHECK(unmasked_pairs(spec, at_run_time) == 5 + 3 + (5 + 6 + 7));  // 1x5, 2x2, 3x7
}

TEST_CASE("A causal score modifier is a causal mask, top left", "[work]") {
  AttentionSpec spec = spec_of(4, 4);
  spec.score_mod = ScoreModifier{ScoreModifierKind::causal, true};
  CHECK(unmasked_pairs(spec) == 10);
  spec.score_mod->kind = ScoreModifierKind::relu;
  CHECK(unmasked_pairs(spec) == 16);
  spec = spec_of(2, 5, band(1, 0, Alignment::bottom_right));  // columns 2, 3 and 3, 4
  spec.score_mod = ScoreModifier{ScoreModifierKind::causal, true};
  CHECK(unmasked_pairs(spec) == 0);
}

// ---- operations

TEST_CASE("Operations of a small problem, by hand", "[work]") {
  AttentionSpec spec = spec_of(5, 7);
  spec.batch = 2;
  CHECK(attention_flop(spec) == 2 * 6 * 35 * 2 * (16 + 8));
  spec.pass = Pass::bprop;
  CHECK(attention_flop(spec) == 2 * 6 * 35 * 2 * (3 * 16 + 2 * 8));
  const std::vector<int64_t> seqlens_q{5, 1}, seqlens_kv{7, 2};
  CHECK(attention_flop(spec, seqlens_q, seqlens_kv) == 6 * (35 + 2) * 2 * (3 * 16 + 2 * 8));
}

TEST_CASE("The rates match cudnn-frontend's published benchmark for an H200", "[work]") {
  // benchmark/sdpa_benchmark_training: Llama 3.1 64/8 d128 bf16 causal, 4096 tokens: 0.465 ms are 591 TFLOPS, 1.450 ms
  // are 474.
  CHECK(llama_flop(Pass::fprop) / 0.465e-3 / 1e12 == Approx(591).epsilon(0.002));
  CHECK(llama_flop(Pass::bprop) / 1.450e-3 / 1e12 == Approx(474).epsilon(0.002));
}

// ---- bytes

TEST_CASE("Bytes of tensors by type and extent", "[work]") {
  CHECK(bytes_of(tensor(DataType::bf16, {2, 3, 4, 8})) == 2 * 192);
  CHECK(bytes_of(tensor(DataType::f32, {2, 3, 4, 1})) == 4 * 24);
  CHECK(bytes_of(tensor(DataType::i64, {3, 1, 1, 1})) == 24);
  CHECK(bytes_of(tensor(DataType::fp8_e4m3, {2, 3, 4, 8})) == 192);
  CHECK(bytes_of(tensor(DataType::fp4_e2m1, {2, 3, 4, 8})) == 96);
  CHECK(bytes_of(tensor(DataType::boolean, {2, 3, 4, 8})) == 24);
  graph::Tensor broadcast = tensor(DataType::f16, {2, 3, 4, 8});
  broadcast.strides = {0, 32, 8, 1};
  CHECK(bytes_of(broadcast) == 2 * 96);
}

TEST_CASE("Only tensors in memory count, sequences by their share of tokens", "[work]") {
  graph::Tensor one = tensor(DataType::f16, {2, 3, 4, 8});
  CHECK(bytes_of(one) == 384);
  CHECK(bytes_of(one, {.seqlen_q = 4, .seqlen_kv = 16, .q = 0.5, .kv = 0.25}) == 192);
  CHECK(bytes_of(one, {.seqlen_q = 16, .seqlen_kv = 4, .q = 0.5, .kv = 0.25}) == 96);
  CHECK(bytes_of(one, {.seqlen_q = 16, .seqlen_kv = 32, .q = 0.5, .kv = 0.25}) == 384);
  one.role = graph::Role::k_container;
  CHECK(bytes_of(one, {.seqlen_q = 16, .seqlen_kv = 32, .q = 0.5, .kv = 0.25}) == 96);
  one.is_virtual = true;
  CHECK(bytes_of(one) == 0);
  one.is_virtual = false;
  one.by_value = true;
  CHECK(bytes_of(one) == 0);
}

TEST_CASE("Bytes of whole graphs", "[work]") {
  AttentionSpec spec = spec_of(64, 128);
  spec.pattern = Pattern::sdpa_composite;
  spec.batch = 2;
  const double q = 2 * 6 * 64 * 16, k = 2 * 3 * 128 * 16, v = 2 * 3 * 128 * 8, o = 2 * 6 * 64 * 8;
  const double rows = 2 * 6 * 64;
  const build::BuildContext context{91900, 90};
  CHECK(least_bytes(build::build_graph(spec, context).graph) == 2 * (q + k + v + o));
  spec.pass = Pass::fprop_train;
  CHECK(least_bytes(build::build_graph(spec, context).graph) == 2 * (q + k + v + o) + 4 * rows);
}

// ---- peaks

TEST_CASE("Peak rates match the datasheets", "[work]") {
  auto near = [](double tflops) { return Approx(tflops).epsilon(0.015); };
  CHECK(peak(75, 40, 1590, DataType::f16) == near(65));        // T4
  CHECK(peak(80, 108, 1410, DataType::bf16) == near(312));     // A100
  CHECK(peak(80, 108, 1410, DataType::f32) == near(19.5));     //
  CHECK(peak(86, 72, 1695, DataType::f16) == near(125));       // A10
  CHECK(peak(86, 72, 1695, DataType::f32) == near(31.2));      //
  CHECK(peak(86, 82, 1695, DataType::f16, true) == near(71));  // RTX 3090
  CHECK(peak(87, 16, 1300, DataType::f16) == near(42.5));      // AGX Orin
  CHECK(peak(89, 142, 2520, DataType::f16) == near(362));      // L40S
  CHECK(peak(89, 142, 2520, DataType::fp8_e5m2) == near(733));
  CHECK(peak(89, 142, 2520, DataType::f32) == near(91.6));              //
  CHECK(peak(89, 128, 2520, DataType::f16, true) == near(165.2));       // RTX 4090
  CHECK(peak(89, 128, 2520, DataType::fp8_e4m3, true) == near(330.3));  //
  CHECK(peak(89, 128, 2520, DataType::f32, true) == near(82.6));        //
  CHECK(peak(90, 132, 1830, DataType::bf16) == near(989));              // H100, H200 SXM
  CHECK(peak(90, 132, 1830, DataType::fp8_e4m3) == near(1979));         //
  CHECK(peak(90, 114, 1620, DataType::f16) == near(756));               // H100 PCIe
  CHECK(peak(90, 132, 1980, DataType::f32) == near(67));                //
  CHECK(peak(100, 148, 1850, DataType::bf16) == near(2250));            // B200
  CHECK(peak(103, 148, 1850, DataType::fp8_e4m3) == near(4500));        // B300
  CHECK(peak(120, 188, 2617, DataType::f16) == near(503.8));            // RTX PRO 6000
  CHECK(peak(120, 170, 2407, DataType::bf16, true) == near(209.5));     // RTX 5090
  CHECK(peak(120, 170, 2407, DataType::fp8_e4m3, true) == near(419));   //
  CHECK(peak(121, 48, 2540, DataType::f16) == near(125));               // GB10
}

TEST_CASE("Each GPU of the catalogue has the rates of its own board", "[work]") {
  CHECK(gpu::matmul_rates("NVIDIA GeForce RTX 4090", 89).at("f16") == 256);
  CHECK(gpu::matmul_rates("NVIDIA L40S", 89).at("f16") == 512);
  // Boards that are not in the catalogue, with and without a board of the same chip.
  CHECK(gpu::matmul_rates("NVIDIA GeForce RTX 4070 Ti", 89).at("fp8") == 512);
  CHECK(gpu::matmul_rates("NVIDIA RTX 5000 Ada Generation", 89).at("fp8") == 1024);
  CHECK(gpu::matmul_rates("NVIDIA GeForce RTX 2080", 75).at("f16") == 256);
  CHECK(gpu::matmul_rates("NVIDIA GeForce RTX 2080", 75).at("f32") == 64);
  for (const auto& target : gpu::catalogue())
    if (!target.matmul_rates.empty()) {
      INFO(target.id);
      CHECK(target.references.contains(target.rates_source));
      CHECK(gpu::matmul_rates(target.properties.value("deviceName", ""), target.sm) == target.matmul_rates);
    }
}

TEST_CASE("An unknown or missing unit has no peak rate", "[work]") {
  CHECK(peak(61, 28, 1582, DataType::f16) == -1);
  CHECK(peak(75, 40, 1590, DataType::bf16) == -1);
  CHECK(peak(80, 108, 1410, DataType::fp8_e4m3) == -1);
  CHECK(peak(90, 132, 1830, DataType::i32) == -1);
  CHECK(peak(90, 0, 1830, DataType::f16) == -1);
  CHECK(peak(90, 132, 0, DataType::f16) == -1);
}

TEST_CASE("Peak bandwidths", "[work]") {
  CHECK(peak_gbytes_per_s(h100) == Approx(3352).epsilon(0.001));
  CHECK(peak_gbytes_per_s({.memory_clock_mhz = 3201, .memory_bus_bits = 6016, .matmul_rates = {}}) ==
        Approx(4814).epsilon(0.001));  // H200: 4.8 TB/s
  CHECK(peak_gbytes_per_s({}) == 0);
}

// ---- rates

TEST_CASE("Rates follow from a time", "[work]") {
  probe::TimeFindings findings;
  add_rates(findings, 1e12, 1e9, h100, DataType::bf16);
  CHECK_FALSE(findings.tflops);
  CHECK(findings.bound.empty());

  findings.median_ms = 2;
  add_rates(findings, 1e12, 1e9, h100, DataType::bf16);
  CHECK(findings.tflops.value() == Approx(500));
  CHECK(findings.gbytes_per_s.value() == Approx(500));
  CHECK(findings.percent_of_peak.value() == Approx(100 * 500 / 989.4).epsilon(0.001));
  CHECK(findings.percent_of_bandwidth.value() == Approx(100 * 500 / 3352.3).epsilon(0.001));
  CHECK(findings.bound == "compute");
}

TEST_CASE("The bound is where the rooflines meet", "[work]") {
  // 989.4 TFLOPS over 3352.3 GB/s: 295 operations per byte.
  auto bound = [](double flop, const GpuLimits& gpu) {
    probe::TimeFindings findings;
    findings.median_ms = 1;
    add_rates(findings, flop, 1e6, gpu, DataType::f16);
    return findings.bound;
  };
  CHECK(bound(294e6, h100) == "memory");
  CHECK(bound(296e6, h100) == "compute");
  GpuLimits unknown = h100;
  unknown.matmul_rates.clear();
  CHECK(bound(294e6, unknown).empty());
  unknown = h100;
  unknown.memory_bus_bits = 0;
  CHECK(bound(294e6, unknown).empty());
}

TEST_CASE("Rates are computed without a peak", "[work]") {
  probe::TimeFindings findings;
  findings.median_ms = 1;
  add_rates(findings, 1e9, 1e6, {}, DataType::f16);
  CHECK(findings.tflops.value() == Approx(1));
  CHECK(findings.gbytes_per_s.value() == Approx(1));
  CHECK_FALSE(findings.percent_of_peak);
  CHECK_FALSE(findings.percent_of_bandwidth);
}

}  // namespace attnprobe::test::work_test
