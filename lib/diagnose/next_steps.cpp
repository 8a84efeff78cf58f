#include "diagnose/next_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace attnprobe::diagnose {
namespace {

// "--target with the GPU" of a command that takes no problem.
std::string with_target(std::string step, const std::string& options) {
  constexpr std::string_view option = " --target ", open = " --target with the GPU";
  const size_t at = step.find(open), given = options.find(option);
  if (at == std::string::npos || given == std::string::npos) return step;
  return step.replace(at, open.size(), options.substr(given, options.find(" --", given + 1) - given));
}

}  // namespace

std::string with_options(std::string next, const std::string& options) {
  constexpr std::string_view command = "attnprobe probe";
  const size_t at = next.find(command);
  if (options.empty() || at == std::string::npos) return next;
  std::string added;
  for (size_t begin = 0; begin < options.size();) {
    const size_t end = std::min(options.find(" --", begin + 1), options.size());
    const std::string option = options.substr(begin, end - begin);
    const std::string name = option.substr(0, option.find(' ', 1)) + " ";
    begin = end;
    // An option of the step that waits for its value ("--target with the GPU") gets it; one that has a value keeps it.
    const size_t there = next.find(name);
    if (there == std::string::npos)
      added += option;
    else if (const std::string_view rest = std::string_view(next).substr(there + name.size());
             rest.starts_with("with ") || rest.starts_with("for "))
      next.replace(there, name.size() - 1, option);
  }
  return next.insert(at + command.size(), added);
}

std::pair<std::string, std::string> step_and_rest(const std::string& next) {
  const auto at_joint = [&](size_t at) { return next.compare(at, 2, "; ") == 0 || next.compare(at, 5, ", or ") == 0; };
  int depth = 0;  // what stands in brackets belongs together
  size_t at = 0;
  for (; at < next.size() && (depth > 0 || !at_joint(at)); ++at) {
    if (next[at] == '(' || next[at] == '[') ++depth;
    if (next[at] == ')' || next[at] == ']') --depth;
  }
  if (at >= next.size()) return {next, ""};
  std::string rest = next.substr(next[at] == ';' ? at + 2 : at + 5);
  for (const std::string_view word : {"or ", "and "})
    if (rest.starts_with(word)) rest.erase(0, word.size());
  return {next.substr(0, at), rest};
}

std::string with_names(std::string step, const TextFacts& facts) {
  const auto put = [&](std::string_view open, const std::string& name) {
    for (size_t at; (at = step.find(open)) != std::string::npos;) step.replace(at, open.size(), name);
  };
  if (facts.frameworks.size() == 1) {
    put("FRAMEWORK==VERSION", facts.frameworks.front());
    if (facts.frameworks.front().starts_with("torch==")) put("torch==VERSION", facts.frameworks.front());
  }
  if (const std::string gpu = facts.target(); !gpu.empty()) {
    put("--target with the GPU", "--target " + gpu);
    put("--target GPU", "--target " + gpu);
  }
  return step;
}

std::string step_of(const Sentence& sentence, const std::string& step, const std::string& options) {
  const bool is_cudnns = sentence.layer == Layer::cudnn_engine || sentence.layer == Layer::cudnn_heuristics;
  if (is_cudnns && !options.empty() && step.find("attnprobe probe") == std::string::npos)
    return fmt::format("attnprobe probe{} with the rest of the call's shape", options);
  return with_target(with_options(step, options), options);
}

}  // namespace attnprobe::diagnose
