#include "diagnose/error_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "diagnose/named_programs.hpp"
#include "diagnose/search_options.hpp"
#include "diagnose/stated.hpp"

namespace attnprobe::diagnose {
namespace {

constexpr size_t longest_message = 2000;
// In so short a text one word of attention is enough for all of it.
constexpr size_t short_text = 14;
constexpr size_t most_lines_of_one = 80;  // programs' lines meet in a longer text

bool is_frame(std::string_view line) {
  static const RE2 frame("^(?:File \"|Traceback|During handling|The above exception|at 0x|frame #|#\\d+ )|^\\^+$",
                         exact_case());
  return has_words(trim(line), frame);
}

// The error's line and those that go on with it: up to a blank line, a frame or another error.
std::string message_at(const std::vector<Line>& lines, size_t at) {
  std::string message(lines[at].text);
  for (size_t i = at + 1; i < lines.size() && message.size() < longest_message; ++i) {
    const std::string_view next = trim(lines[i].text);
    if (next.empty() || is_frame(next) || form_of(next) == Form::exception) break;
    message += "\n" + std::string(next);
  }
  return message.substr(0, longest_message);
}

// Of an error's lines the first, and those that demand something: not dumps of arguments.
std::string demanding_lines(const std::string& message) {
  std::string said;
  for (const Line& line : lines_of(message))
    if (line.number == 1 || form_of(line.text) != Form::none || line.text.find("upported") != std::string_view::npos ||
        line.text.find("Required: ") != std::string_view::npos)
      said += std::string(line.text) + "\n";
  return said;
}

const RE2& backend_words() {
  static const RE2 words("backend|attn_implementation|attention implementation|kernel module|versions? (?:are|is)",
                         any_case());
  return words;
}

const NamedAttention* raised_by(const std::vector<Line>& lines, size_t at) {
  for (size_t i = at; i-- > 0;) {
    const std::string_view line = trim(lines[i].text);
    if (line.starts_with("Traceback")) break;
    if (line.starts_with("File \"")) return program_in(line.substr(0, line.find("\", line")));
  }
  return nullptr;
}

std::optional<ErrorLine> read_error(std::string_view text, const std::vector<Line>& lines, size_t at) {
  ErrorLine error;
  error.form = form_of(lines[at].text);
  if (error.form == Form::none || is_frame(lines[at].text)) return std::nullopt;
  // What is demanded in passing is that line's alone.
  error.message = error.form == Form::demand ? std::string(lines[at].text) : message_at(lines, at);
  const std::string_view frames = frames_above(lines, at);
  const bool named = has_words(error.message, attention_words());
  const bool near = error.form >= Form::failure && has_words(frames, attention_words());
  const size_t reach = error.form >= Form::failure ? most_lines_of_one : short_text;
  const bool whole = lines.size() <= reach && has_words(text, attention_words());
  // "Please specify … as environment variable": whose attention it is about the rest of the text says.
  error.orders = error.form >= Form::warning && lines.size() <= most_lines_of_one &&
                 has_words(text, attention_words()) && orders_something(error.message);
  if (!named && !near && !whole && !error.orders) return std::nullopt;
  error.line = lines[at].number;
  error.shown = std::string(lines[at].text.substr(0, longest_line_shown));
  // "Failed to import … because of the following error (look up to see its traceback):" says it in its last line.
  static const RE2 leads_on("because of the following error|the following errors?\\b.{0,40}: ?$", any_case());
  if (has_words(lines[at].text, leads_on))
    if (const size_t last = error.message.rfind('\n'); last != std::string::npos && last + 1 < error.message.size()) {
      error.shown = error.message.substr(last + 1, longest_line_shown);
      error.message = error.shown;
    }
  error.program = program_in(without_values(error.message.substr(0, error.message.find('\n'))));
  if (error.program == nullptr) error.program = program_in(without_values(error.message));
  // Whose attention is refused does not say who refuses: a server, a trainer or a library of models chooses among them.
  if (error.form >= Form::failure && has_words(error.message, backend_words()))
    if (const NamedAttention* host = host_in(text)) error.program = host;
  const bool in_message = error.program != nullptr;
  if (error.program == nullptr && near) error.program = program_in(frames);
  if (error.program == nullptr && (whole || (error.form >= Form::failure && lines.size() <= most_lines_of_one)))
    error.program = program_in(text);
  if (error.form == Form::exception) error.raised_by = raised_by(lines, at);
  const std::string said = demanding_lines(error.message);
  const std::string prose = prose_of(said);
  for (const Matter& matter : readings().matters)
    if (has_words(matter.in_names ? said : prose, *matter.words)) error.matters.push_back(&matter);
  // The line itself tells more than those that go on with it.
  std::stable_partition(error.matters.begin(), error.matters.end(),
                        [&](const Matter* matter) { return has_words(lines[at].text, *matter->words); });
  // The library that does not fit is the one that the loader names.
  if (!error.matters.empty() && error.matters.front()->in_names)
    for (const Line& line : lines_of(error.message))
      if (has_words(line.text, *error.matters.front()->words))
        if (const NamedAttention* named_there = program_in(line.text)) error.program = error.raised_by = named_there;
  error.score = 4 * static_cast<int64_t>(error.form) + (error.orders ? 4 : 0) + (in_message ? 2 : 0) + (named ? 3 : 0) +
                (error.matters.empty() ? -4 : 4) - (near || named ? 0 : 2);
  return error;
}

std::string step_of(const Matter& matter, const NamedAttention* host) {
  return host != nullptr && host->serves && !matter.in_server.empty() ? matter.in_server : matter.step;
}

constexpr const char* before_ampere =
    "{unfused}: fused attentions have kernels from Ampere (sm_80) on, and no build changes that for an older GPU";

bool is_before_ampere(const Matter& matter, const TextFacts& facts) {
  constexpr int ampere = 80;
  const auto sms = facts.all_sms();
  return matter.id == "gpu" && !sms.empty() && std::all_of(sms.begin(), sms.end(), [](int sm) { return sm < ampere; });
}

}  // namespace

bool is_source(std::string_view line) {
  static const RE2 source(
      "^(?:[+-] |[+-]\\s*(?:if|raise|return|def|self)\\b|\\s*raise \\w|\\s*(?:def|if|elif|return|assert) .*:?$)|"
      "\\b(?:logging|logger|warnings|log)\\.\\w+\\(|\\bTORCH_(?:WARN|CHECK)\\w*\\(|std::cout",
      exact_case());
  return has_words(line, source);
}

Form form_of(std::string_view line) {
  // "… kernel not used because:" is the head of what follows.
  static const RE2 head("\\b(?:because|reasons?)[: ]*(?:\\(Triggered.*)?$", any_case());
  if (is_source(line) || has_words(line, head)) return Form::none;
  static const RE2 exception(
      "(?:^|[\\s:(\\[])(?:[A-Za-z_]\\w*\\.)*(?:[A-Z]\\w*(?:Error|Exception|Failure|Failed)|OutOfResources)(?:\\]?: ?\\S|\\(['\"]\\w)|^!!! Exception",
      exact_case());
  static const RE2 warning("(?:^|[\\s:(\\[])(?:[A-Za-z_]\\w*\\.)*[A-Z]?\\w*[Ww]arning\\]?: ?\\S|\\bWARN(?:ING)?\\b",
                           exact_case());
  static const RE2 failure(
      "^(?:\\S+ ){0,3}(?:error|fatal|assertion failed|failed)\\b[^:]{0,80}: ?\\S|^(?:\\S+ ){0,3}(?:failure|assertion): ?\\S|"
      "^no operator found for|^error occurred|"
      "^error running|terminate called|"
      "what\\(\\): |\\bAssertion .{1,300}failed\\b",
      any_case());
  static const RE2 demand(
      "(?:is|are|was) (?:not|only) (?:yet |currently |being )?(?:supported|implemented|available|compatible|enabled)|"
      "(?:does|do|did) ?(?:not|n't) (?:yet |currently )?(?:support|work|have)|only supports?\\b|unsupported|"
      "not supported|no such|can ?not be used|can't be used|cannot use|must (?:be|have|match)|should be in|expected\\b|"
      "\\brequires?\\b|\\brejects?\\b|undefined (?:symbol|reference)|out of (?:memory|resource)|\\bmissing\\b|not (?:been )?implemented|not installed|"
      "no operator found|\\bunable to\\b|could not|couldn't|falls? back|fallback",
      any_case());
  if (has_words(line, exception)) return Form::exception;
  if (has_words(line, warning)) return Form::warning;
  if (has_words(line, failure)) return Form::failure;
  return has_words(line, demand) ? Form::demand : Form::none;
}

std::string prose_of(std::string text) {
  static const RE2 names("\\S*[/\\\\]\\S+|\\S+\\.(?:cu|cuh|cpp|cc|o|h|hpp|py|so|dll)\\b\\S*|\\b[a-z_]+\\.[a-z]+_\\w+");
  RE2::GlobalReplace(&text, names, " ");
  return text;
}

std::optional<ErrorLine> most_telling_error(std::string_view text, const std::vector<Line>& lines) {
  std::optional<ErrorLine> best;
  for (size_t i = 0; i < lines.size(); ++i)
    if (auto error = read_error(text, lines, i); error && (!best || error->score >= best->score))
      best = std::move(error);
  if (best) {
    best->host = host_in(text);
    for (const NamedAttention* named : {best->raised_by, best->program})
      if (best->host == nullptr && named != nullptr && named->chooses) best->host = named;
  }
  if (best && best->orders) return best;
  // Who it is and what it is about: one of the two has to be known, and more than that somebody demands something.
  if (best && best->matters.empty() && (best->program == nullptr || best->form == Form::demand)) return std::nullopt;
  if (best && best->form == Form::demand && best->program == nullptr) return std::nullopt;
  return best;
}

Refusal refusal_of(const ErrorLine& error, const TextFacts& facts) {
  constexpr size_t most_matters = 4;
  Refusal refusal;
  refusal.kind = error.form == Form::warning ? SentenceKind::note : SentenceKind::reading;
  const NamedAttention* speaker = error.raised_by != nullptr ? error.raised_by : error.program;
  refusal.who = speaker != nullptr ? speaker->name : "a program";
  refusal.said = refusal.line = error.shown;
  refusal.first_line = error.line;
  refusal.times = 1;
  refusal.source = by_rule;
  const bool is_about = speaker != nullptr && error.program != nullptr && speaker != error.program;
  refusal.headline = fmt::format("{} {}{}, by its own words", speaker != nullptr ? speaker->name : "A program",
                                 error.form == Form::warning ? "warns" : "refuses or fails",
                                 is_about ? " over " + error.program->name : std::string());
  static const RE2 goes_on("using .{1,40} instead|fall(?:s|ing)? ?back (?:to|on)|\\binstead\\.?$", any_case());
  const std::string went_on =
      has_words(error.message, goes_on) ? " It goes on with another attention: nothing else is broken." : "";
  const std::string apart = error.program != nullptr && error.program->apart ? " cuDNN has no part in it." : "";
  if (error.matters.empty()) {
    refusal.id = "reading";
    refusal.means =
        "attnprobe does not know this sentence, and its words do not say what it is about." + apart + went_on;
  } else {
    refusal.id = "reading-" + error.matters.front()->id;
    refusal.means = fmt::format("Its words are about {}.{}{} (Read by rule: attnprobe has no entry for this sentence.)",
                                error.matters.front()->what, apart, went_on);
    for (size_t i = 1; i < error.matters.size() && i < most_matters; ++i)
      refusal.causes.push_back(
          fmt::format("it also speaks of {}: {}", error.matters[i]->what, step_of(*error.matters[i], error.host)));
    refusal.next = with_ways(
        is_before_ampere(*error.matters.front(), facts) ? before_ampere : step_of(*error.matters.front(), error.host),
        facts);
  }
  refusal.help = way_around(error.program, error.host);
  if (refusal.next.empty()) refusal.next = refusal.help.empty() ? "read the lines above it" : refusal.help;
  if (refusal.next == refusal.help) refusal.help.clear();
  // Which GPUs are taken is nothing that a reader can do.
  const bool is_of_gpu = !error.matters.empty() && error.matters.front()->id == "gpu" && !error.orders;
  static const RE2 for_whoever_starts_it("backend|--\\w|version|install|environment|[A-Z]{3,}_[A-Z]+", exact_case());
  const bool serves = error.host != nullptr && error.host->serves;
  const std::string stated = stated_way_out(error.message);
  if (!stated.empty() && !is_of_gpu && (!serves || has_words(stated, for_whoever_starts_it))) {
    if (error.matters.empty()) refusal.means = "The message says itself what would be taken." + apart + went_on;
    refusal.help = refusal.next == "read the lines above it" ? refusal.help : refusal.next;
    refusal.next = fmt::format("what the message itself asks for: \"{}\"", stated);
  }
  return refusal;
}

}  // namespace attnprobe::diagnose
