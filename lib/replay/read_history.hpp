// Reads files without recognising their graphs. Not installed.
#pragma once

#include <string>
#include <vector>

#include "importers/import.hpp"
#include "replay/log_history.hpp"
#include "replay/replay.hpp"

namespace attnprobe::replay {

/// A graph without a log entry.
LoggedGraph graph_without_log(importers::ImportedGraph imported, CudnnVersion cudnn_version);

/// Reads a log or a JSON document, detected from its content. `problem` as in read_input(). Throws Error(usage) for a
/// broken document.
LogHistory read_history(const std::string& name, const GiveText& give, std::string* problem);

/// The named files, and the logs in named folders, by name. Throws Error(usage) for a missing file and for a folder
/// without logs.
std::vector<std::string> logs_in(const std::vector<std::string>& files);

/// Merges several files. An unreadable one is a problem of the history; throws Error(usage) if all are unreadable.
LogHistory read_merged(const std::vector<std::string>& files);

}  // namespace attnprobe::replay
