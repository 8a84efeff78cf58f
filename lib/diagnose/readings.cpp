#include "diagnose/readings.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/embedded.hpp"
#include "base/json_reader.hpp"
#include "diagnose/search_options.hpp"
#include "rules/framework_gates.hpp"

namespace attnprobe {
extern const EmbeddedFiles embedded_readings;
}

namespace attnprobe::diagnose {
namespace {

Words words_at(const JsonView& place) {
  auto words = std::make_shared<const RE2>(place.text(), any_case());
  if (!words->ok()) place.fail(fmt::format("not a regular expression of RE2: {}", words->error()));
  return words;
}

NamedAttention read_program(const JsonView& place) {
  JsonObject entry(place);
  NamedAttention program;
  program.name = entry.take("name").text();
  program.words = words_at(entry.take("words"));
  if (const auto apart = entry.find("apart")) program.apart = apart->boolean();
  if (const auto chooses = entry.find("chooses")) program.chooses = chooses->boolean();
  program.instead = entry.take("instead").text();
  if (const auto limits = entry.find("limits")) program.limits = limits->text();
  if (const auto serves = entry.find("serves")) program.serves = serves->boolean();
  entry.finish();
  return program;
}

Matter read_matter(const JsonView& place) {
  JsonObject entry(place);
  Matter matter;
  matter.id = entry.take("id").text();
  matter.words = words_at(entry.take("words"));
  matter.what = entry.take("what").text();
  matter.step = entry.take("do").text();
  if (const auto in_server = entry.find("in_server")) matter.in_server = in_server->text();
  if (const auto in_names = entry.find("in_names")) matter.in_names = in_names->boolean();
  entry.finish();
  return matter;
}

OtherFailure read_other(const JsonView& place) {
  JsonObject entry(place);
  const auto words_of = [&](const char* key) {
    const auto found = entry.find(key);
    return found && !found->text().empty() ? words_at(*found) : Words();
  };
  OtherFailure other;
  other.id = entry.take("id").text();
  other.words = words_of("words");
  other.near = words_of("near");
  other.unless = words_of("unless");
  other.source_line = words_of("line");
  if (const auto last = entry.find("last")) other.only_last = last->boolean();
  other.what = entry.take("what").text();
  other.step = entry.take("do").text();
  entry.finish();
  return other;
}

Symptom read_symptom(const JsonView& place) {
  JsonObject entry(place);
  Symptom symptom;
  symptom.id = entry.take("id").text();
  for (const JsonView& words : entry.take("all").elements()) symptom.all.push_back(words_at(words));
  symptom.within = static_cast<size_t>(entry.take("within").integer());
  if (const JsonView unless = entry.take("unless"); !unless.text().empty()) symptom.unless = words_at(unless);
  if (const auto question = entry.find("question")) symptom.is_question = question->boolean();
  if (const auto weight = entry.find("weight")) symptom.weight = weight->integer(1);
  for (const JsonView& effect : entry.take("effects").elements())
    symptom.effects.push_back(effect.one_of<rules::Seen>());
  symptom.headline = entry.take("headline").text();
  symptom.means = entry.take("means").text();
  for (const JsonView& cause : entry.take("causes").elements()) {
    if (cause.json().is_string()) {
      symptom.causes.push_back({cause.text(), nullptr, nullptr});
      continue;
    }
    JsonObject conditional(cause);
    Symptom::Cause& added = symptom.causes.emplace_back();
    added.text = conditional.take("text").text();
    if (const auto when = conditional.find("if")) added.when = words_at(*when);
    if (const auto only = conditional.find("only")) added.only = words_at(*only);
    conditional.finish();
  }
  symptom.next = entry.take("next").text();
  symptom.also = entry.take("also").text();
  entry.finish();
  return symptom;
}

Readings read_all() {
  const JsonSource source{.name = "readings.json", .kind = ErrorKind::internal};
  const Json json = parse_json(embedded_readings.front().text, source);
  JsonObject document(JsonView(json, source));
  Readings read;
  document.take("comment");
  read.asks_cudnn = words_at(document.take("asks_cudnn"));
  for (const JsonView& entry : document.take("programs").elements()) read.programs.push_back(read_program(entry));
  for (const JsonView& entry : document.take("matters").elements()) read.matters.push_back(read_matter(entry));
  for (const JsonView& entry : document.take("symptoms").elements()) read.symptoms.push_back(read_symptom(entry));
  for (const JsonView& entry : document.take("others").elements()) read.others.push_back(read_other(entry));
  for (const JsonView& place : document.take("settings").elements()) {
    JsonObject entry(place);
    read.settings.push_back({words_at(entry.take("words")), entry.take("does").text()});
    entry.finish();
  }
  for (const JsonView& place : document.take("releases").elements()) {
    JsonObject entry(place);
    ReleasedLibrary& library = read.releases.emplace_back();
    library.name = entry.take("name").text();
    library.words = words_at(entry.take("words"));
    if (const auto newest = entry.find("newest")) library.newest = newest->text();
    if (const auto gate = entry.find("gate"))
      for (const auto& known : rules::framework_gates())
        if (known.framework == gate->text() && !known.releases.empty()) library.newest = known.releases.back().version;
    if (library.newest.empty()) place.fail("neither \"newest\" nor a \"gate\" with releases");
    entry.finish();
  }
  for (const JsonView& place : document.take("kernels").elements()) {
    JsonObject entry(place);
    KernelOfGpus& kernel = read.kernels.emplace_back();
    kernel.name = entry.take("name").text();
    kernel.words = words_at(entry.take("words"));
    kernel.least = static_cast<int>(entry.take("least").integer());
    kernel.most = static_cast<int>(entry.take("most").integer());
    kernel.runs_on = entry.take("runs_on").text();
    entry.finish();
  }
  for (const auto& [way, programs] : document.take("ways").members())
    for (const auto& [program, how] : programs.members()) read.ways[way][program] = how.text();
  for (const auto& [key, words] : document.take("features").members()) read.features[key] = words_at(words);
  document.finish();
  return read;
}

}  // namespace

const Readings& readings() {
  static const Readings all = read_all();
  return all;
}

std::string with_ways(std::string text, const TextFacts& facts) {
  const std::string options = probe_options(facts);
  const std::string probe = options.empty() ? "attnprobe with the shape" : "attnprobe" + options;
  const std::string mark_of_probe = "{probe}";
  for (size_t at; (at = text.find(mark_of_probe)) != std::string::npos;) text.replace(at, mark_of_probe.size(), probe);
  for (const auto& [way, ways] : readings().ways) {
    const std::string mark = "{" + way + "}";
    const std::string* how = &ways.at("");
    for (const auto& program : facts.programs)
      if (const auto known = ways.find(program); known != ways.end()) {
        how = &known->second;
        break;
      }
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), *how);
  }
  return text;
}

}  // namespace attnprobe::diagnose
