#include "diagnose/text_reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "diagnose/error_lines.hpp"
#include "diagnose/named_programs.hpp"
#include "diagnose/old_releases.hpp"
#include "diagnose/own_words.hpp"
#include "diagnose/search_options.hpp"
#include "diagnose/stated.hpp"
#include "diagnose/symptoms.hpp"

namespace attnprobe::diagnose {
namespace {

// The title, and the lines that speak of trouble, without addresses and options.
std::string complaint_of(std::string_view text, const RE2& trouble) {
  static const RE2 addresses("https?://\\S+");
  std::string complaint;
  for (const Line& line : lines_of(text))
    if (line.number == 1 ||
        (has_words(line.text, trouble) && form_of(line.text) == Form::none && !is_source(line.text)))
      complaint += std::string(line.text) + "\n";
  RE2::GlobalReplace(&complaint, addresses, " ");
  return without_values(std::move(complaint));
}

// Where no line is an error and nobody complains of what is known: whose attention the text is about, and what of it.
std::optional<Refusal> read_subject(std::string_view text, const TextFacts& facts) {
  constexpr size_t most_matters = 3;
  // A line of a program or of a log is no question.
  constexpr size_t shortest_question = 60;
  static const RE2 trouble(
      "\\berrors?\\b|Error\\b|\\bfail|problem|\\bissue|wrong|crash|slow|(?:not|n't) work|cannot|can ?not|can't|unable|unsupported|assert|"
      "exception|\\?|？|吗|么|报错|leads? to|instead of|should|silently|strange|unexpected|weird|regression|differ",
      any_case());
  static const NamedAttention nobody{"an attention", nullptr, false, false, "", ""};
  if (text.size() < shortest_question || !has_words(text, attention_words()) || !has_prose(text)) return std::nullopt;
  const NamedAttention* named = program_in(text);
  const NamedAttention* program = named != nullptr ? named : &nobody;
  const NamedAttention* host = host_in(text);
  Refusal refusal;
  refusal.kind = SentenceKind::reading;
  refusal.id = "subject";
  refusal.who = program->name;
  refusal.headline =
      fmt::format("About {}: no line that is known, and none that refuses in a form that is read", program->name);
  const std::string_view title = trim(text.substr(0, text.find('\n')));
  refusal.said = refusal.line = std::string(title.substr(0, longest_line_shown));
  refusal.first_line = 1;
  refusal.times = 1;
  refusal.means = program->limits.empty() ? fmt::format("The text is about {}.", program->name)
                                          : fmt::format("The text is about {}. {}", program->name, program->limits);
  if (program->apart) refusal.means += " cuDNN has no part in it.";
  for (const OldRelease& old : old_releases(text)) refusal.causes.push_back(old.text());
  const std::string complaint = prose_of(complaint_of(text, trouble));
  for (const Matter& matter : readings().matters)
    if (has_words(complaint, *matter.words) && refusal.causes.size() < most_matters)
      refusal.causes.push_back(
          fmt::format("it speaks of {}: {}", matter.what,
                      host != nullptr && host->serves && !matter.in_server.empty() ? matter.in_server : matter.step));
  const std::string around = way_around(named, host);
  const bool asks_cudnn = !program->apart && !program->serves && (host == nullptr || !host->serves) &&
                          probe_options(facts).find_first_of("0123456789") != std::string::npos;
  refusal.next = with_ways(asks_cudnn ? "{probe}" : around.empty() ? "{see}" : around, facts);
  if (asks_cudnn) refusal.help = around;
  refusal.source = by_rule;
  return refusal;
}

}  // namespace

std::vector<Refusal> read_words(std::string_view text, const TextFacts& facts) {
  std::vector<Refusal> read;
  const std::vector<Line> lines = lines_of(text);
  const auto error = most_telling_error(text, lines);
  const std::vector<Told> told = most_told(text);
  read.reserve(told.size() + 1);
  for (const Told& one : told) read.push_back(refusal_of(*one.symptom, text, one.at, facts));
  if (!error && read.empty())
    if (auto subject = read_subject(text, facts)) read.push_back(std::move(*subject));
  if (!error) return read;
  // An exception says more than who tells of it; a demand in passing says less.
  const bool is_asked = !told.empty() && told.front().symptom->is_question;
  const bool leads = (!error->matters.empty() || is_asked) && error->form >= Form::failure;
  read.insert(leads ? read.begin() : read.end(), refusal_of(*error, facts));
  return read;
}

std::optional<Refusal> read_exception(std::string_view text, const TextFacts& facts) {
  const std::vector<Line> lines = lines_of(text);
  const auto error = most_telling_error(text, lines);
  if (!error || error->form != Form::exception || error->matters.empty() ||
      !has_words(error->message, attention_words()))
    return std::nullopt;
  return refusal_of(*error, facts);
}

std::vector<const Symptom*> symptoms_in(std::string_view text) {
  std::vector<const Symptom*> symptoms;
  for (const Told& told : most_told(text)) symptoms.push_back(told.symptom);
  return symptoms;
}

}  // namespace attnprobe::diagnose
