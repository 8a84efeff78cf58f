#include "diagnose/text_reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "diagnose/own_words.hpp"
#include "diagnose/readings.hpp"
#include "diagnose/search_options.hpp"
#include "diagnose/stated.hpp"
#include "diagnose/text_lines.hpp"

namespace attnprobe::diagnose {
namespace {

using re2::StringPiece;

constexpr size_t longest_for_host = 20'000;
constexpr size_t longest_message = 2000, longest_line_shown = 400;
constexpr int64_t frames_above = 16;  // lines of a traceback that belong to its error
// In so short a text one word of attention is enough for all of it.
constexpr size_t short_text = 14;
constexpr size_t most_lines_of_one = 80;  // programs' lines meet in a longer text
constexpr const char* by_rule = "by rule: attnprobe knows no such sentence, and read its words";

// How surely a line is the error itself.
enum class Form { none, demand, warning, failure, exception };

struct ErrorLine {
  Form form = Form::none;
  std::string message;  // with the lines that go on with it
  std::string shown;
  int64_t line = 0;
  const NamedAttention* program = nullptr;
  const NamedAttention* raised_by = nullptr;  // by the file of the innermost frame
  std::vector<const Matter*> matters;
  int64_t score = 0;
};

// A line of a program or of a diff: what stands in it was not said, but may be.
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
      "(?:^|[\\s:(\\[])(?:[A-Za-z_]\\w*\\.)*(?:[A-Z]\\w*(?:Error|Exception|Failure|Failed)|OutOfResources)(?:\\]?: ?\\S|\\(['\"]\\w)",
      exact_case());
  static const RE2 warning("(?:^|[\\s:(\\[])(?:[A-Za-z_]\\w*\\.)*[A-Z]?\\w*[Ww]arning\\]?: ?\\S|\\bWARN(?:ING)?\\b",
                           exact_case());
  static const RE2 failure(
      "^(?:\\S+ ){0,3}(?:error|fatal|assertion failed|failed)\\b[^:]{0,80}: ?\\S|^(?:\\S+ ){0,3}(?:failure|assertion): ?\\S|"
      "^no operator found for|^error occurred|"
      "^error running|terminate called|"
      "what\\(\\): ",
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

// Without the names of files and of members, whose words are not what the error is about: "…/arbitrary_seqlen.cu.o".
std::string prose_of(std::string text) {
  static const RE2 names("\\S*[/\\\\]\\S+|\\S+\\.(?:cu|cuh|cpp|cc|o|h|hpp|py|so|dll)\\b\\S*|\\b[a-z_]+\\.[a-z]+_\\w+");
  RE2::GlobalReplace(&text, names, " ");
  return text;
}

// What stands above it in its traceback.
std::string_view frames_of(const std::vector<Line>& lines, size_t at) {
  const size_t first = at - std::min(at, static_cast<size_t>(frames_above));
  const char* begin = lines[first].text.data();
  return {begin, static_cast<size_t>(lines[at].text.data() - begin)};
}

// The one that is named first; of several at one place the most special.
const NamedAttention* program_in(std::string_view text) {
  const NamedAttention* first = nullptr;
  size_t place = text.size();
  for (const auto& program : readings().programs) {
    StringPiece found;
    if (!program.words->Match(piece(text), 0, text.size(), RE2::UNANCHORED, &found, 1)) continue;
    const auto at = static_cast<size_t>(found.data() - text.data());
    if (at >= place) continue;
    place = at;
    first = &program;
  }
  return first;
}

const RE2& backend_words() {
  static const RE2 words("backend|attn_implementation|attention implementation|kernel module|versions? (?:are|is)",
                         any_case());
  return words;
}

// The program of the text that calls attentions of others, by its paths, commands and name.
const NamedAttention* host_in(std::string_view text) {
  const std::string plain = without_values(std::string(text.substr(0, longest_for_host)));
  const NamedAttention* first = nullptr;
  size_t place = plain.size();
  for (const auto& program : readings().programs) {
    if (!program.chooses) continue;
    const RE2 name("\\b" + RE2::QuoteMeta(program.name) + "\\b", any_case());
    for (const RE2* words : {&name, program.words.get()}) {
      StringPiece found;
      if (!words->Match(plain, 0, plain.size(), RE2::UNANCHORED, &found, 1)) continue;
      const auto at = static_cast<size_t>(found.data() - plain.data());
      if (at >= place) continue;
      place = at;
      first = &program;
    }
  }
  return first;
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
  const std::string_view frames = frames_of(lines, at);
  const bool named = has_words(error.message, attention_words());
  const bool near = error.form >= Form::failure && has_words(frames, attention_words());
  const size_t reach = error.form >= Form::failure ? most_lines_of_one : short_text;
  const bool whole = lines.size() <= reach && has_words(text, attention_words());
  if (!named && !near && !whole) return std::nullopt;
  error.line = lines[at].number;
  error.shown = std::string(lines[at].text.substr(0, longest_line_shown));
  error.program = program_in(without_values(std::string(lines[at].text)));
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
  error.score = 4 * static_cast<int64_t>(error.form) + (in_message ? 2 : 0) + (named ? 3 : 0) +
                (error.matters.empty() ? -4 : 4) - (near || named ? 0 : 2);
  return error;
}

constexpr const char* before_ampere =
    "{unfused}: fused attentions have kernels from Ampere (sm_80) on, and no build changes that for an older GPU";

bool is_before_ampere(const Matter& matter, const TextFacts& facts) {
  constexpr int ampere = 80;
  const auto sms = facts.all_sms();
  return matter.id == "gpu" && !sms.empty() && std::all_of(sms.begin(), sms.end(), [](int sm) { return sm < ampere; });
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
      refusal.causes.push_back(fmt::format("it also speaks of {}: {}", error.matters[i]->what, error.matters[i]->step));
    refusal.next =
        with_ways(is_before_ampere(*error.matters.front(), facts) ? before_ampere : error.matters.front()->step, facts);
  }
  if (error.program != nullptr && !error.program->instead.empty()) refusal.help = error.program->instead;
  if (refusal.next.empty()) refusal.next = refusal.help.empty() ? "read the lines above it" : refusal.help;
  if (refusal.next == refusal.help) refusal.help.clear();
  if (const std::string stated = stated_way_out(error.message); !stated.empty()) {
    if (error.matters.empty()) refusal.means = "The message says itself what would be taken." + apart + went_on;
    refusal.help = refusal.next == "read the lines above it" ? refusal.help : refusal.next;
    refusal.next = fmt::format("what the message itself asks for: \"{}\"", stated);
  }
  return refusal;
}

std::optional<ErrorLine> most_telling_error(std::string_view text, const std::vector<Line>& lines) {
  std::optional<ErrorLine> best;
  for (size_t i = 0; i < lines.size(); ++i)
    if (auto error = read_error(text, lines, i); error && (!best || error->score >= best->score))
      best = std::move(error);
  // Who it is and what it is about: one of the two has to be known, and more than that somebody demands something.
  if (best && best->matters.empty() && (best->program == nullptr || best->form == Form::demand)) return std::nullopt;
  if (best && best->form == Form::demand && best->program == nullptr) return std::nullopt;
  return best;
}

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
  const std::string complaint = prose_of(complaint_of(text, trouble));
  for (const Matter& matter : readings().matters)
    if (has_words(complaint, *matter.words) && refusal.causes.size() < most_matters)
      refusal.causes.push_back(fmt::format("it speaks of {}: {}", matter.what, matter.step));
  refusal.next = with_ways(program->apart ? program->instead : "{probe}", facts);
  if (refusal.next.empty()) refusal.next = "the whole output of the program: attnprobe explain FILE";
  if (!program->apart) refusal.help = program->instead;
  refusal.source = by_rule;
  return refusal;
}

