// What a text tells: the graphs of a cuDNN log, and the sentences by which somebody refused.
#pragma once

#include "diagnose/refusal.hpp"
#include "replay/replay.hpp"

namespace attnprobe::report {

struct Explained {
  replay::Replay replay;
  diagnose::TextAnswer answer;
};

/// `name`: how messages call the text, "train.log", "-" for standard input; `called`: how the one does that says that
/// nothing in it is known. Throws that one as Error(usage), and what reading the text throws.
Explained explain(const std::string& name, const std::string& called, const replay::GiveText& give);

/// Whether graphs of a log of cuDNN's were rebuilt: they say more of its reasons than the reasons alone.
bool shows_graphs(const replay::Replay& replay);

}  // namespace attnprobe::report
