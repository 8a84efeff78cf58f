// Any text for `explain`: answered by rule, as text and as JSON.
#include "base/text.hpp"
#include "bounded.hpp"
#include "explain/explain_text.hpp"

using namespace attnprobe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::bounded([&] {
    const auto explained = explain::explain(
        "fuzz", "fuzz", [&](const auto& take, std::string*) { take(fuzz::text_of(data, size)); }, {false, ""});
    explain::explain_text(explained, {});
    json_text(explain::explain_json(explained));
  });
  return 0;
}
