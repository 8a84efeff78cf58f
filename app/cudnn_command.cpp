#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "campaign/chosen_libraries.hpp"
#include "campaign/matrix.hpp"
#include "campaign/python_environment.hpp"
#include "campaign/walk_cache.hpp"
#include "commands.hpp"
#include "cudnn/library_info.hpp"
#include "exit_code.hpp"
#include "fetch/releases.hpp"
#include "output.hpp"
#include "report/formats/report.hpp"

namespace attnprobe::app {
namespace {

struct CudnnOptions {
  std::vector<std::string> versions;
  std::string folder, index, first = "9.8";
  int cuda = 0;
  bool each_minor = false, dry_run = false, all = false;
};

std::filesystem::path folder_of(const CudnnOptions& options) {
  return options.folder.empty() ? fetch::usual_folder() : std::filesystem::absolute(options.folder);
}

std::optional<int> cuda_of(const CudnnOptions& options) {
  return options.cuda == 0 ? std::nullopt : std::optional(options.cuda);
}

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

// The files of a cuDNN, each once though links lead to it.
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

// Of a cuDNN that attnprobe did not bring: it is loaded to say what it is.
std::vector<std::string> row_of(const cudnn::Candidate& found) {
  const std::string where = fmt::format("{} ({})", found.path.string(), found.found_by);
  try {
    campaign::CampaignOptions options;
    const auto cache = campaign::usual_cache({});
    options.cache = cache.get();
    const cudnn::LibraryInfo library = campaign::identify(found.path, options);
    return {library.version.text(), fmt::format("{}", library.cuda_version / 1000),
            megabytes(bytes_beside(std::filesystem::weakly_canonical(found.path))), where};
  } catch (const Error& e) {
    return {"does not load", "", "", where + ": " + e.what()};
  }
}

int list_releases(const CudnnOptions& options) {
  const auto folder = folder_of(options);
  const auto here = fetch::releases_in(folder);
  std::vector<std::vector<std::string>> rows{{"cuDNN", "CUDA", "size", "where"}};
  const auto add_release = [&](const fetch::Release& release) {
    rows.push_back({release.version, fmt::format("{}", release.cuda), megabytes(release.bytes),
                    (folder / release.version).string()});
  };
  if (options.all) {
    for (const auto& wheel : fetch::releases_of_index(fetch::index_address(options.index), cuda_of(options))) {
      const auto found =
          std::find_if(here.begin(), here.end(), [&](const auto& release) { return release.version == wheel.version; });
      if (found != here.end())
        add_release(*found);
      else
        rows.push_back(
            {wheel.version, wheel.package.substr(wheel.package.size() - 2), megabytes(wheel.bytes), "to be fetched"});
    }
  } else {
    for (const auto& release : here) add_release(release);
    for (const auto& found : cudnn::find_libraries(""))
      if (!found.path.string().starts_with(folder.string() + "/")) rows.push_back(row_of(found));
  }
  print_text(report::aligned(rows, 0));
  if (rows.size() == 1) print_text("none is here; `attnprobe cudnn fetch latest` brings one\n");
  return all_met;
}

// In place on a terminal, a line every 100 MB elsewhere.
class Bar {
 public:
  explicit Bar(int64_t total) : total_(total) {}
  ~Bar() {
    if (on_terminal_) say_status("");
  }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  void show(const fetch::Wheel& wheel, int64_t bytes) {
    if (wheel.file != file_) {
      done_ += last_;
      file_ = wheel.file;
      said_ = -step;
    }
    last_ = bytes;
    const int64_t now = done_ + bytes;
    const auto text = [&] {
      return fmt::format("{} {}: {} of {}, {} of {} in all", wheel.package, wheel.version, megabytes(bytes),
                         megabytes(wheel.bytes), megabytes(now), megabytes(total_));
    };
    if (on_terminal_)
      say_status(text());
    else if (now - said_ >= step) {
      said_ = now;
      say(text() + "\n");
    }
  }

