// Whether wrong results are distinguished from rounded results. Plans that round like kernels must pass; plans with an
// additional error must be detected, for all types. `ATTNPROBE_MUTANTS=FILE` writes the figures of docs/running.md.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "attention/config.hpp"
#include "base/error.hpp"
#include "build/build.hpp"
#include "catch.hpp"
#include "plain_attention.hpp"
#include "run/problem.hpp"
#include "run/reference/rounding.hpp"
#include "small_random_config.hpp"

namespace attnprobe::test::mutant_test {

namespace {

struct Mutant {
  const char* name;
  Slip slip;
};

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all{{"mask's right edge one key too far", {.right_edge = 1}},
                                       {"mask's right edge one key short", {.right_edge = -1}},
                                       {"window's left edge one key short", {.left_edge = 1}},
                                       {"window's left edge one key too far", {.left_edge = -1}},
                                       {"one key less of each sequence", {.keys = -1}},
                                       {"one key behind each sequence", {.keys = 1}},
                                       {"the last tile of keys dropped", {.last_tile = true}},
                                       {"bottom-right mask put top-left", {.top_left = true}},
                                       {"heads of Q swapped in pairs", {.heads_swapped = true}},
                                       {"the wrong group of K/V heads", {.groups_mixed = true}},
                                       {"K of another batch entry", {.other_batch = true}},
                                       {"V one token off", {.value_shift = 1}},
                                       {"the head dimension's last 8 left out of QK", {.depth = 8}},
                                       {"two entries of K's page table swapped", {.pages_swapped = true}},
                                       {"scale off by 1 %", {.scale = 1.01}},
                                       {"scale off by 10 %", {.scale = 1.1}},
                                       {"dropout mask one column off", {.dropout_shift = 1}},
                                       {"dropout not scaled up", {.undropped = true}},
                                       {"one stale row", {.stale_row = true}},
                                       {"two rows swapped", {.rows_swapped = true}},
                                       {"one row's statistics with another's maximum", {.other_maximum = true}},
                                       {"no rescale when the maximum rises", {.lost_rescale = true}},
                                       {"bias one column off", {.bias_shift = 1}},
                                       {"no bias", {.no_bias = true}},
                                       {"no sink", {.no_sink = true}},
                                       {"no softcap", {.no_softcap = true}},
                                       {"no score modifier", {.no_score_mod = true}},
                                       {"ALiBi slope of the next head", {.next_slope = true}},
                                       {"fp8 output not scaled", {.unscaled = true}},
                                       {"dS without delta", {.no_delta = true}},
                                       {"dS with the delta of another row", {.next_delta = true}},
                                       {"dS without the scale", {.unscaled_scores = true}},
                                       {"dQ without the last tile of keys", {.lost_keys = true}},
                                       {"dK without the last tile of queries", {.lost_queries = true}},
                                       {"dK and dV of one head of each group", {.first_of_group = true}},
                                       {"dBias of one batch entry", {.first_batch = true}},
                                       {"dSink with the other sign", {.sink_turned = true}},
                                       {"rotary embedding of neighbours, not halves", {.pairs_interleaved = true}},
                                       {"statistics to base e, not 2", {.natural_stats = true}}};
  return all;
}

bool kept(int64_t b, int64_t h, int64_t i, int64_t j) {
  return run::kernels::uniform(77, static_cast<uint64_t>(((b * 64 + h) * 4096 + i) * 4096 + j)) < 0.8;
}

// A config as a problem on the CPU, and plans for it.
struct Case {
  attention::AttentionSpec spec;
  build::BuiltGraph built;
  std::unique_ptr<run::Device> device = run::cpu_device();
  std::unique_ptr<run::Problem> problem;

  Case(const std::string& config, run::RunOptions options, CudnnVersion version = 91900) {
    spec = attention::parse_configs(config, "test").at(0).spec;
    options.seqlens_q = spec.mask.seqlens_q;
    options.seqlens_kv = spec.mask.seqlens_kv;
    built = build::build_graph(spec, {version, 90});
    problem = std::make_unique<run::Problem>(*device, built.graph, options, version);
  }
  std::vector<double> compute(const Slip& slip) const {
    return plain_attention(spec, built.graph, problem->pointers(), problem->data().lengths, kept, slip);
  }
  probe::RunFindings verify(Slip slip) const {
    slip.rounds = true;
    return problem->verify([&] { compute(slip); }, 0);
  }
};

// The relative difference of the results, as norms; infinite and larger values count separately.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return 1;
  double squares = 0, all = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return 1;
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  for (const double x : a) all += std::isfinite(x) ? x * x : 0;
  return all > 0 ? std::sqrt(squares / all) : std::sqrt(squares);
}

