#include "replay/text_of_others.hpp"

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "log/log_entries.hpp"
#include "replay/logged_graph.hpp"

namespace attnprobe::replay {
namespace {

constexpr size_t most_reasons = 20'000, most_document = size_t{1} << 20;

}  // namespace

// A document over several lines begins and ends with a bracket that is not indented.
void TextOfOthers::take_document(std::string_view line, int64_t number) {
  if (line.starts_with('{') && trim(line) == "{") {
    document_.clear();
    document_line_ = number;
  }
  if (document_line_ == 0) return;
  document_ += line;
  document_ += '\n';
  if (document_.size() < most_document && !line.starts_with('}')) return;
  const std::string_view text = log::json_object_at_start(document_);
  if (!text.empty() && text.find("\"context\"") != std::string_view::npos &&
      text.find("\"nodes\"") != std::string_view::npos && graphs_.insert(text_key(text)).second)
    history_.frontend.push_back({std::string(text), document_line_});
  document_line_ = 0;
}

void TextOfOthers::take(std::string_view line, int64_t number) {
  take_document(line, number);
  const std::string_view words = trim(line);
  if (words.empty()) return;
  constexpr std::string_view frontend_graph = "{\"context\":";
  if (const size_t at = words.find(frontend_graph); at != std::string_view::npos) {
    const std::string_view text = log::json_object_at_start(words.substr(at));
    if (text.empty())
      note_problem(history_, number, "the JSON of cudnn-frontend is cut off or broken");
    else if (graphs_.insert(text_key(text)).second)
      history_.frontend.push_back({std::string(text), number});
    return;
  }
  for (const std::string_view sign : {"engineConfig: type=json", "Warning: CUDNN_", "Error: CUDNN_", "=== error stack"})
    if (words.find(sign) != std::string_view::npos && reasons_.size() < most_reasons) {
      reasons_.emplace_back(words.substr(words.find(sign)));
      return;
    }
  for (const std::string_view sign : {"No valid engine configs", "No execution plans support the graph",
                                      "No valid execution plan", "No viable engine configs", "CUDNN_STATUS_",
                                      "CUDNN_BACKEND_API_FAILED", "cuDNN Frontend error", "[cudnn_frontend] ERROR"})
    if (words.find(sign) != std::string_view::npos && history_.exceptions.size() < most_problems) {
      history_.exceptions.emplace_back(words);
      return;
    }
}

}  // namespace attnprobe::replay
