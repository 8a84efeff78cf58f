#include "emit.hpp"

#include <fmt/format.h>

#include "ask/reproduce.hpp"
#include "build/build.hpp"
#include "emit/emit.hpp"
#include "exit_code.hpp"
#include "option_checks.hpp"

namespace attnprobe::app {
namespace {

const answer::Question& only_question(const std::vector<answer::Question>& questions) {
  if (questions.size() == 1) return questions.front();
  throw Error(
      ErrorKind::usage,
      fmt::format("--emit: {} questions, but it writes one program; allowed: one config, or one graph (--graph)",
                  questions.size()));
}

// If no GPU is named, any GPU of this machine will do.
gpu::Target only_target(const AskOptions& options, const std::string& otherwise) {
  const auto targets = choose_targets(options, otherwise);
  if (targets.size() == 1 || options.target.empty()) return targets.front();
  throw Error(ErrorKind::usage,
              fmt::format("--target {}: these are {} GPUs; allowed: one", options.target, targets.size()));
}

const attention::AttentionSpec& spec_of(const answer::Question& question, const std::string& form) {
  if (question.has_spec()) return question.config.spec;
  throw Error(ErrorKind::usage,
              fmt::format("--emit {}: this graph cannot be expressed as a config; allowed: cpp", form));
}

std::string program_text(emit::Form form, const AskOptions& options, const answer::Question& question,
                         const std::string& otherwise) {
  const auto& spec = question.config.spec;
  emit::Question asked;
  asked.name = spec.name;
  asked.description = question.given ? question.given->description : describe(spec);
  asked.cudnn_version = version_for_graphs(options);
  if (form == emit::Form::torch) return torch_program(asked, spec_of(question, "torch"));
  const gpu::Target target = only_target(options, otherwise);
  asked.command =
      asking::reproduce_command(asking::question_command(question, options.how), target, asked.cudnn_version.text());
  if (form == emit::Form::python_frontend)
    return python_frontend_program(asked, spec_of(question, "python-frontend"), target);
  if (question.given) return cpp_program(asked, question.given->graph, target);
  return cpp_program(asked, build::build_graph(spec, {asked.cudnn_version, target.sm}).graph, target);
}

}  // namespace

void add_emit_option(CLI::App& command, std::string& form) {
  command
      .add_option(
          "--emit", form,
          "write a standalone program that asks cuDNN the same question, for a bug report: cpp (cuDNN's backend API), "
          "python-frontend (cudnn-frontend), torch")
      ->transform(one_of(names_of<emit::Form>()))
      ->group("Output");
}

int emit_program(const std::string& form, const AskOptions& options, const std::vector<answer::Question>& questions,
                 const std::string& otherwise) {
  write_data(options.output,
             program_text(parse_enum<emit::Form>(form).value(), options, only_question(questions), otherwise));
  return all_met;
}

}  // namespace attnprobe::app
