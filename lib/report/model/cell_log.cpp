#include "report/model/cell_log.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "cudnn/library_info.hpp"
#include "report/formats/report.hpp"
#include "report/model/cells.hpp"

namespace attnprobe::report {
namespace {

using campaign::CellPlace;
namespace fs = std::filesystem;
constexpr const char* cells_schema = "attnprobe/cells/1";
constexpr std::string_view cell_key = "{\"cell\":[";

std::string line_of(const CellPlace& place, const std::string& cell) {
  return fmt::format("{}{},{},{}],{}\n", cell_key, place.config, place.target, place.cudnn, cell.substr(1));
}

// The place at the line's start, and where the rest begins; none for other lines.
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

std::string header_of(const MatrixAxes& axes) {
  return json_text({{"schema", cells_schema}, {"tool", tool_version()}, {"axes", axes}}) + "\n";
}

MatrixAxes axes_in(const JsonView& place) {
  MatrixAxes axes;
  axes.title = place.at("title").text();
  axes.command = place.at("command").text();
  axes.configs = place.at("configs").texts();
  for (const JsonView& target : place.at("targets").elements())
    axes.targets.push_back({target.at("id").text(), target.at("name").text(), target.at("kind").text(),
                            target.at("architecture").text(),
                            static_cast<int>(target.at("sm").integer(0, std::numeric_limits<int>::max()))});
  axes.cudnns = place.at("cudnns").texts();
  check_cells(place.where(), axes.configs.size(), axes.targets.size(), axes.cudnns.size());
  return axes;
}

// Times of building and walking are another each time.
void drop_times(Json& result) {
  result.erase("walk_ms");
  for (auto& config : result["engine_configs"])
    if (config["plan"].is_object()) config["plan"].erase("build_ms");
}

}  // namespace

MatrixAxes axes_of(const campaign::Matrix& matrix, const std::string& title, const std::string& command) {
  MatrixAxes axes;
  axes.title = title;
  axes.command = command;
  for (const auto& question : matrix.questions) axes.configs.push_back(question.config.spec.name);
  for (const auto& t : matrix.targets)
    axes.targets.push_back({t.id, t.name, std::string(name_of(t.kind)),
                            t.architecture.empty() ? architecture_of(t.id, t.sm) : t.architecture, t.sm});
  for (const auto& library : matrix.cudnns) axes.cudnns.push_back(library.version.text());
  check_cells("the matrix", axes.configs.size(), axes.targets.size(), axes.cudnns.size());
  return axes;
}

Json cell_json(const campaign::Result& result) {
  Json json = to_json(result);
  drop_times(json);
  return json;
}

CellLog::CellLog(fs::path file, MatrixAxes axes, bool resume) : file_(std::move(file)), axes_(std::move(axes)) {
  std::error_code ignored;
  if (resume && fs::exists(file_, ignored) && fs::file_size(file_, ignored) > 0) {
    const MatrixAxes wanted = axes_;
    read();
    if (axes_ != wanted) refuse(file_, fmt::format("--resume: it was begun as another matrix: {}", axes_.command));
    out_.open(file_, std::ios::binary | std::ios::app);
    return;
  }
  errno = 0;
  out_.open(file_, std::ios::binary | std::ios::trunc);
  out_ << header_of(axes_) << std::flush;
  if (!out_) refuse(file_, fmt::format("cannot be written: {}", std::strerror(errno)));
}

CellLog::CellLog(fs::path file) : file_(std::move(file)) {
  read();
}

void CellLog::read() {
  errno = 0;
  std::ifstream in(file_, std::ios::binary);
  std::string line;
  if (!in || !std::getline(in, line)) refuse(file_, fmt::format("cannot be read: {}", std::strerror(errno)));
  const JsonSource source = source_of(last_line_);
  const Json json = parse_json(line, source, {.comments = false});
  const JsonView header(json, source);
  header.at("schema").word({cells_schema});
  axes_ = axes_in(header.at("axes"));
  std::streamoff whole = in.tellg();
  while (std::getline(in, line)) {
    // A line without its end was being written when the run was killed.
    if (in.eof()) break;
    ++last_line_;
    const auto found = place_of(line);
    if (!found || found->first.config >= axes_.configs.size() || found->first.target >= axes_.targets.size() ||
        found->first.cudnn >= axes_.cudnns.size())
      refuse(file_, fmt::format("line {} is not a cell of this matrix", last_line_));
    lines_[found->first] = {whole, last_line_};
    whole = in.tellg();
  }
  in.close();
  std::error_code ignored;
  if (static_cast<uintmax_t>(whole) < fs::file_size(file_, ignored))
    fs::resize_file(file_, static_cast<uintmax_t>(whole), ignored);
}

JsonSource CellLog::source_of(int64_t line) const {
  return {fmt::format("{}:{}", file_.string(), line), ": ", false};
}

void CellLog::add(const CellPlace& place, const std::string& cell) {
  const std::string line = line_of(place, cell);
  const std::lock_guard lock(mutex_);
  out_.seekp(0, std::ios::end);
  const std::streamoff at = out_.tellp();
  out_ << line << std::flush;
  if (!out_) refuse(file_, "writing failed (disk full?)");
  lines_[place] = {at, ++last_line_};
}

void CellLog::for_each_line(const std::function<void(const CellPlace&, std::string&)>& take,
                            const std::function<bool(const CellPlace&)>& wanted) const {
  std::ifstream in(file_, std::ios::binary);
  std::string line;
  std::streamoff at = 0;
  for (const auto& [place, known] : lines_) {
    if (wanted && !wanted(place)) continue;
    if (known.offset != at) in.seekg(known.offset);  // which throws away what was read ahead
    if (!std::getline(in, line)) refuse(file_, "it was cut off while it was read");
    at = known.offset + static_cast<std::streamoff>(line.size()) + 1;
    take(place, line);
  }
}

void CellLog::for_each(const std::function<void(const CellPlace&, const std::string&)>& take,
                       const std::function<bool(const CellPlace&)>& wanted) const {
  const auto take_cell = [&](const CellPlace& place, std::string& line) {
    line.replace(0, place_of(line)->second, 1, '{');
    take(place, line);
  };
  for_each_line(take_cell, wanted);
}

void CellLog::read_each(const std::function<void(const CellPlace&, const JsonView&)>& take,
                        const std::function<bool(const CellPlace&)>& wanted) const {
  const auto read_cell = [&](const CellPlace& place, const std::string& cell) {
    const JsonSource source = source_of(lines_.at(place).number);
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
    put(header_of(axes_));
    for_each_line([&](const CellPlace& place, std::string& line) {
      lines[place] = {at, ++number};
      put(line += '\n');
    });
  });
  out_.close();
  out_.open(file_, std::ios::binary | std::ios::app);
  lines_ = std::move(lines);
  last_line_ = number;
}

}  // namespace attnprobe::report