struct Tally {
  int found = 0, missed = 0, small = 0;
};
std::map<std::string, std::map<std::string, Tally>> tallies;  // by mutant, by type

std::string worst_of(const probe::RunFindings& found) {
  std::string text;
  for (const auto& o : found.outputs)
    text += fmt::format("{}: {:.2g} of what an element may, {:.2g} of the norm's {:.2g}; ", o.tensor,
                        o.of_allowed.value_or(0), o.relative_l2.value_or(0), o.allowed_l2);
  return text;
}

// A change that no comparison of rounded outputs can see: in every output it is smaller than the output's own rounding.
bool is_small(const Case& c, double change) {
  return change < 1.25 * run::rounding_of(c.spec.dtype).unit;
}

void check(const std::string& config, run::DataRegime data = run::DataRegime::normal) {
  INFO(config);
  run::RunOptions options;
  options.data = data;
  const Case c(config, options);
  const auto right = c.verify({});
  INFO("rounded: " << worst_of(right));
  CHECK(right.status == probe::RunStatus::ok);
  // Computes all of them before verifying any, because another dropout mask changes the inputs.
  const auto exact = c.compute({});
  std::vector<double> changes;
  for (const Mutant& mutant : mutants()) changes.push_back(difference(exact, c.compute(mutant.slip)));
  for (size_t i = 0; i < changes.size(); ++i) {
    const Mutant& mutant = mutants()[i];
    if (changes[i] < 1e-12) continue;  // does not affect this config
    const auto wrong = c.verify(mutant.slip);
    const bool found = wrong.status == probe::RunStatus::wrong_result;
    auto& tally = tallies[mutant.name][std::string(name_of(c.spec.dtype))];
    const bool small = !found && is_small(c, changes[i]);
    (found ? tally.found : small ? tally.small : tally.missed) += 1;
    if (found || small) continue;
    INFO(mutant.name << ", which changes " << changes[i] << ": " << worst_of(wrong));
    CHECK(found);
  }
}

void write_tallies() {
  const char* file = std::getenv("ATTNPROBE_MUTANTS");
  if (file == nullptr) return;
  const std::vector<std::string> types{"f16", "bf16", "f32", "fp8_e4m3", "fp8_e5m2"};
  std::ofstream out(file);
  out << fmt::format("| mutation | {} |\n| --- |", fmt::join(types, " | "));
  for (size_t i = 0; i < types.size(); ++i) out << " --- |";
  for (const Mutant& mutant : mutants()) {
    out << "\n| " << mutant.name << " |";
    for (const auto& type : types) {
      const Tally& t = tallies[mutant.name][type];
      const int all = t.found + t.missed + t.small;
      out << (all == 0       ? std::string(" - |")
              : t.small == 0 ? fmt::format(" {} of {} |", t.found, all)
                             : fmt::format(" {} of {}, {} too small |", t.found, all, t.small));
    }
  }
  out << "\n";
}

const char* const shape = R"("batch": 2, "heads_q": 4, "heads_kv": 2, "seqlen_q": 21, "seqlen_kv": 33, "head_dim": 16)";
const char* const square = R"("batch": 2, "heads_q": 4, "heads_kv": 2, "seqlen": 27, "head_dim": 16)";

}  // namespace

TEST_CASE("mutants of two plans are detected", "[run]") {
  for (const char* pass : {"fprop_train", "bprop"})
    check(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "{}", "dtype": "bf16", {}, "mask": "causal"}})", pass,
                      square));
}

