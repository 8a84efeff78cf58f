// Emitted C++ programs, compiled and run on simulated GPUs: they print attnprobe's answer.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "attention/config.hpp"
#include "attention/fields.hpp"
#include "base/text.hpp"
#include "catch.hpp"
#include "emit/cpp_text.hpp"
#include "emit/emit.hpp"
#include "log/log_parse.hpp"
#include "support.hpp"

namespace attnprobe::test::cpp_program_test {

namespace {

namespace fs = std::filesystem;

using answer::Answer;
using probe::EngineConfigFindings;

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string program_of(const Answer& result) {
  return emit::cpp_program(
      {result.config.spec.name, describe(result.config.spec), result.reproduce, result.cudnn_version},
      result.graph.graph, result.target);
}

std::string words(int64_t engine, const log::Knobs& knobs) {
  std::string text = fmt::format("engine {}", engine);
  for (const auto& [knob, value] : knobs) text += fmt::format(" {}={}", knob, value);
  return text;
}

// The expected output: passing engine configs, and the others with their reasons, innermost cause first.
struct Answers {
  std::vector<std::string> supported, refused;
};

std::vector<std::string> with_reasons(const std::string& engine, const std::vector<log::Reason>& reasons) {
  std::vector<std::string> lines{engine};
  for (const auto& reason : reasons) lines.push_back(reason.status + ": " + reason.reason);
  return lines;
}

Answers answers_of(const Answer& result) {
  std::vector<EngineConfigFindings> configs = result.findings.engine_configs;
  std::stable_sort(configs.begin(), configs.end(), [](const auto& a, const auto& b) {
    return a.rank.count("A") && b.rank.count("A") && a.rank.at("A") < b.rank.at("A");
  });
  Answers answers;
  for (const auto& config : configs)
    if (config.check.supported)
      answers.supported.push_back("supported: " + words(config.engine, config.knobs));
    else
      answers.refused.push_back(
          fmt::format("{}", fmt::join(with_reasons(words(config.engine, config.knobs), config.reasons), "\n")));
  std::sort(answers.refused.begin(), answers.refused.end());
  return answers;
}

Answers answers_in(const std::string& out) {
  Answers answers;
  for (size_t begin = 0, end = 0; begin < out.size(); begin = end + 1) {
    end = std::min(out.find('\n', begin), out.size());
    if (const std::string line = out.substr(begin, end - begin); line.starts_with("supported: "))
      answers.supported.push_back(line);
  }
  for (const auto& config : log::parse_engine_configs(out))
    answers.refused.push_back(fmt::format(
        "{}", fmt::join(with_reasons(words(config.engine, log::chosen_knobs(config.knobs)), config.reasons), "\n")));
  std::sort(answers.refused.begin(), answers.refused.end());
  return answers;
}

void check_program(const Answer& result, const Run& run) {
  INFO(result.reproduce << "\n" << run.out << run.err);
  const auto& findings = result.findings;
  if (findings.failure) {
    const CudnnFailure& failure = findings.failure->cudnn;
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.out, ContainsSubstring(fmt::format("{}({}{}{}) gave {}", failure.call, failure.descriptor,
                                                      failure.attribute.empty() ? "" : ", ", failure.attribute,
                                                      failure.status)));
    CHECK_THAT(run.out, ContainsSubstring(failure.last_error));
    return;
  }
  REQUIRE(findings.modes.size() == 1);
  const auto& mode = findings.modes[0];
  CHECK_THAT(run.out, ContainsSubstring("mode A: " + mode.status));
  if (mode.status == "CUDNN_STATUS_SUCCESS")
    CHECK_THAT(run.out, ContainsSubstring(
                            fmt::format("\n{} engine configs proposed, {} supported\n", mode.candidates, mode.viable)));
  const Answers expected = answers_of(result), told = answers_in(run.out);
  CHECK(told.supported == expected.supported);
  CHECK(told.refused == expected.refused);
  CHECK(run.exit_code == (expected.supported.empty() ? 1 : 0));
}

// Folders in which the loader finds cuDNN and, for compiling, NVRTC with the libraries that it opens by bare name; pip
// installs them elsewhere.
std::string library_folders() {
  const fs::path folder = fs::path(cudnn_path()).parent_path();
  return fmt::format("{0}:{0}/../../cu13/lib:{0}/../../cuda_nvrtc/lib", folder.string());
}

Run run_program(const fs::path& program, const std::string& options = "") {
  return shell(program.string() + options,
               {{"LD_PRELOAD", ATTNPROBE_TEST_NULL_DRIVER}, {"LD_LIBRARY_PATH", library_folders()}});
}

// In parallel on all cores: each compilation takes a second.
void compile_all(const fs::path& folder) {
  const Run compiled = shell(fmt::format(
      "cd {} && ls *.cpp | xargs -P 4 -I % g++ -std=c++17 -O0 -Wall -Wextra -Werror % -o %.out -ldl", folder.string()));
  INFO(compiled.err);
  REQUIRE(compiled.exit_code == 0);
}

void check_programs(const std::vector<Answer>& results) {
  const TemporaryFolder folder;
  for (size_t i = 0; i < results.size(); ++i) write(folder.path() / fmt::format("p{}.cpp", i), program_of(results[i]));
  compile_all(folder.path());
  for (size_t i = 0; i < results.size(); ++i)
    check_program(results[i], run_program(folder.path() / fmt::format("p{}.cpp.out", i)));
}

// Compiles many programs as one, in a tenth of the time: each in its own namespace, selected by number. Their headers
// come first, so that none is included inside a namespace.
void check_programs_at_once(const std::vector<Answer>& results) {
  const TemporaryFolder folder;
  std::string headers, bodies, cases;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string text = program_of(results[i]);
    if (i == 0)
      for (const auto& line : split(text, '\n'))
        if (line.starts_with("#include")) headers += line + "\n";
    bodies += fmt::format("namespace p{} {{\n{}\n}}\n", i, text);
    cases += fmt::format("  if (number == {0}) return p{0}::main(argc - 1, argv + 1);\n", i);
  }
  write(folder.path() / "all.cpp", headers + bodies +
                                       "int main(int argc, char** argv) {\n  const int number = std::atoi(argv[1]);\n" +
                                       cases + "  return 3;\n}\n");
  compile_all(folder.path());
  for (size_t i = 0; i < results.size(); ++i)
    check_program(results[i], run_program(folder.path() / "all.cpp.out", fmt::format(" {}", i)));
}

