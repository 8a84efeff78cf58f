#include "support.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "gpu/catalogue.hpp"

namespace attnprobe::test {
std::string program() {
  return std::getenv("ATTNPROBE_PROGRAM");
}  // set by main.cpp

Run shell(const std::string& command, const Environment& environment, const std::string& input) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "in") << input;
  std::string line = fmt::format("cd '{}' && env", source_dir().string());
  for (const auto& [name, value] : environment) line += value ? fmt::format(" '{}={}'", name, *value) : " -u " + name;
  std::ofstream(folder.path() / "script") << command << "\n";
  line += fmt::format(" bash '{0}/script' <'{0}/in' >'{0}/out' 2>'{0}/err'", folder.path().string());
  const int status = std::system(line.c_str());
  Run run;
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.out = read_text(folder.path() / "out");
  run.err = read_text(folder.path() / "err");
  return run;
}

Run run_attnprobe(const std::string& arguments, const Environment& environment, const std::string& input) {
  return shell(fmt::format("{} {}", program(), arguments), environment, input);
}

std::string cudnn_path() {
  static const std::string path = cudnn::choose_library("").path;
  return path;
}

asking::Answers answers_to(const std::vector<answer::Question>& questions, const std::vector<gpu::Target>& targets,
                           const std::string& cudnn, const asking::PlanOptions& options, const asking::Session& session,
                           const asking::OnAnswer& on_answer) {
  const asking::Plan plan{.groups = {{questions, targets, {cudnn}}},
                          .options = options,
                          .further = asking::Further::nothing,
                          .cached = true};
  return asking::ask(plan, session, on_answer).front();
}

std::vector<answer::Answer> probe_all(const std::string& config_json, const std::string& targets,
                                      const probe::WalkOptions& options) {
  asking::PlanOptions how;
  how.walk = options;
  return answers_to(asking::questions_of(attention::parse_configs(config_json, "test")),
                    gpu::simulated_targets(targets), cudnn_path(), how)
      .results;
}

answer::Answer probe_one(const std::string& config_json, const std::string& target, const probe::WalkOptions& options) {
  return probe_all(config_json, target, options).at(0);
}

std::string mode_counts(const answer::Answer& result, const std::string& mode) {
  for (const auto& found : result.findings.modes)
    if (found.mode == mode) return fmt::format("{}/{}", found.viable, found.candidates);
  return "not asked";
}

std::string viable_engines(const answer::Answer& result, const std::string& mode) {
  std::set<int64_t> engines;
  for (const auto& config : result.findings.engine_configs)
    if (config.check.supported && std::find(config.modes.begin(), config.modes.end(), mode) != config.modes.end())
      engines.insert(config.engine);
  std::string text;
  for (const int64_t engine : engines) text += fmt::format("{}{}", text.empty() ? "" : " ", engine);
  return text;
}

Run validate(const std::string& schema, const std::string& instance) {
  constexpr const char* script =
      "import json, sys, jsonschema; jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])), "
      "cls=jsonschema.Draft202012Validator)";
  return shell(fmt::format("python3 -c '{}' {} {}", script, schema, instance));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace attnprobe::test