TEST_CASE("every mutant of a forward pass is detected", "[run][slow]") {
  for (const char* type : {"f16", "bf16", "f32", "fp8_e4m3", "fp8_e5m2"})
    for (const char* pass : {"fprop", "fprop_train"})
      for (const char* features :
           {R"("mask": "none")", R"("mask": "causal")", R"("mask": "causal_bottom_right")",
            R"("mask": {"causal": true, "window_left": 9})",
            R"("mask": {"padding": true, "seqlens_q": [21, 17], "seqlens_kv": [33, 19]})",
            R"("mask": {"padding": true, "causal": true, "seqlens_q": [20, 9], "seqlens_kv": [31, 12]})",
            R"("bias": "1hss")", R"("alibi": true, "mask": "causal")", R"("softcap": 2.0)", R"("sink": true)",
            R"("layout": "thd", "mask": "padding")", R"("paged": {"block_size": 8}, "mask": "padding")",
            R"("dropout": {"probability": 0.2, "dump": true})", R"("dropout": {"probability": 0.1, "form": "mask"})",
            R"("score_mod": "gelu")"}) {
        const bool fp8 = std::string(type).starts_with("fp8"), masks = std::string(features).starts_with("\"mask\"");
        if (fp8 && !masks && !std::string(features).starts_with("\"sink\"")) continue;
        check(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "{}", "dtype": "{}", {}, {}}})", pass, type, shape,
                          features));
      }
  write_tallies();
}

TEST_CASE("every mutant of a backward pass is detected", "[run][slow]") {
  for (const char* type : {"f16", "bf16", "fp8_e4m3", "fp8_e5m2"})
    for (const char* features :
         {R"("mask": "none")", R"("mask": "causal")", R"("mask": {"causal": true, "window_left": 9})",
          R"("mask": {"padding": true, "seqlens_q": [27, 13], "seqlens_kv": [27, 13]})",
          R"("bias": {"shape": "1hss", "grad": true})", R"("alibi": true, "mask": "causal")", R"("softcap": 2.0)",
          R"("sink": true)", R"("dropout": 0.2)", R"("layout": "thd", "mask": "padding")", R"("score_mod": "gelu")"}) {
      const bool fp8 = std::string(type).starts_with("fp8"), masks = std::string(features).starts_with("\"mask\"");
      if (fp8 && !masks) continue;
      check(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "bprop", "dtype": "{}", {}, {}}})", type, square,
                        features));
    }
  write_tallies();
}

TEST_CASE("every mutant of the other patterns is detected", "[run][slow]") {
  for (const char* features : {R"("mask": "padding")", R"("bias": "1hss")", R"("dropout": 0.2)"})
    check(fmt::format(R"({{"pattern": "mha", {}, {}}})", square, features));
  check(fmt::format(R"({{"pattern": "two_matmul", {}}})", square));
  for (const char* features : {R"("mask": "none")", R"("layout": "thd", "mask": "padding")",
                               R"("layout": "thd", "mask": "padding", "cu_seqlens": "both", "ragged_unit": "token")",
                               R"("mask": "padding_causal", "cu_seqlens": "kv")", R"("rope": true)",
                               R"("rope": {"dim": 8}, "dtype": "bf16")", R"("stats_log2": true, "mask": "causal")",
                               R"("dtype": "fp8_e4m3")", R"("dtype": "fp8_e5m2", "o_dtype": "bf16", "mask": "causal")"})
    check(fmt::format(R"({{"pattern": "sdpa_unified", "pass": "fprop_train", {}, {}}})", shape, features));
  check(R"({"pattern": "sdpa_unified", "pass": "fprop_train", "batch": 2, "heads": 4, "seqlen_q": 21, "seqlen_kv": 32,
            "head_dim": 16, "paged": {"block_size": 8}, "mask": "padding"})");
  write_tallies();
}

TEST_CASE("an amax that is too large is detected, however many scores it is of", "[run]") {
  const Case c(
      R"({"batch": 2, "heads": 8, "seqlen": 128, "head_dim": 16, "dtype": "fp8_e4m3", "pattern": "sdpa_unified"})", {},
      92800);
  CHECK(c.verify({}).status == probe::RunStatus::ok);
  CHECK(c.verify({.amax = 1.3}).status == probe::RunStatus::wrong_result);
}

