// What running plans found, as text.
#pragma once

#include <string>

#include "report/formats/report.hpp"

namespace attnprobe::report {

/// "ok, error 3.1e-04", "WRONG_RESULT", "crashed", "-"; with "nondeterministic" where two runs differed.
std::string run_cell(const probe::EngineConfigFindings& config);

/// "0.0831 ms 1%  412 TFLOP/s 42%", "-".
std::string time_cell(const probe::EngineConfigFindings& config);

/// What went wrong with the run, or "".
std::string run_problem(const probe::EngineConfigFindings& config);

/// "fastest 0.0831 ms, engine 2 KERNEL_CFG=7, 412 TFLOP/s (42 % of
/// peak); the first choice is 3 % slower", "" where nothing was timed.
std::string fastest_summary(const answer::Answer& result);

/// Everything about the figures that a reader must know: advice, plans that ran wrong though others are right, engine
/// configs that differ from run to run without a note. One paragraph each; "" if there is nothing.
std::string run_notes(const answer::Answer& result, const TextStyle& style);

/// The kernels of the plans that were built, a paragraph each, as profilers name them: registers, threads, memory; and
/// where they ran, grid and time. Of the first plan that works, or with `style.details` of all. "" where none is known.
std::string kernel_notes(const answer::Answer& result, const TextStyle& style);

/// "engine 2 KERNEL_CFG=7".
std::string engine_config_name(const probe::EngineConfigFindings& config);

}  // namespace attnprobe::report
