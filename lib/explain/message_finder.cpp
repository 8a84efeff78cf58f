#include "explain/message_finder.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "explain/message_patterns.hpp"
#include "explain/plain_line.hpp"
#include "explain/words.hpp"

namespace attnprobe::explain {
namespace {

// A long text is searched in blocks of lines. Matches that begin in the last bytes of a block belong to the next block.
constexpr size_t block_bytes = size_t{16} << 10;
constexpr size_t overlap_bytes = size_t{1} << 10;  // longer than any pattern's longest match
constexpr size_t window_bytes = size_t{2} << 10;
constexpr size_t longest_piece = size_t{32} << 10;  // bytes of a line
constexpr size_t longest_said = 600, longest_shown = 400;
// A longer text counts as a log, in which sentences do not span lines, because two lines may be from two programs.
constexpr int64_t most_pasted_lines = 400;
constexpr size_t most_pasted_bytes = size_t{64} << 10;
// Facts are read from blocks with a match, and from the start of the text.
constexpr size_t most_bytes_for_facts = size_t{256} << 10;

// "e! ", "W! CuDNN (v9…", "Warning: CUDNN_STATUS_…; Reason: …", after any launcher's prefix.
bool is_line_of_log(std::string_view line) {
  static const RE2 marker("(?:^|[ :\\]\\t])[iweIWE]! ", exact_case());
  if (line.find("; Reason: ") != std::string_view::npos) return true;
  return line.find("! ") != std::string_view::npos && has_words(line.substr(0, 200), marker);
}

// Whether the words before a match show that the message was only expected, or did not appear: "except X", "we did not
// see X". Names in source ("backend = NVTE_Fused_Attn_Backend::X") and titles of changes do not count either.
bool is_not_said(std::string_view before) {
  constexpr size_t reach = 96;
  static const RE2 source(
      "^[+\\- ]*except \\(?(?:[\\w.]+, ?)*[\\w.]*$|\\b(?:isinstance|assertRaises\\w*|pytest\\.raises)\\([^)]*$|"
      "\\w ?[=!]?= ?(?:\\w+::)+$|"
      // A literal: logging.warning("…". A traceback shows "raise RuntimeError("…" as well, which was said.
      "\\b(?:print|warn|warning|info|error|debug)\\( ?[rf]?[\"'][^\"']*$",
      exact_case());
  // The title of a change: "[cuDNN] Support paged KV cache in …", "Disable … for known NaNs".
  static const RE2 change(
      "^[# ]*(?:\\[[^\\]]{1,40}\\] ?)*(?:Disable|Guard|Skip|Support|Enable|Introduce|Allow)\\b[^.:;\"'\\d]{0,80}$",
      exact_case());
  static const RE2 denial(
      "\\bno (?:more|longer) [\"'`]$|\\b(?:did|does|do)(?:n't| ?\\*{0,2}not\\*{0,2}) (?:confirm|show|see|observe|report|reproduce)\\b[^.;:]{0,60}$",
      any_case());
  return has_words(before, source) || has_words(before, change) ||
         has_words(before.substr(before.size() - std::min(before.size(), reach)), denial);
}

// Whether a literal is an argument of the call in the line before: "logging.warning(".
bool is_argument(std::string_view before, std::string_view previous) {
  static const RE2 opens("^[+\\- ]*[rf]?[\"'][^\"']*$", exact_case());
  static const RE2 call("^[+\\- ]*[\\w.]+\\(\\s*$", exact_case());
  return has_words(before, opens) && has_words(previous, call);
}

// The reason in a line, as in cuDNN's log or in a program's message.
log::Reason reason_in(std::string_view line, size_t at) {
  log::Reason reason;
  constexpr std::string_view mark = "CUDNN_STATUS_";
  size_t status = line.rfind(mark, at);
  if (status == std::string_view::npos) status = line.find(mark);
  if (status != std::string_view::npos) {
    const size_t end = line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", status);
    reason.status = std::string(line.substr(status, end == std::string_view::npos ? end : end - status));
  }
  size_t begin = 0;
  for (const std::string_view head : {std::string_view("Reason: "), std::string_view(": ")}) {
    const size_t found = line.rfind(head, at);
    if (found == std::string_view::npos) continue;
    begin = found + head.size();
    break;
  }
  reason.reason = std::string(trim(line.substr(std::min(begin, at))));
  return reason;
}

// A few words could come from any program, so the line must contain a status or names from cuDNN's source.
bool is_cudnns_line(std::string_view line, const answer::KnownReason& reason) {
  constexpr size_t telling = 28;
  static const RE2 own_names(
      "dim per head for|SDPA_[FB]WD|SDPA requires descale_Q|getDimA\\(\\)|\\bh_q\\b.{1,20}h_[kv]\\b|xDim\\[|smem_size|"
      "supported for this engine|_CFG knob|determinism_knob|get_fort_",
      exact_case());
  return words_of_reason(reason).size() >= telling || line.find("CUDNN_STATUS_") != std::string_view::npos ||
         line.find("Reason: ") != std::string_view::npos || line.find(" at: ") != std::string_view::npos ||
         (has_words(line, own_names) && line.find("cudnn_frontend") == std::string_view::npos);
}

// "> RuntimeError: …", but not Python's prompt.
bool is_quoted(std::string_view line) {
  const std::string_view words = trim(line);
  return (words.starts_with('>') && !words.starts_with(">>")) || words.starts_with("- @");
}

// Whether another person wrote the quoted lines: "a colleague posted", "an old thread".
bool quotes_others(std::string_view own) {
  static const RE2 others(
      "\\b(?:colleague|somebody|someone|co-?worker|another user|other people|old (?:thread|issue|ticket|report)|(?:found|saw|read) (?:an? |this )?(?:\\w+ ){0,2}(?:thread|issue|report|post)|people (?:reported|said|wrote)|same (?:here|for me|problem here)|in my case|others in (?:the|this) thread)\\b|\\b(?:mine|my (?:case|setup)) ?: ",
      any_case());
  return has_words(own, others);
}

void count_place(Place& place, const Place& found) {
  if (place.times == 0 || found.first_line < place.first_line) place.first_line = found.first_line;
  if (place.times == 0 || found.said.size() > place.said.size()) {
    place.said = found.said;
    place.line = found.line;
  }
  place.times += found.times;
  place.in_log = place.in_log && found.in_log;
}

}  // namespace

class MessageFinder::State {
 public:
  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t end = bytes.find_first_of(std::string_view("\n\0", 2));
      const size_t room = longest_piece - std::min(longest_piece, pending_.size());
      const size_t taken = std::min(end == std::string_view::npos ? bytes.size() : end, room);
      pending_ += bytes.substr(0, taken);
      if (taken == end) {
        take_line(true);
        bytes.remove_prefix(end + 1);
      } else {
        bytes.remove_prefix(taken);
        if (pending_.size() >= longest_piece) take_line(false);
      }
    }
  }

  TextFindings finish() {
    if (!pending_.empty()) take_line(true);
    // Reads the text again without the quoted lines. The other lines keep their numbers.
    if (!is_long_ && has_quotes_ && quotes_others(own_)) {
      State own;
      own.feed(own_);
      return own.finish();
    }
    if (text_.ends_with('\n')) text_.pop_back();  // patterns match the end of the text
    // Terminals and mail programs wrap copied lines, some in the middle of a word.
    if (!is_long_) std::replace(text_.begin(), text_.end(), '\n', ' ');
    search(text_.size());
    if (!is_long_ && messages_.empty()) search_glued();
    TextFindings findings;
    findings.lines = number_;
    for (const Message& message : explain::messages())
      if (const auto hit = message_hit(message)) findings.messages.push_back(*hit);
    if (is_long_) {
      findings.facts = std::move(facts_);
      return findings;
    }
    findings.pasted = std::move(pasted_);
    add_facts(findings.facts, findings.pasted, 1);
    add_facts_of_page(findings.facts, findings.pasted);
    return findings;
  }

 private:
  struct LineStart {
    size_t offset = 0;
    int64_t number = 0;
    bool in_log = false;
  };
  using Form = std::pair<const Message*, size_t>;

  void take_line(bool is_whole) {
    ++number_;
    if (!is_whole) --number_;
    const std::string plain = plain_line(pending_);
    if (!is_long_) {
      pasted_ += plain + "\n";
      const bool quotes = is_quoted(pending_);
      has_quotes_ = has_quotes_ || quotes;
      if (!quotes) own_ += pending_;
      own_ += '\n';
    }
    if (!plain.empty()) {
      starts_.push_back({text_.size(), is_whole ? number_ : number_ + 1, is_line_of_log(plain)});
      text_ += plain;
      if (is_whole) text_ += '\n';
    }
    pending_.clear();
    is_long_ = is_long_ || number_ > most_pasted_lines || pasted_.size() > most_pasted_bytes;
    if (!is_long_ || text_.size() < block_bytes) return;
    size_t kept = text_.size() - overlap_bytes;
    // Keeps one additional whole line, so that no line is split.
    if (const size_t start = line_at(kept)->offset; start > 0) kept = start;
    search(kept);
    drop(kept);
  }

  void drop(size_t bytes) {
    starts_.erase(starts_.begin(), line_at(bytes));
    for (LineStart& start : starts_) start.offset -= std::min(start.offset, bytes);
    text_.erase(0, bytes);
  }

  void search_glued() {
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i].offset -= i;
    std::string glued;
    for (size_t i = 0, at = 0; i < starts_.size(); ++i) {
      const size_t end = i + 1 < starts_.size() ? starts_[i + 1].offset + i : text_.size();
      glued += text_.substr(at, end - at);
      at = end + 1;
    }
    text_ = std::move(glued);
    search(text_.size());
  }

  // Searches for matches that begin before `end`, in windows: the smaller a window, the fewer patterns have all their
  // words in it.
  void search(size_t end) {
    bool any = false;
    for (size_t begin = 0; begin < end; begin += window_bytes) {
      const size_t window_end = std::min(begin + window_bytes, end);
      const size_t stop = std::min(window_end + overlap_bytes, text_.size());
      for (const int id : message_patterns().possible(std::string_view(text_).substr(begin, stop - begin)))
        any = search_for(id, begin, window_end, stop) || any;
    }
    searched_ += end;
    if (is_long_ && !text_.empty() && (any || searched_ < most_bytes_for_facts))
      add_facts(facts_, text_, starts_.front().number);
  }

  bool search_for(int id, size_t begin, size_t end, size_t stop) {
    bool any = false;
    const RE2& pattern = message_patterns().pattern(id);
    re2::StringPiece found;
    while (begin < end && pattern.Match(text_, begin, stop, RE2::UNANCHORED, &found, 1)) {
      const auto hit = static_cast<size_t>(found.data() - text_.data());
      if (hit >= end) break;
      any = take_hit(message_patterns().wanted(id), hit, found.size()) || any;
      begin = hit + std::max<size_t>(found.size(), 1);
    }
    return any;
  }

  // The line of an offset.
  std::vector<LineStart>::const_iterator line_at(size_t offset) const {
    return std::prev(std::upper_bound(starts_.begin(), starts_.end(), offset,
                                      [](size_t at, const LineStart& start) { return at < start.offset; }));
  }

  std::string_view line_of(std::vector<LineStart>::const_iterator at) const {
    const auto next = std::next(at);
    const size_t end = next == starts_.end() ? text_.size() : next->offset;
    return std::string_view(text_).substr(at->offset, end - at->offset);
  }

  bool take_hit(const Wanted& wanted, size_t begin, size_t size) {
    const auto at = line_at(begin);
    const LineStart& start = *at;
    const std::string_view line = line_of(at);
    const std::string_view before = line.substr(0, begin - start.offset);
    static const RE2 gone(
        "^ ?[^\\s\"']{0,24}[\"'`]{0,2} ?(?:message |warning |error )?(?:went away|is gone|has gone|disappeared|vanished|no longer (?:appears|shows))\\b",
        any_case());
    if (has_words(line.substr(std::min(before.size() + size, line.size()), 64), gone)) return false;
    static const RE2 denied("\\bnever (?:produce|give|gave|return)|\\bguards? against|\\bno NaNs?\\b|without NaN",
                            any_case());
    if (has_words(std::string_view(text_).substr(begin, size), denied)) return false;
    if (is_not_said(before) || (at != starts_.begin() && is_argument(before, line_of(std::prev(at))))) return false;
    Place place;
    place.said = text_.substr(begin, std::min(size, longest_said));
    place.first_line = start.number;
    place.times = 1;
    place.in_log = start.in_log;
    place.line = shown_around(trim(line), begin - start.offset);
    if (wanted.message->reason != nullptr && !take_reason(*wanted.message->reason, line, begin - start.offset, place))
      return false;
    count_place(messages_[{wanted.message, wanted.match}], place);
    return true;
  }

  // Shows a long line from shortly before the match.
  static std::string shown_around(std::string_view line, size_t at) {
    if (line.size() <= longest_shown) return std::string(line);
    const size_t begin = at > longest_shown / 2 ? at - longest_shown / 4 : 0;
    return fmt::format("{}{}{}", begin > 0 ? "…" : "", whole_letters(line, begin, longest_shown),
                       begin + longest_shown < line.size() ? "…" : "");
  }

  // Whether the line has exactly that reason, not another reason with the same words.
  static bool take_reason(const answer::KnownReason& reason, std::string_view line, size_t at, Place& place) {
    const log::Reason said = reason_in(line, at);
    place.said = said.reason.substr(0, longest_said);
    return answer::find_reason(said) == &reason && is_cudnns_line(line, reason);
  }

  std::optional<MessageHit> message_hit(const Message& message) const {
    std::optional<MessageHit> hit;
    for (size_t i = 0; i < message.match.size(); ++i) {
      const auto found = messages_.find({&message, i});
      if (found == messages_.end()) continue;
      const Place& place = found->second;
      if (!hit) hit = MessageHit{&message, i, {}};
      // Several forms at the same place are one match, so their maximum counts, not their sum.
      const int64_t times = std::max(hit->place.times, place.times);
      if (place.said.size() > hit->place.said.size()) hit->match = i;
      count_place(hit->place, place);
      hit->place.times = times;
    }
    return hit;
  }

  std::string pending_;            // an incomplete line
  std::string text_;               // plain lines with line ends, without blank lines
  std::vector<LineStart> starts_;  // line numbers of its lines
  std::string pasted_;             // the lines of a short text, including blank lines
  std::string own_;                // likewise as they are, the quoted lines empty
  bool has_quotes_ = false;
  bool is_long_ = false;
  int64_t number_ = 0;
  size_t searched_ = 0;
  std::map<Form, Place> messages_;
  TextFacts facts_;
};

MessageFinder::MessageFinder() : state_(std::make_unique<State>()) {}
MessageFinder::~MessageFinder() = default;
MessageFinder::MessageFinder(MessageFinder&&) noexcept = default;
MessageFinder& MessageFinder::operator=(MessageFinder&&) noexcept = default;

void MessageFinder::feed(std::string_view bytes) {
  state_->feed(bytes);
}

TextFindings MessageFinder::finish() {
  return state_->finish();
}

}  // namespace attnprobe::explain