std::vector<size_t> places_of(std::string_view text, const RE2& words) {
  constexpr size_t most = 256;
  std::vector<size_t> places;
  StringPiece found;
  for (size_t at = 0; at < text.size() && places.size() < most &&
                      words.Match(piece(text), at, text.size(), RE2::UNANCHORED, &found, 1);) {
    const auto place = static_cast<size_t>(found.data() - text.data());
    places.push_back(place);
    at = place + std::max<size_t>(found.size(), 1);
  }
  return places;
}

// Where the words of a symptom stand together.
struct Told {
  const Symptom* symptom = nullptr;
  size_t at = 0;      // the first of its groups, the first time
  int64_t score = 0;  // how often; a title counts more
};

bool stands_with(size_t at, const std::vector<size_t>& others, size_t within) {
  return std::any_of(others.begin(), others.end(),
                     [&](size_t other) { return std::max(at, other) - std::min(at, other) <= within; });
}

std::optional<Told> told_in(std::string_view text, const Symptom& symptom) {
  constexpr int64_t in_title = 5;
  std::vector<std::vector<size_t>> places;
  for (const Words& words : symptom.all) {
    places.push_back(places_of(text, *words));
    if (places.back().empty()) return std::nullopt;
  }
  const size_t title_end = text.find('\n');
  std::optional<Told> told;
  for (const size_t at : places.front()) {
    if (!std::all_of(places.begin() + 1, places.end(),
                     [&](const auto& others) { return stands_with(at, others, symptom.within); }))
      continue;
    const size_t begin = at - std::min(at, symptom.within);
    if (symptom.unless && has_words(text.substr(begin, 2 * symptom.within), *symptom.unless)) continue;
    if (!told) told = Told{&symptom, at, 0};
    told->score += symptom.weight * (at < title_end ? in_title : 1);
  }
  return told;
}

