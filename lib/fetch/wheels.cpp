#include "fetch/wheels.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <regex>

#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "fetch/command.hpp"

namespace attnprobe::fetch {
namespace {

namespace fs = std::filesystem;

constexpr const char* index_form = "application/vnd.pypi.simple.v1+json";

// Python has no program for it; the standard library is enough. Arguments: address, file or "-".
constexpr const char* python_program = R"(
import os, sys, urllib.error, urllib.request
address, file = sys.argv[1:]
request = urllib.request.Request(address)
if file == "-":
    request.add_header("Accept", "application/vnd.pypi.simple.v1+json")
    sys.stdout.buffer.write(urllib.request.urlopen(request, timeout=60).read())
else:
    have = os.path.getsize(file) if os.path.exists(file) else 0
    if have: request.add_header("Range", "bytes=%d-" % have)
    with urllib.request.urlopen(request, timeout=60) as answer, open(file, "ab" if answer.status == 206 else "wb") as out:
        while piece := answer.read(1 << 20): out.write(piece)
        if answer.length: sys.exit("the connection ended early")  # which read() does not say
)";

// A program that brings an address, and how it is called: to its output, or into a file that is gone on with.
std::vector<std::string> words_to_bring(const std::string& address, const std::string& file) {
  const auto program = first_on_path({"curl", "wget", "python3"});
  if (!program)
    throw Error(
        ErrorKind::environment,
        fmt::format("{} cannot be brought: neither curl nor wget nor python3 is on PATH; install one", address));
  const std::string name = fs::path(*program).filename();
  if (name == "python3") return {*program, "-c", python_program, address, file};
  const bool to_output = file == "-";
  std::vector<std::string> words;
  if (name == "curl")
    words = {*program, "--fail", "--silent", "--show-error", "--location", "--output", file};
  else
    words = {*program, "--no-verbose", "--output-document=" + file};
  if (!to_output && name == "curl") words.insert(words.end(), {"--continue-at", "-"});
  if (!to_output && name == "wget") words.emplace_back("--continue");
  if (to_output) words.push_back(name == "curl" ? "--header" : fmt::format("--header=Accept: {}", index_form));
  if (to_output && name == "curl") words.push_back(fmt::format("Accept: {}", index_form));
  words.push_back(address);
  return words;
}

std::string last_line(const std::string& text) {
  const auto lines = split(trim(text), '\n');
  return lines.empty() || lines.back().empty() ? "it says nothing" : lines.back();
}

int64_t size_of_file(const fs::path& file) {
  std::error_code none;
  const auto size = fs::file_size(file, none);
  return none ? 0 : static_cast<int64_t>(size);
}

std::string sha256_of(const fs::path& file) {
  const CommandEnd end = run_command({"sha256sum", "--binary", file.string()});
  if (end.status != 0 || end.out.size() < 64)
    throw Error(ErrorKind::environment, fmt::format("{}: sha256sum: {}", file.string(), last_line(end.err)));
  return end.out.substr(end.out.front() == '\\' ? 1 : 0, 64);
}

bool is_for_this_machine(const std::string& file) {
  utsname machine{};
  uname(&machine);
  return file.ends_with(fmt::format("_{}.whl", machine.machine));
}

// "nvidia_cudnn_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64.whl".
std::string version_in(const std::string& file) {
  const auto parts = split(file, '-');
  return parts.size() > 1 ? parts[1] : "";
}

const std::regex& wanted() {
  static const std::regex pattern(
      R"(nvidia/(cudnn/lib/lib[^/]*\.so[.\d]*|[^/]*/lib/lib(nvrtc|nvrtc-builtins|cublasLt)\.so[.\d]*)|[^/]*\.dist-info/(licenses/)?[^/]*licen[cs]e[^/]*)",
      std::regex::icase);
  return pattern;
}

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

void unpack_member(zip_t* archive, zip_uint64_t index, const fs::path& wheel, const fs::path& place) {
  const std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive, index, 0));
  if (!member) throw Error(ErrorKind::environment, fmt::format("{}: {}", wheel.string(), zip_strerror(archive)));
  fs::create_directories(place.parent_path());
  std::ofstream out(place, std::ios::binary);
  std::vector<char> piece(size_t{1} << 20);
  zip_int64_t count = 0;
  while ((count = zip_fread(member.get(), piece.data(), piece.size())) > 0) out.write(piece.data(), count);
  out.close();
  if (count < 0)
    throw Error(ErrorKind::environment, fmt::format("{}: {}", wheel.string(), zip_file_strerror(member.get())));
  if (!out) throw Error(ErrorKind::environment, fmt::format("{} cannot be written: is the disk full?", place.string()));
  fs::permissions(place, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                             fs::perms::others_exec);
}

}  // namespace

