#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <set>

#include "ask/walk_cache.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "bring_cudnn.hpp"
#include "commands.hpp"
#include "cudnn/library_file.hpp"
#include "cudnn/library_info.hpp"
#include "exit_code.hpp"
#include "fetch/releases.hpp"
#include "machine/python_environment.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {
namespace {

struct CudnnOptions {
  std::vector<std::string> versions, wheels;
  std::string folder, first = "9.8";
  int cuda = 0;
  bool each_minor = false, full = false, nvrtc = false, dry_run = false, all = false;
};

std::filesystem::path folder_of(const CudnnOptions& options) {
  return options.folder.empty() ? fetch::usual_folder() : std::filesystem::absolute(options.folder);
}

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

// The size of a cuDNN's files, counting linked files once.
int64_t bytes_beside(const std::filesystem::path& library) {
  std::set<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(library.parent_path(), failed))
    if (entry.path().filename().string().starts_with("libcudnn"))
      files.insert(std::filesystem::weakly_canonical(entry.path(), failed));
  int64_t bytes = 0;
  for (const auto& file : files)
    if (const auto size = std::filesystem::file_size(file, failed); !failed) bytes += static_cast<int64_t>(size);
  return bytes;
}

std::string kind_of(fetch::Keep kept) {
  return kept == fetch::Keep::full ? "full" : "small";
}

std::string download_size(int64_t megabytes) {
  return megabytes == 0 ? "-" : fmt::format("{} MB", megabytes);
}

int list_known() {
  std::vector<std::vector<std::string>> rows{{"cuDNN", "CUDA", "small package", "full package"}};
  for (const auto& release : fetch::known_releases())
    rows.push_back({release.version, fmt::format("{}", fmt::join(release.cuda, ", ")), download_size(release.small_mb),
                    download_size(release.full_mb)});
  print_text(report::aligned(rows, 0));
  return all_met;
}

int list_releases(const CudnnOptions& options) {
  if (options.all) return list_known();
  const auto folder = folder_of(options);
  std::vector<std::vector<std::string>> rows{{"cuDNN", "CUDA", "kind", "size", "where"}};
  for (const auto& release : fetch::releases_in(folder))
    rows.push_back({release.version, fmt::format("{}", release.cuda), kind_of(release.kept), megabytes(release.bytes),
                    (folder / release.version).string()});
  for (const auto& found : cudnn::find_libraries("")) {
    if (found.path.string().starts_with(folder.string() + "/")) continue;
    const auto parts = cudnn::parts_folder(found.path);
    rows.push_back({cudnn::version_of_file(parts / "libcudnn_graph.so.9"), "",
                    kind_of(cudnn::is_jit_only(parts) ? fetch::Keep::small : fetch::Keep::full),
                    megabytes(bytes_beside(parts / "libcudnn.so.9")),
                    fmt::format("{} ({})", found.path.string(), found.found_by)});
  }
  print_text(report::aligned(rows, 0));
  if (rows.size() == 1) print_text("no cuDNN is installed; `attnprobe cudnn fetch latest` downloads one\n");
  return all_met;
}

std::string described(const fetch::FetchStep& step) {
  return fmt::format("{}{}", fmt::join(step.requirements, " or "),
                     step.megabytes == 0 ? "" : fmt::format(" ({} MB)", step.megabytes));
}

void tell(const fetch::Release& release, const std::filesystem::path& folder) {
  print_text(fmt::format("{}: {}, {}; use it with attnprobe --cudnn {}\n", release.version,
                         (folder / release.version).string(), megabytes(release.bytes), release.version));
}