TEST_CASE("mutants are detected with every kind of data", "[run][slow]") {
  for (const auto& [data, name] : EnumNames<run::DataRegime>::table)
    for (const char* pass : {"fprop_train", "bprop"}) {
      INFO(name);
      check(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "{}", "dtype": "bf16", {}, "mask": "causal"}})", pass,
                        square),
            data);
    }
  write_tallies();
}

TEST_CASE("random plans that differ only by rounding are correct with every kind of data", "[run][slow]") {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    auto config = small_random_config(seed);
    if (!config) continue;
    run::RunOptions options;
    options.seed = seed;
    // Scales of fp8 suit standard normal data.
    const bool fp8 = (*config)["dtype"].get<std::string>().starts_with("fp8");
    // cudnn-frontend's graph for it omits the mask in dP: not attention.
    if (fp8 && (*config)["pass"] == "bprop" && config->contains("dropout")) continue;
    // After a sequence's end, a paged cache reads as zeros, which count if nothing masks them.
    if (config->contains("paged") && !config->value("mask", Json::object()).contains("padding")) continue;
    options.data = EnumNames<run::DataRegime>::table[fp8 ? seed % 2 : seed % 6].first;
    try {
      // Where a derivative jumps, at a score of exactly 0, both values are correct.
      const std::string text = config->dump();
      const bool jumps = text.find("\"max\"") != std::string::npos || text.find("\"relu\"") != std::string::npos ||
                         text.find("\"abs\"") != std::string::npos;
      if (jumps && options.data == run::DataRegime::integers) continue;
      // Statistics beyond f32 become infinite, which plain attention does not read.
      if (text.find("\"exp\"") != std::string::npos && options.data == run::DataRegime::large) continue;
      const Case c(text, options);
      const auto found = c.verify({});
      if (found.status == probe::RunStatus::not_verified) continue;
      INFO(config->dump() << " " << name_of(options.data) << " " << found.message << ": " << worst_of(found));
      CHECK(found.status == probe::RunStatus::ok);
      ++checked;
    } catch (const Error&) {
      continue;
    } catch (const NotPlain&) {
      continue;
    }
  }
  CHECK(checked >= 1000);
}

// Plans may round these to different values from the reference and be equally correct.
TEST_CASE("uncertain signs, exponents and 16-bit sums have a tolerance", "[run]") {
  using namespace run::kernels;
  // relu's derivative at a score of 1e-7 ± 1e-7 is 0 or 1; at 0.01, and at an exact 0, it is certain.
  CHECK(pointwise_variance(mode_RELU_BWD, 1e-7, 2, 0, 2, 1e-14, 0) >= 4);
  CHECK(pointwise_variance(mode_RELU_BWD, -1e-7, 2, 0, 0, 1e-14, 0) >= 4);
  CHECK(pointwise_variance(mode_RELU_BWD, 0.01, 2, 0, 2, 1e-14, 0) < 1e-6);
  CHECK(pointwise_variance(mode_RELU_BWD, 0, 2, 0, 0, 1e-14, 0) == 0);
  // exp(-1e10) is 0, unless the exponent is uncertain by 1e10.
  CHECK(pointwise_variance(mode_EXP, -1e10, 0, 0, 0, 4e20, 0) > 1e30);
  CHECK(pointwise_variance(mode_EXP, -1e10, 0, 0, 0, 1, 0) == 0);
  // Five heads' dBias nearly cancel, and each partial sum was rounded to f16.
  std::vector<double> values{0.5, 0.5, 0.5, -0.75, -0.75}, sums(2);
  Partial partial{};
  ReduceArgs args{};
  args.x = run::packed_view({1, 5, 1, 1}, DataType::f64, reinterpret_cast<char*>(values.data()));
  args.x.unit = 0x1p-11F;
  args.y = run::packed_view({1, 1, 1, 1}, DataType::f64, reinterpret_cast<char*>(sums.data()));
  args.y.error = sizeof(double);
  args.partial = &partial;
  args.parts = 1;
  args.op = reduce_ADD;
  reduce_parts(args, 0, 1);
  reduce_join_parts(args, 0, 1);
  CHECK(sums[0] == 0);
  const double of_values = std::sqrt(3 * 0.25 + 2 * 0.5625) * 0x1p-11;
  CHECK(sums[1] > 1.5 * of_values);
  CHECK(sums[1] < 4 * of_values);
  // Atomics add in any order; here each partial sum is small, and in another order it is not.
  values = {0.5, -0.75, 0.5, -0.75, 0.5};
  reduce_parts(args, 0, 1);
  reduce_join_parts(args, 0, 1);
  CHECK(sums[0] == 0);
  CHECK(sums[1] > 1.5 * of_values);
  // In the worst order, the partial sums are 0.5, 1, 1.5, 0.75 and 0.
  const double of_order = std::sqrt(0.25 + 1 + 2.25 + 0.5625) * 0x1p-11;
  CHECK(sums[1] > of_order);
  CHECK(sums[1] < 2 * of_order);
  // The roundings of a running sum of 4,096 equal rows of dSink do not average out.
  std::vector<double> rows(4096, 1.0);
  ReduceArgs of_sink = args;
  of_sink.x = run::packed_view({1, 1, 4096, 1}, DataType::f64, reinterpret_cast<char*>(rows.data()));
  reduce_parts(of_sink, 0, 1);
  reduce_join_parts(of_sink, 0, 1);
  CHECK(sums[0] == 4096);
  CHECK(sums[1] > 4096 * 64 * 0x1p-23);
  CHECK(sums[1] < 4096 * 64 * 0x1p-21);
  // The order of the terms, and their split into slices, make no difference.
  reduce_parts(args, 0, 1);
  reduce_join_parts(args, 0, 1);
  const double whole = sums[1];
  std::vector<Signed> kept(1);
  args.x.dims[1] = 1;
  args.kept = kept.data();
  for (size_t i : {2U, 4U, 0U, 1U, 3U}) {
    args.x.data = reinterpret_cast<char*>(&values[i]);
    reduce_parts(args, 0, 1);
    reduce_join_parts(args, 0, 1);
    args.keep = 1;
    ++args.before;
  }
  CHECK(std::fabs(sums[0]) < 1e-12);
  CHECK(std::fabs(sums[1] - whole) < 1e-6 * whole);
}