std::string index_address(const std::string& given) {
  const char* of_pip = std::getenv("PIP_INDEX_URL");
  std::string address = !given.empty()                         ? given
                        : of_pip != nullptr && *of_pip != '\0' ? of_pip
                                                               : "https://pypi.org/simple";
  while (address.ends_with('/')) address.pop_back();
  return address;
}

std::vector<Wheel> parse_index(std::string_view json, const std::string& package, const std::string& source) {
  std::vector<Wheel> wheels;
  const Json index = parse_json(json, {source, ": ", false, ErrorKind::environment});
  for (const auto& entry : JsonView(index, {source, ": ", true, ErrorKind::environment}).at("files").elements()) {
    Wheel wheel{package, "", entry.at("filename").text(), entry.at("url").text(), "", 0};
    const auto yanked = entry.find("yanked");
    const bool is_back = yanked && (yanked->json().is_string() || yanked->json() == true);
    wheel.version = version_in(wheel.file);
    if (is_back || !wheel.file.ends_with(".whl") || !is_for_this_machine(wheel.file)) continue;
    wheel.sha256 = entry.at("hashes").text_or("sha256", "");
    wheel.bytes = entry.optional_integer("size").value_or(0);
    if (!wheel.url.starts_with("http")) wheel.url = fmt::format("{}/{}", source, wheel.url);
    wheels.push_back(std::move(wheel));
  }
  return wheels;
}

std::vector<Wheel> wheels_of(const std::string& package, const std::string& address) {
  const std::string source = fmt::format("{}/{}/", address, package);
  const CommandEnd end = run_command(words_to_bring(source, "-"));
  if (end.status != 0)
    throw Error(
        ErrorKind::environment,
        fmt::format(
            "{} cannot be reached: {}; without a network, `attnprobe cudnn fetch` on another machine and a copy of its "
            "folder, or --index-url with a mirror, will do",
            source, last_line(end.err)));
  if (trim(end.out).starts_with('<'))
    throw Error(
        ErrorKind::environment,
        fmt::format("{} answers in HTML: the index does not speak JSON (PEP 691); --index-url names another", source));
  return parse_index(end.out, package, source);
}

int64_t begun_bytes(const Wheel& wheel, const fs::path& folder) {
  return std::max(size_of_file(folder / wheel.file), size_of_file(folder / (wheel.file + ".part")));
}

fs::path download(const Wheel& wheel, const fs::path& folder, const OnBytes& on_bytes) {
  const fs::path part = folder / (wheel.file + ".part");
  fs::path whole = folder / wheel.file;
  std::string said;
  if (on_bytes && fs::exists(whole)) on_bytes(size_of_file(whole));
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (!fs::exists(whole)) {
      const auto waiting = [&] {
        if (on_bytes) on_bytes(size_of_file(part));
      };
      const CommandEnd end = run_command(words_to_bring(wheel.url, part.string()), waiting);
      const bool has_all = wheel.bytes > 0 && size_of_file(part) == wheel.bytes;
      const bool lacks_some = wheel.bytes > 0 && size_of_file(part) < wheel.bytes;
      if (lacks_some || (end.status != 0 && !has_all)) {
        said = end.status == 0 ? "the connection ended early" : last_line(end.err);
        // A server that goes on with nothing (curl's 33), or a part that is longer than the whole.
        if (end.status == 33 || (wheel.bytes > 0 && size_of_file(part) > wheel.bytes)) fs::remove(part);
        continue;
      }
      fs::rename(part, whole);
    }
    if (wheel.sha256.empty() || sha256_of(whole) == wheel.sha256) return whole;
    said = "its SHA-256 is not that of the index";
    fs::remove(whole);
  }
  throw Error(ErrorKind::environment, fmt::format("{} cannot be downloaded: {}", wheel.url, said));
}

void unpack(const fs::path& wheel, const fs::path& folder) {
  int error = 0;
  const std::unique_ptr<zip_t, CloseArchive> archive(zip_open(wheel.c_str(), ZIP_RDONLY, &error));
  if (!archive)
    throw Error(ErrorKind::environment, fmt::format("{} is not a wheel that can be read ({})", wheel.string(), error));
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(archive.get(), i, 0);
    // The pattern has no "..", and no folder above `folder` can be meant by it.
    if (name != nullptr && std::regex_match(name, wanted()) &&
        std::string_view(name).find("..") == std::string_view::npos)
      unpack_member(archive.get(), i, wheel, folder / name);
  }
}

}  // namespace attnprobe::fetch
