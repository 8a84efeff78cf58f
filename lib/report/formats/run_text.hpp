// The findings of running plans, as text.
#pragma once

#include <string>

#include "report/formats/report.hpp"

namespace attnprobe::report {

/// "ok, error 3.1e-04", "WRONG_RESULT", "crashed", "-"; with "nondeterministic" if two runs differed.
std::string run_cell(const probe::EngineConfigFindings& config);

/// "0.0831 ms 1%  412 TFLOP/s 42%", "-".
std::string time_cell(const probe::EngineConfigFindings& config);

/// The problem of the run, or "".
std::string run_problem(const probe::EngineConfigFindings& config);

/// "fastest 0.0831 ms, engine 2 KERNEL_CFG=7, 412 TFLOP/s (42 % of peak); the first choice is 3 % slower"; "" without
/// times.
std::string fastest_summary(const answer::Answer& result);

/// Facts that a reader needs to judge the results. They are advice, plans with wrong results although others are right,
/// and engine configs whose results vary without a note. One paragraph each; "" if there is nothing.
std::string run_notes(const answer::Answer& result, const TextStyle& style);

/// The kernels of built plans, one paragraph each, with the names that profilers show: registers, threads, memory, and
/// after a run also grid and time. Covers only the first plan that works, or all with `style.details`. "" if no kernel
/// is known.
std::string kernel_notes(const answer::Answer& result, const TextStyle& style);

/// A kernel's name as in profilers, identity, registers, stack, threads and code.
std::string plan_kernel_text(const probe::PlanKernel& kernel);

/// "engine 2 KERNEL_CFG=7".
std::string engine_config_name(const probe::EngineConfigFindings& config);

}  // namespace attnprobe::report
