#include "log_messages.hpp"

#include <sstream>

namespace attnprobe::test {

std::vector<importers::LogCall> log_messages(const std::string& text) {
  std::vector<importers::LogCall> messages;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t function = line.find(") function "), end = line.find("() called:");
    if (line.rfind("I! CuDNN", 0) == 0 && function != std::string::npos && end != std::string::npos) {
      const size_t begin = function + std::string(") function ").size();
      messages.push_back({line.substr(begin, end - begin), "", {}});
      continue;
    }
    constexpr size_t marker = 3;
    if (messages.empty() || line.rfind("i! ", 0) != 0) continue;
    messages.back().lines.push_back(line.substr(marker));
    const size_t thread = line.find("Thread=");
    if (line.find("i! Process=") == 0 && thread != std::string::npos)
      messages.back().thread = line.substr(thread, line.find(';', thread) - thread);
  }
  return messages;
}

std::vector<importers::ImportedGraph> logged_graphs(const std::vector<importers::LogCall>& messages) {
  std::vector<importers::ImportedGraph> graphs;
  importers::LogGraphReader reader;
  for (const auto& message : messages)
    if (auto found = reader.read(message); found && !importers::is_score_graph(found->graph))
      graphs.push_back(std::move(*found));
  return graphs;
}

}  // namespace attnprobe::test