probe::WalkOptions mode_a() {
  probe::WalkOptions options;
  options.modes = {"A"};
  options.sweep_where_none = false;
  options.plans = probe::Plans::none;
  return options;
}

void check_features(const std::string& name, const std::string& target) {
  Json configs = Json::array();
  for (auto& config : attention::load_configs(source_dir() / "configs/features" / (name + ".json"))) {
    config.spec.expect = {};
    configs.push_back(attention::to_json(config.spec));
  }
  check_programs_at_once(probe_all(configs.dump(), target, mode_a()));
}

}  // namespace

TEST_CASE("emitted programs list the same engines as attnprobe, with the same reasons", "[emit]") {
  check_programs(probe_all(R"([
    {"name": "train", "pattern": "sdpa_composite", "pass": "fprop_train", "heads": 8, "seqlen": 128, "head_dim": 64, "mask": "causal"},
    {"name": "odd", "pattern": "sdpa_unified", "heads": 8, "seqlen": 128, "head_dim": 100},
    {"name": "mha", "pattern": "mha", "pass": "bprop", "heads": 8, "seqlen": 128, "head_dim": 64, "mask": "padding"}])",
                           "h100", mode_a()));
}

// Separate tests, because of their time limit.
TEST_CASE("emitted programs of the legacy pattern agree with attnprobe", "[emit][slow]") {
  check_features("legacy", "a100");
}

TEST_CASE("emitted programs of fp8 agree with attnprobe", "[emit][slow]") {
  check_features("fp8", "h100");
}

