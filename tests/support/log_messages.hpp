// cuDNN's log files, for tests.
#pragma once

#include <string>
#include <vector>

#include "importers/import.hpp"

namespace attnprobe::test {

/// The messages of a log file's text, in order.
std::vector<importers::LogCall> log_messages(const std::string& text);

/// The graphs that a LogGraphReader finds, without those inside unified SDPA operations.
std::vector<importers::ImportedGraph> logged_graphs(const std::vector<importers::LogCall>& messages);

}  // namespace attnprobe::test
