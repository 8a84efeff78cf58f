// Helpers that tests share: the program as a user runs it, cells by the library, temporary folders.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ask/ask.hpp"
#include "catch.hpp"

namespace attnprobe::test {

/// The result of a command line run through a shell.
struct Run {
  int exit_code = -1;
  std::string out, err;
  Json json() const { return Json::parse(out); }
};
using Environment = std::map<std::string, std::optional<std::string>>;

/// Runs `attnprobe <arguments>` in the source folder; `environment` sets and unsets variables.
Run run_attnprobe(const std::string& arguments, const Environment& environment = {}, const std::string& input = "");
/// The program under test.
std::string program();
Run shell(const std::string& command, const Environment& environment = {}, const std::string& input = "");

/// Validates a JSON file against a schema's file, with an independent implementation; exit code 0 if it is valid.
Run validate(const std::string& schema, const std::string& instance);

/// The cuDNN that tests use; "" if the machine has none. Nearly every test must then fail, not pass silently.
std::string cudnn_path();

/// The answers to these questions, without follow-up questions; from the session's cache, if any.
asking::Answers answers_to(const std::vector<answer::Question>& questions, const std::vector<gpu::Target>& targets,
                           const std::string& cudnn, const asking::PlanOptions& options,
                           const asking::Session& session = {}, const asking::OnAnswer& on_answer = {});

/// One config (JSON text) on simulated targets, through worker processes.
std::vector<answer::Answer> probe_all(const std::string& config_json, const std::string& targets,
                                      const probe::WalkOptions& options = {});
answer::Answer probe_one(const std::string& config_json, const std::string& target,
                         const probe::WalkOptions& options = {});

/// A mode's viable configs and candidates, "4/5".
std::string mode_counts(const answer::Answer& result, const std::string& mode);
/// Engines with a viable config that a mode proposes, "1 2".
std::string viable_engines(const answer::Answer& result, const std::string& mode);

/// Whether a text contains another.
bool contains(const std::string& text, const std::string& part);

}  // namespace attnprobe::test
