#include "diagnose/sentences.hpp"

#include "base/embedded.hpp"
#include "base/json_reader.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_sentences;
}

namespace attnprobe::diagnose {
namespace {

Sentence read_sentence(const JsonView& place) {
  JsonObject entry(place);
  Sentence sentence;
  sentence.id = entry.take("id").text();
  sentence.layer = entry.take("layer").one_of<Layer>();
  sentence.who = entry.take("who").text();
  sentence.match = entry.take("match").texts();
  sentence.means = entry.take("means").text();
  sentence.causes = entry.take("causes").texts();
  sentence.next = entry.take("next").text();
  const JsonView versions = entry.take("versions");
  if (versions.json().is_array())
    sentence.versions = versions.texts();
  else
    sentence.versions = {versions.text()};
  if (sentence.versions.size() != 1 && sentence.versions.size() != sentence.match.size())
    versions.fail(fmt::format("{} versions for {} matches; allowed: one text, or one for each match",
                              sentence.versions.size(), sentence.match.size()));
  sentence.source = entry.take("source").text();
  if (const auto headline = entry.find("headline")) sentence.headline = headline->text();
  if (const auto kind = entry.find("kind")) sentence.kind = kind->one_of<SentenceKind>();
  entry.finish();
  return sentence;
}

}  // namespace

const std::vector<Sentence>& sentences() {
  static const std::vector<Sentence> all = [] {
    std::vector<Sentence> read;
    for (const EmbeddedFile& file : embedded_sentences) {
      const JsonSource source{.name = std::string(file.name), .kind = ErrorKind::internal};
      const Json json = parse_json(file.text, source);
      for (const JsonView& entry : JsonView(json, source).at("sentences").elements())
        read.push_back(read_sentence(entry));
    }
    return read;
  }();
  return all;
}

}  // namespace attnprobe::diagnose
