#include "report/model/cell_log.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "cudnn/library_info.hpp"
#include "report/formats/report.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::report {
namespace {

using asking::CellPlace;
namespace fs = std::filesystem;
constexpr std::string_view cell_key = "{\"cell\":[";

// The place at the line's start, and the offset of the rest; none for other lines.
std::optional<std::pair<CellPlace, size_t>> place_of(std::string_view line) {
  if (line.substr(0, cell_key.size()) != cell_key) return std::nullopt;
  std::array<size_t, 3> numbers{};
  const char* at = line.data() + cell_key.size();
  const char* end = line.data() + line.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc() || next == end || *next != (i + 1 < numbers.size() ? ',' : ']')) return std::nullopt;
    at = next + 1;
  }
  if (at == end || *at != ',') return std::nullopt;
  return std::pair{CellPlace{numbers[0], numbers[1], numbers[2]}, static_cast<size_t>(at + 1 - line.data())};
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", file.string(), why));
}

[[noreturn]] void fail_to_write(const fs::path& file) {
  const int error = errno;
  throw Error(kind_of_output_error(error), fmt::format("{}: cannot be written: {}", file.string(),
                                                       error == 0 ? "no reason is given" : std::strerror(error)));
}

// Building and walking times differ in every run, and heap sizes differ slightly.
void drop_times(Json& result) {
  result.erase("walk_ms");
  result.erase("gpu_ms");
  for (auto& config : result["engine_configs"])
    if (config["plan"].is_object())
      for (const char* key : {"build_ms", "host_bytes"}) config["plan"].erase(key);
}

}  // namespace

std::string line_of(const CellPlace& place, const std::string& cell) {
  return fmt::format("{}{},{},{}],{}\n", cell_key, place.config, place.target, place.cudnn, cell.substr(1));
}

Json cell_json(const answer::Answer& result) {
  Json json = to_json(result);
  drop_times(json);
  return json;
}

CellLog::CellLog(fs::path file, CellHeader header, Present present)
    : file_(std::move(file)), header_(std::move(header)) {
  std::error_code ignored;
  if (fs::exists(file_, ignored) && !fs::is_regular_file(file_, ignored)) refuse(file_, "it is not a regular file");
  if (present != Present::replace && fs::exists(file_, ignored) && fs::file_size(file_, ignored) > 0) {
    const CellHeader now = header_;
    const std::streamoff whole = read_other();
    // A file without cells can be replaced without --overwrite.
    if (!lines_.empty() && present == Present::refuse) check_replaceable(now);
    if (!lines_.empty()) {
      go_on(now, whole);
      return;
    }
    header_ = now;
  }
  errno = 0;
  out_.open(file_, std::ios::binary | std::ios::trunc);
  out_ << text_of(header_) << std::flush;
  if (!out_) fail_to_write(file_);
}

CellLog::CellLog(fs::path file) : file_(std::move(file)) {
  read();
}

void CellLog::check_replaceable(const CellHeader& now) const {
  const std::string other = difference(header_, now);
  const size_t all = now.axes.configs.size() * now.axes.targets.size() * now.axes.cudnns.size();
  if (other.empty())
    refuse(file_,
           fmt::format("it already has {} of this matrix's {} cells; --resume continues, --overwrite starts again",
                       size(), all));
  refuse(file_,
         fmt::format("it has {} cells of another matrix ({}); name another --out, or --overwrite to replace them",
                     size(), other));
}

void CellLog::go_on(const CellHeader& now, std::streamoff whole) {
  const std::string other = difference(header_, now);
  if (!other.empty())
    refuse(file_, fmt::format("--resume: {}{}; name another --out, or --overwrite to start again",
                              header_.made_of ? "it is another matrix: " : "", other));
  header_ = now;
  // A line that is not JSON is not an answer.
  std::vector<CellPlace> damaged;
  for_each([&](const CellPlace& place, const std::string& cell) {
    if (!parse_json_leniently(cell).is_object()) damaged.push_back(place);
  });
  forget(damaged);
  // Only here, because a reader must not change a line that another process may still be writing.
  std::error_code failed;
  errno = 0;
  if (static_cast<uintmax_t>(whole) < fs::file_size(file_, failed) && !failed)
    fs::resize_file(file_, static_cast<uintmax_t>(whole), failed);
  if (!failed) out_.open(file_, std::ios::binary | std::ios::app);
  if (failed || !out_) fail_to_write(file_);
}

