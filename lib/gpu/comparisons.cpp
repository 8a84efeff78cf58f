#include "gpu/comparisons.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/number.hpp"
#include "gpu/catalogue.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_comparisons;
}

namespace attnprobe::gpu {
namespace {

constexpr const char* comparisons_file = "lib/gpu/comparisons.json";

void add_word(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

}  // namespace

std::vector<Comparison> parse_comparisons(std::string_view text) {
  const JsonSource source{.name = comparisons_file, .kind = ErrorKind::internal};
  const Json json = parse_json(text, source, {.comments = false});
  JsonObject file(JsonView(json, source));
  file.take("comment").text();
  std::vector<Comparison> found;
  for (const JsonView& element : file.take("comparisons").elements()) {
    JsonObject entry(element);
    Comparison comparison;
    const JsonView gpu = entry.take("gpu"), cudnn = entry.take("cudnn");
    comparison.gpu = gpu.text();
    const Target* known = find(comparison.gpu);
    if (known == nullptr || known->id != comparison.gpu)
      gpu.fail(fmt::format("\"{}\" is not an id of the catalogue", comparison.gpu));
    comparison.sm = known->sm;
    const auto version = CudnnVersion::parse(cudnn.text());
    if (!version) cudnn.fail(fmt::format("\"{}\" is not a version of cuDNN", cudnn.text()));
    comparison.cudnn = *version;
    comparison.configs = entry.take("configs").integer();
    comparison.engine_configs = entry.take("engine_configs").integer();
    comparison.different = entry.take("different").integer();
    comparison.source = entry.take("source").text();
    entry.finish();
    found.push_back(std::move(comparison));
  }
  file.finish();
  return found;
}

const std::vector<Comparison>& comparisons() {
  static const auto all = parse_comparisons(embedded_comparisons.front().text);
  return all;
}

std::string compared_text(const Target& target) {
  const Target* known = twin(target);
  std::vector<std::string> versions, others;
  int64_t configs = 0, different = 0;
  for (const Comparison& comparison : comparisons()) {
    if (known != nullptr && comparison.gpu == known->id) {
      add_word(versions, comparison.cudnn.text());
      configs += comparison.configs;
      different += comparison.different;
    } else if (comparison.sm == target.sm) {
      add_word(others, comparison.gpu);
    }
  }
  if (configs > 0)
    return fmt::format("compared with a real {} ({} configs with cuDNN {}: {})", known->id, with_commas(configs),
                       fmt::join(versions, ", "),
                       different == 0 ? "no difference" : with_commas(different) + " different");
  if (!others.empty())
    return fmt::format("never compared with a real one (sm_{} was: {})", target.sm, fmt::join(others, ", "));
  return "never compared with a real one";
}

}  // namespace attnprobe::gpu
