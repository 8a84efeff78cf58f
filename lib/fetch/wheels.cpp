#include "fetch/wheels.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cudnn/library_file.hpp"

namespace attnprobe::fetch {
namespace {

namespace fs = std::filesystem;

constexpr int64_t most_members = 10'000;
constexpr size_t longest_name = 300;

constexpr std::array<std::string_view, 6> known_packages{"nvidia-cudnn-jit-cu12", "nvidia-cudnn-jit-cu13",
                                                         "nvidia-cudnn-cu12",     "nvidia-cudnn-cu13",
                                                         "nvidia-cuda-nvrtc",     "nvidia-cublas"};
constexpr std::array<std::string_view, 3> small_parts{"libcudnn.so.9", "libcudnn_graph.so.9",
                                                      "libcudnn_engines_runtime_compiled.so.9"};

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw Error(ErrorKind::environment, fmt::format("{}: {}", file.string(), why));
}

bool is_plain(const std::vector<std::string>& parts) {
  return std::none_of(parts.begin(), parts.end(),
                      [](const std::string& part) { return part.empty() || part == "." || part == ".."; });
}

// "nvidia_cudnn_jit_cu13-9.20.0.48.dist-info".
std::optional<Package> package_of(std::string_view folder) {
  constexpr std::string_view end = ".dist-info";
  if (!folder.ends_with(end)) return std::nullopt;
  folder.remove_suffix(end.size());
  const size_t dash = folder.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  Package package{std::string(folder.substr(0, dash)), std::string(folder.substr(dash + 1))};
  std::replace(package.name.begin(), package.name.end(), '_', '-');
  std::string without_cuda = package.name;
  if (!package.is_cudnn() && without_cuda.ends_with("-cu12")) without_cuda.resize(without_cuda.size() - 5);
  const bool is_known = std::find(known_packages.begin(), known_packages.end(), without_cuda) != known_packages.end();
  // The version becomes a folder name.
  return is_known && is_version(package.version) && is_plain(split(package.version, '.')) ? std::optional(package)
                                                                                          : std::nullopt;
}

bool is_licence(const std::vector<std::string>& parts) {
  if (parts.size() < 2 || parts.size() > 3 || !parts[0].ends_with(".dist-info")) return false;
  const std::string name = in_small_letters(parts.back());
  return name.find("license") != std::string::npos || name.find("licence") != std::string::npos;
}

bool is_wanted(std::string_view name, Keep keep) {
  if (name.size() > longest_name) return false;
  const auto parts = split(name, '/');
  if (!is_plain(parts)) return false;
  if (is_licence(parts)) return true;
  if (parts.size() != 4 || parts[0] != "nvidia" || parts[2] != "lib") return false;
  const std::string& file = parts[3];
  if (parts[1] == "cudnn" || parts[1] == "cudnn_jit")
    return keep == Keep::full ? file.starts_with("libcudnn") && file.ends_with(".so.9")
                              : std::find(small_parts.begin(), small_parts.end(), file) != small_parts.end();
  for (const char* library : {"libnvrtc.so.", "libnvrtc-builtins.so.", "libcublasLt.so."})
    if (file.starts_with(library)) return true;
  return false;
}

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

void make_executable(const fs::path& file) {
  fs::permissions(file, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                            fs::perms::others_exec);
}

class Wheel {
 public:
  explicit Wheel(fs::path file) : file_(std::move(file)) {
    int error = 0;
    archive_.reset(zip_open(file_.c_str(), ZIP_RDONLY, &error));
    if (!archive_) refuse(file_, fmt::format("it is not a readable wheel (libzip error {})", error));
    count_ = zip_get_num_entries(archive_.get(), 0);
    if (count_ > most_members) refuse(file_, fmt::format("it has {} files; allowed: {}", count_, most_members));
  }