 private:
  static constexpr int64_t step = 100'000'000;
  int64_t total_, done_ = 0, last_ = 0, said_ = -step;
  std::string file_;
  const bool on_terminal_ = isatty(STDERR_FILENO) == 1;
};

int fetch_releases(const CudnnOptions& options) {
  if (options.versions.empty() && !options.each_minor)
    throw Error(
        ErrorKind::usage,
        "VERSION: there is none; give 9.14, 9.19.0.56, latest or --one-of-each-minor; `attnprobe cudnn list --all` "
        "shows what there is");
  fetch::FetchOptions wanted{
      options.versions, {}, cuda_of(options), fetch::index_address(options.index), folder_of(options)};
  if (options.each_minor) wanted.each_minor_from = options.first;
  const fetch::FetchPlan plan = fetch::plan_fetch(wanted);
  for (const auto& version : plan.here)
    print_text(fmt::format("{}: is here, {}\n", version, (wanted.folder / version).string()));
  if (plan.steps.empty()) return all_met;
  std::vector<std::vector<std::string>> rows{{"folder", "wheel", "download"}};
  for (const auto& step : plan.steps)
    for (const auto& wheel : step.wheels) rows.push_back({step.name, wheel.file, megabytes(wheel.bytes)});
  const std::string begun =
      plan.begun_bytes == 0 ? "" : fmt::format(" ({} of it are here already)", megabytes(plan.begun_bytes));
  const std::string sum =
      fmt::format("{} to download{}, {} of disk at most while it goes on, in {}\n", megabytes(plan.download_bytes),
                  begun, megabytes(plan.disk_bytes), wanted.folder.string());
  if (options.dry_run) {
    print_text(report::aligned(rows, 0) + sum);
    return all_met;
  }
  say(sum);
  // Who asks for another cuDNN beside a framework should know that this is none for the framework.
  if (const auto python = campaign::inspect_own_python({}); python && !python->loads.empty())
    say(fmt::format("{}, before and after: what is fetched is asked with --cudnn alone\n", printable(python->loads)));
  {
    Bar bar(plan.download_bytes);
    fetch::fetch(plan, wanted.folder, [&](const fetch::Wheel& wheel, int64_t bytes) { bar.show(wheel, bytes); });
  }
  for (const auto& step : plan.steps)
    if (!step.is_shared)
      print_text(fmt::format("{}: {}; attnprobe --cudnn {} asks it\n", step.name, (wanted.folder / step.name).string(),
                             step.name));
  return all_met;
}

int remove_releases(const CudnnOptions& options) {
  const auto folder = folder_of(options);
  for (const auto& version : options.versions)
    print_text(fmt::format("{}: removed, {} are free\n", version, megabytes(fetch::remove_release(version, folder))));
  return all_met;
}

void add_folder(CLI::App& command, CudnnOptions& options) {
  command.add_option("--folder", options.folder,
                     "where they lie; default: attnprobe/cudnn in $XDG_CACHE_HOME or ~/.cache");
}

void add_index(CLI::App& command, CudnnOptions& options) {
  command
      .add_option(
          "--cuda", options.cuda,
          "built for this CUDA: 12 for a real GPU whose driver is older than 580; default: 13 where there is one")
      ->check(CLI::IsMember({12, 13}));
  command.add_option("--index-url", options.index,
                     "package index; default: PIP_INDEX_URL, else https://pypi.org/simple");
}

}  // namespace

void add_cudnn(CLI::App& app, Run& run) {
  auto options = std::make_shared<CudnnOptions>();
  auto* command = app.add_subcommand(
      "cudnn", "cuDNN releases: which are here, bringing others side by side from NVIDIA's wheels, removing them");
  command->require_subcommand(1);
  auto* list_command = command->add_subcommand("list", "every cuDNN on this machine");
  list_command->add_flag("--all", options->all, "what the package index has, too");
  add_folder(*list_command, *options);
  add_index(*list_command, *options);
  list_command->callback([options, &run] { run = [options] { return list_releases(*options); }; });

  auto* fetch_command = command->add_subcommand(
      "fetch", "bring releases with the NVRTC and cuBLASLt that they load; no framework loads what lies there");
  fetch_command->add_option("VERSION", options->versions, "9.14 (its newest release), 9.19.0.56 or latest");
  fetch_command->add_flag("--one-of-each-minor", options->each_minor, "the newest release of each minor");
  fetch_command->add_option("--from", options->first, "its first; default: 9.8, the first that simulates GPUs");
  fetch_command->add_flag("--dry-run", options->dry_run, "say what would be downloaded, with sizes");
  add_folder(*fetch_command, *options);
  add_index(*fetch_command, *options);
  fetch_command->callback([options, &run] { run = [options] { return fetch_releases(*options); }; });

  auto* remove_command = command->add_subcommand("remove", "remove releases that were fetched");
  remove_command->add_option("VERSION", options->versions, "in full, as `attnprobe cudnn list` says it")->required();
  add_folder(*remove_command, *options);
  remove_command->callback([options, &run] { run = [options] { return remove_releases(*options); }; });
}

}  // namespace attnprobe::app
