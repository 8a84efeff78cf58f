#include "report/model/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/input.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "report/model/diff.hpp"

namespace attnprobe::report {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark = "# attnprobe baseline ";
constexpr std::string_view first_line = "# attnprobe baseline 1: config gpu cudnn answer first-engine why";
constexpr std::string_view asked_mark = "# asked with:";
constexpr std::string_view nothing = "-";
constexpr std::string_view columns =
    "a line \"config gpu cudnn answer first-engine why\", words with one blank between them";

// Worse answers have a higher rank; none for words that do not occur in baselines.
std::optional<int> rank_of(answer::Word word) {
  using answer::Word;
  switch (word) {
    case Word::yes:
      return 0;
    case Word::but:
      return 1;
    case Word::no:
    case Word::invalid_graph:
      return 2;
    case Word::error:
    case Word::crashed:
    case Word::timeout:
      return 3;
    case Word::wrong_result:
      return 4;
    default:
      return std::nullopt;
  }
}

std::vector<std::string> answer_words() {
  std::vector<std::string> words;
  for (const auto& [word, name] : EnumNames<answer::Word>::table)
    if (rank_of(word)) words.emplace_back(name);
  return words;
}

bool is_plain(const std::string& word) {
  constexpr std::string_view more = "_-+=.,:/@%()[]*";
  const auto is_usual = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != std::string_view::npos;
  };
  return !word.empty() && word != nothing && std::all_of(word.begin(), word.end(), is_usual);
}

// A name with a blank, or with characters that an editor might change or hide, is written as JSON text in ASCII.
std::string column(const std::string& word) {
  return is_plain(word) ? word : Json(word).dump(-1, ' ', true, Json::error_handler_t::replace);
}

// Versions are ordered by their numbers, not as text.
std::tuple<std::string, std::string, std::vector<int>, std::string> order_of(const LockedCell& cell) {
  return {cell.config, cell.target, is_version(cell.cudnn) ? version_numbers(cell.cudnn) : std::vector<int>(),
          cell.cudnn};
}

std::string line_of(const LockedCell& cell) {
  std::string line =
      fmt::format("{} {} {} {} {}", column(cell.config), column(cell.target), column(cell.cudnn), name_of(cell.answer),
                  cell.engine ? std::to_string(*cell.engine) : std::string(nothing));
  return cell.why.empty() ? line : line + " " + cell.why;
}

// Each kind once, in alphabetical order.
std::string kinds_of(const std::vector<CellObstacle>& obstacles) {
  std::set<std::string> kinds;
  for (const CellObstacle& obstacle : obstacles) kinds.insert(obstacle.kind);
  return fmt::format("{}", fmt::join(kinds, "+"));
}

LockedCell locked(const CellTable& table, const Cell& cell) {
  const CellAnswer& answer = table.answer(cell);
  LockedCell lock{table.config(cell), table.target(cell).id, table.cudnn(cell), outcome_word(answer), {}, "", 0};
  const bool works = is_taken(answer.word);
  if (const CellEngine* first = works ? first_choice(answer) : nullptr) lock.engine = first->engine;
  lock.why = works ? kinds_of(answer.but) : answer.category;
  return lock;
}

// Reads a line of a lock file word by word. Every error names file, line, value and what is allowed.
class LineReader {
 public:
  LineReader(const std::string& file, int64_t number, std::string_view line)
      : file_(file), number_(number), line_(line) {}

  [[noreturn]] void fail(std::string_view value, std::string_view what, std::string_view allowed) const {
    throw Error(ErrorKind::usage,
                fmt::format("{}:{}: \"{}\" is not {}; allowed: {}", file_, number_, cut(value), what, allowed));
  }

  bool at_end() const { return at_ >= line_.size(); }