  // Each name once, in order.
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (int64_t i = 0; i < count_; ++i)
      if (const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0)) names.insert(name);
    return names;
  }

  void unpack(const std::string& name, const fs::path& place) {
    const std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen(archive_.get(), name.c_str(), 0));
    if (!member) refuse(file_, fmt::format("{}: {}", name, zip_strerror(archive_.get())));
    fs::create_directories(place.parent_path());
    std::ofstream out(place, std::ios::binary);
    std::vector<char> piece(size_t{1} << 20);
    zip_int64_t count = 0;
    while (out && (count = zip_fread(member.get(), piece.data(), piece.size())) > 0) {
      bytes_ += static_cast<uint64_t>(count);
      check_limit(limits::wheel_bytes, bytes_, file_.string(), "unpacked bytes");
      out.write(piece.data(), count);
    }
    out.close();
    if (count < 0) refuse(file_, fmt::format("{}: {}", name, zip_file_strerror(member.get())));
    if (!out) refuse(place, "cannot be written: is the disk full?");
    make_executable(place);
  }

 private:
  fs::path file_;
  std::unique_ptr<zip_t, CloseArchive> archive_;
  int64_t count_ = 0;
  uint64_t bytes_ = 0;
};

// uv unpacks its downloads.
std::set<std::string> names_in(const fs::path& tree) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(tree))
    if (entry.is_regular_file() && !entry.is_symlink()) names.insert(fs::relative(entry.path(), tree).string());
  return names;
}

Package the_package(const std::set<std::string>& names, const fs::path& arrived) {
  for (const auto& name : names)
    if (name.size() <= longest_name)
      if (auto package = package_of(name.substr(0, name.find('/')))) return *package;
  refuse(arrived, "it is not one of NVIDIA's packages of cuDNN, NVRTC or cuBLAS");
}

fs::path wheel_in(const fs::path& arrived) {
  if (fs::is_regular_file(arrived)) return arrived;
  for (const auto& entry : fs::directory_iterator(arrived))
    if (entry.path().extension() == ".whl") return entry.path();
  return {};
}

}  // namespace

bool Package::is_cudnn() const {
  return name.starts_with("nvidia-cudnn-");
}

int Package::cuda() const {
  return name.ends_with("-cu12") ? 12 : 13;
}

Package take_libraries(const fs::path& arrived, const fs::path& folder, Keep keep) {
  const fs::path file = wheel_in(arrived);
  std::optional<Wheel> wheel;
  if (!file.empty()) wheel.emplace(file);
  const auto names = wheel ? wheel->names() : names_in(arrived);
  Package package = the_package(names, file.empty() ? arrived : file);
  for (const auto& name : names) {
    if (!is_wanted(name, keep)) continue;
    if (wheel) {
      wheel->unpack(name, folder / name);
      continue;
    }
    fs::create_directories((folder / name).parent_path());
    fs::rename(arrived / name, folder / name);
  }
  return package;
}

fs::path library_folder(const fs::path& folder) {
  std::error_code ignored;
  for (const char* package : {"nvidia/cudnn/lib", "nvidia/cudnn_jit/lib"})
    if (fs::exists(folder / package / "libcudnn.so.9", ignored)) return folder / package;
  return {};
}

void check_cudnn(const fs::path& folder, const std::string& version) {
  const fs::path libraries = library_folder(folder);
  if (libraries.empty()) throw Error(ErrorKind::environment, "the package has no libcudnn.so.9");
  std::set<fs::path> files(small_parts.begin(), small_parts.end());
  for (const auto& entry : fs::directory_iterator(libraries)) files.insert(entry.path().filename());
  for (const auto& file : files)
    if (const auto wrong = cudnn::why_not_a_library(libraries / file)) refuse(file, *wrong);
  const std::string own = cudnn::version_of_file(libraries / "libcudnn_graph.so.9");
  if (!is_of_version(version, own.empty() ? "none" : own))
    refuse("libcudnn_graph.so.9",
           fmt::format("it contains cuDNN {}, but the package says {}", own.empty() ? "?" : own, version));
}

}  // namespace attnprobe::fetch
