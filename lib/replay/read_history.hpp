// What files show, before any of it is recognised. Not installed.
#pragma once

#include <string>
#include <vector>

#include "importers/import.hpp"
#include "replay/log_history.hpp"
#include "replay/replay.hpp"

namespace attnprobe::replay {

/// A graph that no entry of a log belongs to.
LoggedGraph graph_without_log(importers::ImportedGraph imported, CudnnVersion cudnn_version);

/// Of a text that is a log or one JSON document, which is seen. `problem` as read_input() has it. Throws Error(usage)
/// for a document that is broken.
LogHistory read_history(const std::string& name, const GiveText& give, std::string* problem);

/// The files that are named, and the logs of the folders that are, in the order of their names. Throws Error(usage) for
/// a name that is not there and for a folder without logs.
std::vector<std::string> logs_in(const std::vector<std::string>& files);

/// Of several files. One that cannot be read is a problem of the history; throws Error(usage) where that is all of them.
LogHistory read_merged(const std::vector<std::string>& files);

}  // namespace attnprobe::replay