  // A word up to the next blank, or JSON text if it begins with a quote.
  std::string word(std::string_view what) {
    if (at_end()) fail(line_, "a whole line", columns);
    const size_t begin = at_;
    if (line_[begin] != '"') {
      at_ = std::min(line_.find(' ', begin), line_.size());
      std::string text(line_.substr(begin, at_ - begin));
      step(text);
      return text;
    }
    for (++at_; at_ < line_.size() && line_[at_] != '"'; ++at_)
      if (line_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, line_.size());
    const std::string_view quoted = line_.substr(begin, at_ - begin);
    const Json text = parse_json_leniently(quoted);
    if (!text.is_string()) fail(quoted, what, "text in quotes as JSON has it");
    step(quoted);
    return text.get<std::string>();
  }

 private:
  // Skips the single blank between two words.
  void step(std::string_view value) {
    if (value.empty() || (!at_end() && (line_[at_] != ' ' || at_ + 1 == line_.size())))
      fail(line_, "a line of a baseline", columns);
    if (!at_end()) ++at_;
  }

  const std::string& file_;
  int64_t number_;
  std::string_view line_;
  size_t at_ = 0;
};

LockedCell read_line(const std::string& file, int64_t number, std::string_view line) {
  LineReader reader(file, number, line);
  // Merge conflict markers are the usual damage.
  for (const char* conflict : {"<<<<<<<", "=======", ">>>>>>>", "|||||||"})
    if (line.starts_with(conflict))
      reader.fail(line, "a cell", "a file without merge conflicts; --update writes a new one");
  LockedCell cell;
  cell.line = number;
  cell.config = reader.word("a config's name");
  cell.target = reader.word("a GPU");
  cell.cudnn = reader.word("a cuDNN version");
  if (!CudnnVersion::parse(cell.cudnn)) reader.fail(cell.cudnn, "a cuDNN version", "versions as 9.19.0");
  const std::string allowed = quoted_list(answer_words());
  const std::string word = reader.word("an answer");
  cell.answer = parse_enum<answer::Word>(word).value_or(answer::Word::not_asked);
  if (!rank_of(cell.answer)) reader.fail(word, "an answer", allowed);
  const std::string engine = reader.word("a first engine");
  cell.engine = parse_number<int64_t>(engine);
  if (!cell.engine && engine != nothing) reader.fail(engine, "a first engine", "a whole number, or -");
  if (!reader.at_end()) cell.why = reader.word("a reason");
  if (!reader.at_end()) reader.fail(line, "a cell", columns);
  return cell;
}

// The key by which diff_cells() pairs cells.
using LockKey = std::tuple<std::string, std::string, std::string>;

size_t versions_in(const BaselineLock& lock) {
  std::set<std::string> versions;
  for (const LockedCell& cell : lock.cells) versions.insert(cell.cudnn);
  return versions.size();
}

bool has_axes_of(const CellTable& table, const LockedCell& cell, bool by_version) {
  const auto& axes = table.axes;
  const auto has = [](const auto& list, const auto& is) { return std::any_of(list.begin(), list.end(), is); };
  return has(axes.configs, [&](const auto& name) { return name == cell.config; }) &&
         has(axes.targets, [&](const auto& target) { return target.id == cell.target; }) &&
         (!by_version || has(axes.cudnns, [&](const auto& version) { return version == cell.cudnn; }));
}

std::optional<LockStep> step_between(const LockedCell& before, const LockedCell& after) {
  const int old_rank = rank_of(before.answer).value_or(0), new_rank = rank_of(after.answer).value_or(0);
  if (new_rank != old_rank) return new_rank > old_rank ? LockStep::worse : LockStep::better;
  const bool is_same = before.answer == after.answer && before.engine == after.engine && before.why == after.why;
  return is_same ? std::nullopt : std::optional(LockStep::changed);
}

}  // namespace

BaselineLock lock_of(const CellTable& table, const std::string& options) {
  BaselineLock lock;
  lock.options = options;
  for (const Cell& cell : table.cells)
    if (!table.answer(cell).environment_broken) lock.cells.push_back(locked(table, cell));
  std::sort(lock.cells.begin(), lock.cells.end(),
            [](const LockedCell& a, const LockedCell& b) { return order_of(a) < order_of(b); });
  return lock;
}

