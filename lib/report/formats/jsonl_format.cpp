// One result per line, for programs that read while results arrive.
#include "base/text.hpp"
#include "report/formats/format.hpp"

namespace attnprobe::report {
namespace {

std::string lines(const Document& document) {
  std::string text;
  for (const auto* result : document.results()) text += json_text(to_json(*result)) + "\n";
  return text;
}

}  // namespace

extern const Format jsonl_format;
const Format jsonl_format{"jsonl", "one JSON result per line", "", lines};

}  // namespace attnprobe::report