std::vector<Told> all_told(std::string_view text) {
  std::vector<Told> all;
  for (const Symptom& symptom : readings().symptoms)
    if (const auto told = told_in(text, symptom)) all.push_back(*told);
  // What a text asks in general comes after what it complains of.
  std::stable_sort(all.begin(), all.end(), [](const Told& a, const Told& b) {
    return std::pair(a.symptom->is_question, -a.score) < std::pair(b.symptom->is_question, -b.score);
  });
  return all;
}

// What is told in passing is not what the text is about.
std::vector<Told> most_told(std::string_view text) {
  std::vector<Told> told = all_told(text);
  if (told.empty()) return told;
  const int64_t enough = (told.front().score + 1) / 2;
  const bool is_question = told.front().symptom->is_question;
  std::erase_if(told, [&](const Told& one) { return one.score < enough || one.symptom->is_question != is_question; });
  return told;
}

// The library whose limits are known that the text is about; flash-attn where only its idea is named.
const NamedAttention* with_limits(std::string_view text) {
  static const RE2 flash("flash.?att|fused attention|head dims?\\b", any_case());
  const NamedAttention* named = program_in(text);
  if (named != nullptr && !named->limits.empty()) return named;
  if (!has_words(text, flash)) return nullptr;
  const auto& all = readings().programs;
  const auto found = std::find_if(all.begin(), all.end(), [](const auto& one) { return one.name == "flash-attn"; });
  return found == all.end() ? nullptr : &*found;
}

Refusal refusal_of(const Symptom& symptom, std::string_view text, size_t at, const TextFacts& facts) {
  const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const size_t end = std::min(text.find('\n', at), text.size());
  Refusal refusal;
  refusal.kind = SentenceKind::reading;
  refusal.id = "told-" + symptom.id;
  refusal.layer = Layer::execution;
  refusal.who = "the text";
  refusal.headline = symptom.headline;
  const size_t from = at - begin > longest_line_shown / 2 ? at - longest_line_shown / 4 : begin;
  refusal.said = refusal.line = std::string(trim(text.substr(from, std::min(end - from, longest_line_shown))));
  refusal.first_line =
      static_cast<int64_t>(std::count(text.begin(), text.begin() + static_cast<long>(begin), '\n')) + 1;
  refusal.times = 1;
  refusal.means = symptom.means;
  const NamedAttention* asked_about = with_limits(text);
  if (const size_t mark = refusal.means.find("{limits}"); mark != std::string::npos)
    refusal.means.replace(mark, 8,
                          asked_about != nullptr ? asked_about->limits
                                                 : "It depends on the library's release, the GPU and the whole shape.");
  for (const bool likelier : {true, false})
    for (const auto& cause : symptom.causes)
      if ((cause.when && has_words(text, *cause.when)) == likelier && (!cause.only || has_words(text, *cause.only)))
        refusal.causes.push_back(cause.text);
  refusal.next = with_ways(symptom.next, facts);
  refusal.help = with_ways(symptom.also, facts);
  refusal.source = by_rule;
  return refusal;
}

}  // namespace

std::vector<Refusal> read_words(std::string_view text, const TextFacts& facts) {
  std::vector<Refusal> read;
  const std::vector<Line> lines = lines_of(text);
  const auto error = most_telling_error(text, lines);
  const std::vector<Told> told = most_told(text);
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