std::string text_of(const BaselineLock& lock) {
  std::string text(first_line);
  if (!lock.options.empty()) text += fmt::format("\n{} {}", asked_mark, lock.options);
  text += "\n";
  for (const LockedCell& cell : lock.cells) text += line_of(cell) + "\n";
  return text;
}

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
}

}  // namespace

bool is_lock(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string begin(byte_order_mark.size() + mark.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(in.gcount()));
  return without_byte_order_mark(begin).starts_with(mark);
}

BaselineLock read_lock(const fs::path& file) {
  const std::string name = input_name(file), text = input_text(file);
  // An editor or git on Windows may have added a byte order mark and carriage returns.
  std::vector<std::string> lines = split(std::string(without_byte_order_mark(text)), '\n');
  for (auto& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  if (lines.back().empty()) lines.pop_back();  // the end of the text
  if (lines.empty() || lines[0] != first_line)
    throw Error(ErrorKind::usage,
                fmt::format("{}:1: \"{}\" is not how a baseline begins; allowed: \"{}\", as `attnprobe matrix … "
                            "--baseline FILE --update` writes it",
                            name, lines.empty() ? "" : cut(lines[0]), first_line));
  BaselineLock lock;
  std::map<LockKey, int64_t> known;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto number = static_cast<int64_t>(i) + 1;
    if (i == 1 && lines[i].starts_with(asked_mark)) {
      lock.options = trim(std::string_view(lines[i]).substr(asked_mark.size()));
      continue;
    }
    LockedCell cell = read_line(name, number, lines[i]);
    const auto [same, is_new] = known.try_emplace({cell.config, cell.target, cell.cudnn}, number);
    if (!is_new)
      throw Error(ErrorKind::usage, fmt::format("{}:{}: \"{}\" is in line {} too; allowed: each cell once", name,
                                                number, cut(lines[i]), same->second));
    lock.cells.push_back(std::move(cell));
  }
  return lock;
}

size_t LockComparison::count(LockStep step) const {
  return static_cast<size_t>(
      std::count_if(changes.begin(), changes.end(), [&](const LockChange& change) { return change.step == step; }));
}

LockComparison compare(const BaselineLock& before, const CellTable& table) {
  const bool by_version = versions_in(before) != 1 || table.axes.cudnns.size() != 1;
  const auto key_of = [&](const LockedCell& cell) {
    return LockKey{cell.config, cell.target, by_version ? cell.cudnn : ""};
  };
  std::map<LockKey, const LockedCell*> left;
  for (const LockedCell& cell : before.cells) left[key_of(cell)] = &cell;
  LockComparison result;
  for (const Cell& cell : table.cells) {
    LockedCell now = locked(table, cell);
    const auto found = left.find(key_of(now));
    const LockedCell* known = found == left.end() ? nullptr : found->second;
    if (known != nullptr) left.erase(found);
    if (table.answer(cell).environment_broken) continue;  // the cell was not asked
    if (known == nullptr) {
      result.changes.push_back({LockStep::fresh, std::nullopt, std::move(now), &cell});
      continue;
    }
    ++result.compared;
    if (const auto step = step_between(*known, now)) result.changes.push_back({*step, *known, std::move(now), &cell});
  }
  for (const LockedCell& cell : before.cells)
    if (const auto unasked = left.find(key_of(cell)); unasked != left.end() && !has_axes_of(table, cell, by_version))
      result.changes.push_back({LockStep::unasked, cell, std::nullopt, nullptr});
  std::stable_sort(result.changes.begin(), result.changes.end(),
                   [](const LockChange& a, const LockChange& b) { return a.step < b.step; });
  return result;
}

std::string answer_text(const LockedCell& cell) {
  std::string text(name_of(cell.answer));
  if (cell.engine) text += fmt::format(", engine {}", *cell.engine);
  if (!cell.why.empty()) text += ": " + cell.why;
  return text;
}

}  // namespace attnprobe::report
