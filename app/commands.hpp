// The subcommands: each adds itself to the command line and sets `run` if the user typed it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace attnprobe::app {

using Run = std::function<int()>;

void add_probe(CLI::App& app, Run& run);
void add_replay(CLI::App& app, Run& run);
void add_explain(CLI::App& app, Run& run);
void add_matrix(CLI::App& app, Run& run);
void add_merge(CLI::App& app, Run& run);
void add_diff(CLI::App& app, Run& run);
void add_site(CLI::App& app, Run& run);
void add_cache(CLI::App& app, Run& run);
void add_audit(CLI::App& app, Run& run);
void add_limits(CLI::App& app, Run& run);
void add_suggest(CLI::App& app, Run& run);
void add_plans(CLI::App& app, Run& run);
void add_reduce(CLI::App& app, Run& run);
void add_tune(CLI::App& app, Run& run);
void add_bugs(CLI::App& app, Run& run);
/// `program`: the words after "--".
void add_trace(CLI::App& app, Run& run, const std::vector<std::string>& program);
void add_targets(CLI::App& app, Run& run);
void add_selftest(CLI::App& app, Run& run);
void add_doctor(CLI::App& app, Run& run);
void add_schema(CLI::App& app, Run& run);
void add_serve(CLI::App& app, Run& run);
void add_cudnn(CLI::App& app, Run& run);
/// For developers of attnprobe and cuDNN.
void add_dev(CLI::App& app, Run& run);

/// Whether `descriptor` (1, 2) is a terminal with colours; NO_COLOR and TERM=dumb disable them.
bool wants_colour(int descriptor);

}  // namespace attnprobe::app