// Another run wrote the file, so this is not the user's error.
std::streamoff CellLog::read_other() try { return read(); } catch (const Error& e) {
  throw Error(ErrorKind::usage, fmt::format("{}; name another --out, or --overwrite to replace the file", e.what()));
}

std::streamoff CellLog::read() {
  errno = 0;
  std::ifstream in(file_, std::ios::binary);
  std::string line;
  if (!in || !std::getline(in, line)) refuse(file_, fmt::format("cannot be read: {}", std::strerror(errno)));
  const JsonSource source = source_of(last_line_);
  const Json json = parse_json(line, source, {.comments = false});
  header_ = read_header(JsonView(json, source));
  std::streamoff whole = in.tellg();
  while (std::getline(in, line)) {
    // An incomplete line is still being written, or the run was killed while writing it.
    if (in.eof()) break;
    ++last_line_;
    const auto found = place_of(line);
    if (!found || found->first.config >= axes().configs.size() || found->first.target >= axes().targets.size() ||
        found->first.cudnn >= axes().cudnns.size())
      refuse(file_, fmt::format("line {} is not a cell of this matrix", last_line_));
    lines_[found->first] = {whole, last_line_};
    whole = in.tellg();
  }
  return whole;
}

void CellLog::forget(const std::vector<CellPlace>& places) {
  for (const CellPlace& place : places) lines_.erase(place);
}

JsonSource CellLog::source_of(int64_t line) const {
  return {fmt::format("{}:{}", file_.string(), line), ": ", false};
}

void CellLog::add(const CellPlace& place, const std::string& cell) {
  const std::string line = line_of(place, cell);
  const std::lock_guard lock(mutex_);
  out_.seekp(0, std::ios::end);
  const std::streamoff at = out_.tellp();
  errno = 0;
  out_ << line << std::flush;
  if (!out_) fail_to_write(file_);
  lines_[place] = {at, ++last_line_};
}

void CellLog::for_each(const std::function<void(const CellPlace&, const std::string&)>& take,
                       const std::function<bool(const CellPlace&)>& wanted) const {
  CellReader reader(*this);
  for (const auto& [place, line] : lines_)
    if (!wanted || wanted(place)) take(place, reader.cell(place));
}

CellReader::CellReader(const CellLog& log) : log_(log), in_(log.file(), std::ios::binary) {}

const std::string& CellReader::cell(const CellPlace& place) {
  const CellLog::Line& known = log_.lines_.at(place);
  if (known.offset != at_) in_.seekg(known.offset);  // seeking discards data read ahead
  if (!std::getline(in_, line_)) refuse(log_.file(), "it was truncated while it was read");
  at_ = known.offset + static_cast<std::streamoff>(line_.size()) + 1;
  const auto found = place_of(line_);
  if (!found) refuse(log_.file(), "it was changed while it was read");
  line_.replace(0, found->second, 1, '{');
  return line_;
}

void CellLog::read_each(const std::function<void(const CellPlace&, const JsonView&)>& take,
                        const std::function<bool(const CellPlace&)>& wanted) const {
  const auto read_cell = [&](const CellPlace& place, const std::string& cell) {
    const JsonSource source = source_of(place);
    const Json json = parse_json(cell, source, {.comments = false});
    take(place, JsonView(json, source));
  };
  for_each(read_cell, wanted);
}

void CellLog::sort() {
  OutputFile sorted(file_);
  std::map<CellPlace, Line> lines;
  int64_t number = 1;
  sorted.replace([&](std::ostream& out) {
    std::streamoff at = 0;
    auto put = [&](const std::string& text) {
      out << text;
      at += static_cast<std::streamoff>(text.size());
    };
    put(text_of(header_));
    for_each([&](const CellPlace& place, const std::string& cell) {
      lines[place] = {at, ++number};
      put(line_of(place, cell));
    });
  });
  out_.close();
  out_.open(file_, std::ios::binary | std::ios::app);
  lines_ = std::move(lines);
  last_line_ = number;
}

}  // namespace attnprobe::report
