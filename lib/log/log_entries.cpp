#include "log/log_entries.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <optional>

#include "base/escapes.hpp"
#include "base/text.hpp"

namespace attnprobe::log {
namespace {

// Beyond this number, the oldest open entries are closed, because their writers never ended them.
constexpr size_t most_open = 16;

int64_t leading_integer(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The text between `key` and `end`; "" if the key is missing.
std::string_view between(std::string_view text, std::string_view key, char end) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find(end));
}

// "I! CuDNN (v91900 56) function cudnnCreate() called:", anywhere in the line.
std::optional<LogEntry> parse_head(std::string_view text) {
  const size_t at = text.find("! CuDNN (v");
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  LogEntry entry;
  entry.severity = text[at - 1];
  if (std::string_view("IWE").find(entry.severity) == std::string_view::npos) return std::nullopt;
  entry.version = CudnnVersion::from_number(leading_integer(between(text, "(v", ' ')));
  // cuDNN 8 and early 9 write "function cudnnCreate() called:"; a head without a function is kept.
  std::string_view function = between(text, " function ", '\0');
  function = function.substr(0, function.find(" called:"));
  entry.function = std::string(trim(function));
  return entry;
}

// The text after "i! ", "w! " or "e! ", anywhere in the line; none without a marker.
std::optional<std::string_view> behind_marker(std::string_view text) {
  for (size_t at = text.find("! "); at != std::string_view::npos; at = text.find("! ", at + 1)) {
    if (at == 0 || std::string_view("iwe").find(text[at - 1]) == std::string_view::npos) continue;
    // A marker is a separate word: first in the line, or after a launcher's prefix.
    if (at > 1 && text[at - 2] != ' ' && text[at - 2] != ':' && text[at - 2] != ']' && text[at - 2] != '\t') continue;
    return text.substr(at + 2);
  }
  if (text.size() >= 2 && text.back() == '!' &&
      std::string_view("iwe").find(text[text.size() - 2]) != std::string_view::npos)
    return std::string_view();  // the line is only the marker
  return std::nullopt;
}

// " nHeads: type=int; val=8;": such lines are pasted without their marker.
bool is_argument(std::string_view text) {
  return text.starts_with("    ") && text.find(": type=") != std::string_view::npos &&
         text.find("; val=") != std::string_view::npos;
}

}  // namespace

double seconds_between(const std::string& begin, const std::string& end) {
  const auto seconds_of = [](const std::string& time) {
    std::tm parts{};
    double seconds = 0;
    const int read = std::sscanf(time.c_str(), "%d-%d-%dT%d:%d:%lf", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                                 &parts.tm_hour, &parts.tm_min, &seconds);
    constexpr int all = 6;
    if (read != all) return std::optional<double>();
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    return std::optional(static_cast<double>(timegm(&parts)) + seconds);
  };
  const auto from = seconds_of(begin), to = seconds_of(end);
  return from && to ? std::max(0.0, *to - *from) : 0;
}

void LogSplitter::feed(std::string_view bytes) {
  LineEnds ends(bytes);
  for (size_t begin = 0, end = 0; begin < bytes.size(); begin = end + 1) {
    end = ends.find(begin);
    const std::string_view part = bytes.substr(begin, end - begin);
    // Sparse files can have billions of empty lines.
    if (end == begin && pending_.empty()) {
      ++number_;
      continue;
    }
    if (end == std::string_view::npos || !pending_.empty()) {
      const size_t room = longest_line - std::min(longest_line, pending_.size());
      pending_.append(part.substr(0, room));
      if (end == std::string_view::npos) return;
      line(pending_);
      pending_.clear();
    } else {
      line(part.substr(0, longest_line));
    }
  }
}

void LogSplitter::finish() {
  if (!pending_.empty()) line(pending_);
  pending_.clear();
  while (!open_.empty()) close(0);
}

void LogSplitter::line(std::string_view text) {
  ++number_;
  std::string plain;
  if (text.find('\x1b') != std::string_view::npos) text = plain = without_escapes(text);
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (auto head = parse_head(text)) {
    head->first_line = number_;
    if (!open_.empty() && open_.back().bytes >= longest_entry) close(open_.size() - 1);
    if (open_.size() == most_open) close(0);
    open_.push_back({std::move(*head), text.size()});
    return;
  }
  auto marked = behind_marker(text);
  if (!marked && is_argument(text)) marked = text;
  if (!marked || open_.empty()) {
    on_text_(text, number_);
    return;
  }
  body(*marked);
}

void LogSplitter::body(std::string_view text) {
  LogEntry& entry = open_.back().entry;
  open_.back().bytes += text.size() + 1;
  const std::string_view words = trim(text);
  if (words.substr(0, 6) == "Time: ") {
    entry.time = std::string(words.substr(6, words.find(' ', 6) - 6));
    return;
  }
  if (words.substr(0, 8) == "Process=" && words.find("; Thread=") != std::string_view::npos) {
    entry.process = leading_integer(between(words, "Process=", ';'));
    entry.thread = leading_integer(between(words, "Thread=", ';'));
    entry.gpu = std::string(between(words, "GPU=", ';'));
    entry.whole = true;
    close(open_.size() - 1);
    return;
  }
  if (entry.lines.size() < most_lines) entry.lines.emplace_back(text);
}

void LogSplitter::close(size_t open) {
  LogEntry entry = std::move(open_[open].entry);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(open));
  on_entry_(std::move(entry));
}

}  // namespace attnprobe::log
