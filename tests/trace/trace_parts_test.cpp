// The parts of a trace: variables, merged logs, Transformer Engine's lines.
#include <fmt/format.h>

#include "catch.hpp"
#include "replay/log_history.hpp"
#include "replay/logged_graph.hpp"
#include "trace/engine_lines.hpp"
#include "trace/log_variables.hpp"
#include "trace/running.hpp"

namespace attnprobe::test::trace_parts_test {

using namespace attnprobe::trace;

namespace {

GetVariable variables_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

std::map<std::string, std::string> as_map(const LogVariables& variables) {
  return {variables.set.begin(), variables.set.end()};
}

}  // namespace

TEST_CASE("the program gets the log variables of cuDNN and cudnn-frontend, and Transformer Engine's with --stderr",
          "[trace]") {
  const LogFolder folder("");
  const auto plain = as_map(log_variables(folder, false, variables_of({})));
  CHECK(plain ==
        std::map<std::string, std::string>{{"CUDNN_LOGLEVEL_DBG", "3"},
                                           {"CUDNN_LOGDEST_DBG", (folder.path() / "cudnn-%i.log").string()},
                                           {"CUDNN_FRONTEND_LOG_INFO", "1"},
                                           {"CUDNN_FRONTEND_LOG_FILE", (folder.path() / "frontend.log").string()}});
  const auto with_stderr = as_map(log_variables(folder, true, variables_of({})));
  CHECK(with_stderr.at("NVTE_DEBUG") == "1");
  CHECK(with_stderr.at("NVTE_DEBUG_LEVEL") == "2");
}

TEST_CASE("a variable set by the user is kept, and the missing information is reported", "[trace]") {
  const LogFolder folder("");
  const LogVariables variables =
      log_variables(folder, false, variables_of({{"CUDNN_LOGLEVEL_DBG", "1"}, {"CUDNN_FRONTEND_LOG_INFO", "1"}}));
  CHECK(as_map(variables).count("CUDNN_LOGLEVEL_DBG") == 0);
  CHECK(as_map(variables).count("CUDNN_LOGDEST_DBG") == 1);
  REQUIRE(variables.kept.size() == 1);  // cudnn-frontend would have been set to 1
  CHECK(
      variables.kept[0] ==
      "CUDNN_LOGLEVEL_DBG=1 is already set and stays: only level 3 shows graphs; unset CUDNN_LOGLEVEL_DBG to change that");
}

TEST_CASE("a log's graphs are available before it ends", "[trace]") {
  const std::string text = unpacked_fixture("logs/frameworks/pytorch-train-gqa-bf16.log.xz");
  replay::LogReader reader;
  CHECK(reader.so_far().graphs.empty());
  // Up to the first execution: earlier builds are known, later events are not.
  const size_t executed = text.find("function cudnnBackendExecute()");
  REQUIRE(executed != std::string::npos);
  reader.feed(text.substr(0, executed));
  REQUIRE(reader.so_far().graphs.size() >= 1);
  CHECK(reader.so_far().graphs[0].works());
  CHECK(reader.so_far().graphs[0].executed.empty());
  reader.feed(text.substr(executed));
  CHECK(reader.finish().graphs.size() == 2);
}

TEST_CASE("Transformer Engine's debug lines are removed without delaying other output", "[trace]") {
  EngineLines lines(false);
  CHECK(lines.without("loss 3.2 [") == "loss 3.2 [");
  CHECK(lines.without("DEBUG    | DotProductAttention]: in the middle\n") ==
        "DEBUG    | DotProductAttention]: in the middle\n");
  CHECK(lines.without("[DEBUG    | DotProductAttention]: Disabling FusedAttention for ") == "");
  CHECK(lines.without("determinism reasons\n[WARNING  | x]: kept\n") == "[WARNING  | x]: kept\n");
  // The start of a possible line is held back, and returned if it is not one.
  CHECK(lines.without("[DEB") == "");
  CHECK(lines.without("RIS] 5\n") == "[DEBRIS] 5\n");
  CHECK(lines.without("[INFO  ") == "");
  CHECK(lines.rest() == "[INFO  ");
  EngineLines all(true);
  CHECK(all.without("[DEBUG    | DotProductAttention]: x\n") == "[DEBUG    | DotProductAttention]: x\n");
}

TEST_CASE("a process runs until it ends", "[trace]") {
  CHECK(is_running(getpid()));
  CHECK(!is_running(0));
  CHECK(!is_running(1 << 30));
}

}  // namespace attnprobe::test::trace_parts_test