TEST_CASE("emitted programs of ragged and paged tensors agree with attnprobe", "[emit][slow]") {
  check_features("ragged-and-paged", "h100");
}

TEST_CASE("emitted programs of the backward pass agree with attnprobe", "[emit][slow]") {
  check_features("backward", "h100");
}

TEST_CASE("emitted programs of dropout agree with attnprobe", "[emit][slow]") {
  check_features("dropout", "l40s");
}

TEST_CASE("emitted programs of score modifiers agree with attnprobe", "[emit][slow]") {
  check_features("scores", "b200");
}

TEST_CASE("emitted programs of the softmax's outputs agree with attnprobe", "[emit][slow]") {
  check_features("softmax-outputs", "h200");
}

TEST_CASE("emitted programs of two matmuls agree with attnprobe", "[emit][slow]") {
  check_programs_at_once(
      probe_all(R"({"name": "forum", "pattern": "two_matmul", "heads": 8, "seqlen": 64, "head_dim": 64})",
                "a100,h100,t4", mode_a()));
}

TEST_CASE("an emitted program asks about one engine config and compiles it", "[emit]") {
  const TemporaryFolder folder;
  const Answer result = probe_one(R"({"name": "x", "heads": 8, "seqlen": 128, "head_dim": 64})", "h100", mode_a());
  write(folder.path() / "x.cpp", program_of(result));
  compile_all(folder.path());
  const EngineConfigFindings* good = nullptr;
  const EngineConfigFindings* bad = nullptr;
  for (const auto& config : result.findings.engine_configs) (config.check.supported ? good : bad) = &config;
  REQUIRE((good != nullptr && bad != nullptr));
  const auto option = [](const EngineConfigFindings& config) {
    return " --engine" + words(config.engine, config.knobs).substr(std::string("engine").size());
  };
  const Run compiles = run_program(folder.path() / "x.cpp.out", option(*good) + " --plan");
  INFO(compiles.out);
  CHECK(compiles.exit_code == 0);
  CHECK_THAT(compiles.out, ContainsSubstring("engine config: CUDNN_STATUS_SUCCESS\nplan of " +
                                             words(good->engine, good->knobs) + ": CUDNN_STATUS_SUCCESS\n"));
  const Run refused = run_program(folder.path() / "x.cpp.out", option(*bad));
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.out,
             ContainsSubstring("engine config: " + bad->check.status) && ContainsSubstring(bad->reasons.at(0).reason));
  const Run wrong = run_program(folder.path() / "x.cpp.out", " --engine 9 NO_KNOB=1");
  CHECK(wrong.exit_code == 2);
}

TEST_CASE("foreign names are only comments in an emitted program", "[emit]") {
  CHECK(emit::cpp_comment("a\nint main() {}") == "// a\\x0aint main() {}");
  CHECK(emit::cpp_comment("a\\") == "// a\\.");
  CHECK(emit::cpp_raw_string("{}") == "R\"json({})json\"");
  CHECK(emit::cpp_raw_string(")json\"; evil") == "R\"json_()json\"; evil)json_\"");
}

TEST_CASE("The option --emit writes one program, and explains how to choose among several questions or targets",
          "[emit]") {
  const Run run = run_attnprobe("--heads 8 --seqlen 128 --head-dim 64 --target h100 --emit cpp");
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out,
             ContainsSubstring("// Prints cuDNN's answer for this operation graph on a simulated NVIDIA H100") &&
                 ContainsSubstring("g++ -std=c++17") && ContainsSubstring("CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC"));
  const std::pair<const char*, const char*> cases[] = {
      {"--config configs/bert.json --emit cpp", "--emit: 4 questions, but it writes one program; allowed: one config"},
      {"--heads 8 --seqlen 128 --head-dim 64 --target h100,t4 --emit cpp",
       "--target h100,t4: these are 2 GPUs; allowed: one"},
      {"--heads 8 --seqlen 128 --head-dim 64 --emit rust", "rust"}};
  for (const auto& [options, message] : cases) {
    const Run refused = run_attnprobe(options);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring(message));
  }
}

}  // namespace attnprobe::test::cpp_program_test
