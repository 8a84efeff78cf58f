// cuDNN's log files, for tests.
#pragma once

#include <string>
#include <vector>

#include "attnprobe/graph/import.hpp"

namespace attnprobe::test {

/// The messages of a log file's text, in order.
std::vector<graph::LogCall> log_messages(const std::string& text);

/// The graphs that a LogGraphReader finds, without those inside single SDPA operations.
std::vector<graph::ImportedGraph> logged_graphs(const std::vector<graph::LogCall>& messages);

}  // namespace attnprobe::test