int fetch_releases(const CudnnOptions& options) {
  const auto folder = folder_of(options);
  for (const auto& wheel : options.wheels)
    if (const auto release = fetch::add_wheel(wheel, folder, options.full ? fetch::Keep::full : fetch::Keep::small))
      tell(*release, folder);
  if (options.versions.empty() && !options.each_minor) {
    if (!options.wheels.empty()) return all_met;
    throw Error(
        ErrorKind::usage,
        "VERSION: missing; allowed: 9.14, 9.19.0.56, latest, --one-of-each-minor or --wheel FILE; `attnprobe cudnn "
        "list --all` shows the known releases");
  }
  fetch::FetchOptions wanted{
      .versions = options.versions, .full = options.full, .compiler = options.nvrtc, .folder = folder};
  if (options.each_minor) wanted.each_minor_from = options.first;
  if (options.cuda != 0) wanted.cuda = options.cuda;
  wanted.preferred_cuda = cuda_of_driver();
  const fetch::FetchPlan plan = fetch::plan_fetch(wanted);
  for (const auto& version : plan.here)
    print_text(fmt::format("{}: is here, {}\n", version, (folder / version).string()));
  if (options.dry_run) {
    for (const auto& step : plan.steps) print_text(fmt::format("to be downloaded: {}\n", described(step)));
    return all_met;
  }
  const auto came = fetch::fetch(plan, folder, [](const fetch::FetchStep& step, const fetch::Downloader& downloader) {
    say(fmt::format("fetching {} with {}\n", described(step), downloader.text()));
  });
  for (const auto& release : came) tell(release, folder);
  // In a framework's environment, tell the user that the framework does not use the downloaded cuDNN.
  if (const auto python = machine::inspect_own_python({}); python && !python->loads.empty() && !came.empty())
    say(fmt::format("unchanged: {}; fetched versions are used only with --cudnn\n", printable(python->loads)));
  return all_met;
}

int remove_releases(const CudnnOptions& options) {
  const auto folder = folder_of(options);
  for (const auto& version : options.versions)
    print_text(fmt::format("{}: removed, {} freed\n", version, megabytes(fetch::remove_release(version, folder))));
  return all_met;
}

void add_folder(CLI::App& command, CudnnOptions& options) {
  command.add_option("--folder", options.folder,
                     "folder of the releases; default: attnprobe/cudnn in $XDG_CACHE_HOME or ~/.cache");
}

}  // namespace

void add_cudnn(CLI::App& app, Run& run) {
  auto options = std::make_shared<CudnnOptions>();
  auto* command = app.add_subcommand("cudnn", "List, download and remove cuDNN releases, side by side");
  command->require_subcommand(0, 1);
  command->callback([command, options, &run] {
    if (command->get_subcommands().empty()) run = [options] { return list_releases(*options); };
  });
  auto* list_command = command->add_subcommand("list", "every cuDNN on this machine (the default)");
  list_command->add_flag("--all", options->all, "list the known releases with their download sizes instead");
  add_folder(*list_command, *options);
  list_command->callback([options, &run] { run = [options] { return list_releases(*options); }; });

  auto* fetch_command = command->add_subcommand(
      "fetch",
      "download releases with pip (or uv) and your pip configuration: the small package if one exists. No framework loads these files");
  fetch_command->add_option("VERSION", options->versions, "9.14 (its newest release), 9.19.0.56 or latest");
  fetch_command->add_flag("--one-of-each-minor", options->each_minor, "fetch the newest release of each minor version");
  fetch_command->add_option(
      "--from", options->first,
      "first minor version for --one-of-each-minor; default: 9.8, the first that can simulate GPUs");
  fetch_command->add_flag(
      "--full", options->full,
      "fetch the full package with all engines and cuBLASLt (docs/packages.md lists what the small package lacks)");
  fetch_command->add_flag("--nvrtc", options->nvrtc,
                          "also fetch NVRTC (90 MB); cuDNN up to 9.20 needs it to compile plans");
  fetch_command
      ->add_option(
          "--cuda", options->cuda,
          "CUDA version of the package: 12 or 13; default: 12 for a driver older than 580, otherwise 13 if it exists")
      ->check(CLI::IsMember({12, 13}));
  fetch_command->add_option("--wheel", options->wheels, "install this wheel file instead of downloading one");
  fetch_command->add_flag("--dry-run", options->dry_run, "list the downloads and their sizes, without downloading");
  add_folder(*fetch_command, *options);
  fetch_command->callback([options, &run] { run = [options] { return fetch_releases(*options); }; });

  auto* remove_command = command->add_subcommand("remove", "remove fetched releases");
  remove_command->add_option("VERSION", options->versions, "full version, as `attnprobe cudnn list` prints it")
      ->required();
  add_folder(*remove_command, *options);
  remove_command->callback([options, &run] { run = [options] { return remove_releases(*options); }; });
}

}  // namespace attnprobe::app