TEST_CASE("A quotient by a certain zero is exact, by an uncertain one it is anything", "[run]") {
  using namespace run::kernels;
  CHECK(pointwise_variance(mode_DIV, 0, 0, 0, 0, 0, 0) == 0);
  CHECK(std::isinf(pointwise_variance(mode_DIV, 0, 0, 0, 0, 0, 1e-12)));
}

// cuDNN returns 1e-7 for these, and a relative limit on zero allows no error.
TEST_CASE("gradients of zero have a rounding tolerance", "[run]") {
  for (const char* config :
       {R"("seqlen_q": 1, "seqlen_kv": 1, "mask": "padding_causal")",
        R"("seqlen_q": 1, "seqlen_kv": 40, "mask": "causal", "bias": {"shape": "1hss", "grad": true})"}) {
    INFO(config);
    const Case c(fmt::format(R"({{"pattern": "sdpa_composite", "pass": "bprop", "batch": 2, "heads": 2, "head_dim": 64,
                                  "dtype": "bf16", {}}})",
                             config),
                 {});
    auto view = [&](const std::string& name) {
      for (const auto& t : c.built.graph.tensors)
        if (t.name == name && !t.is_virtual)
          return run::view_of(c.built.graph, t, static_cast<char*>(c.problem->pointers().at(t.uid)), {});
      throw std::runtime_error("no " + name);
    };
    // dQ = dS K, with one visible key.
    auto with_gradient = [&](double d_s) {
      return c.problem->verify(
          [&] {
            c.compute({});
            const auto d_q = view("dQ"), k = view("K^T");
            for (int64_t i = 0; i < run::kernels::elements(d_q); ++i) {
              const auto p = run::kernels::place(d_q, i);
              run::kernels::store(d_q, p, d_s * run::kernels::load(k, {{p.i[0], p.i[1], p.i[3], 0}}));
            }
          },
          0);
    };
    for (const double rounding : {0.0, 1e-7, -1e-7}) {
      const auto found = with_gradient(rounding);
      INFO(found.message << ": " << worst_of(found));
      CHECK(found.status == probe::RunStatus::ok);
    }
    CHECK(with_gradient(1e-3).status == probe::RunStatus::wrong_result);
  }
}

}  // namespace attnprobe::test::mutant_test
